//go:build !carries

package remote

import (
	"context"

	"github.com/enr/inner/profile/remote/fetch"
)

func get(ctx context.Context, raw string) (Page, error) {
	if err := Check(raw); err != nil {
		return Page{}, err
	}
	data, hops, err := fetch.Fetcher{Check: Check}.Get(ctx, raw)
	return Page{Data: data, Hops: hops}, err
}
