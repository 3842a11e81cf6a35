//go:build !fetcher

package remote

import (
	"context"

	"github.com/enr/inner/profile/remote/fetch"
)

// Get reads what is at a URL that Check accepts, within thirty seconds.
func Get(ctx context.Context, raw string) (Page, error) {
	if err := Check(raw); err != nil {
		return Page{}, err
	}
	data, hops, err := fetch.Fetcher{Check: Check}.Get(ctx, raw)
	return Page{Data: data, Hops: hops}, err
}
