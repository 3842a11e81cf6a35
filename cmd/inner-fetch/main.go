// Command inner-fetch is the part of inner that speaks http. inner carries it
// and runs it for a URL (profile/remote says why it is a program of its own);
// nobody needs to run it by hand.
//
//	inner-fetch URL
//
// It prints what is at the URL, or why it cannot be fetched, as JSON.
package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/enr/inner/profile/remote"
)

func main() {
	if len(os.Args) != 2 {
		os.Exit(2)
	}
	var a remote.Answer
	page, err := remote.Get(context.Background(), os.Args[1])
	if a.Page = page; err != nil {
		a.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		os.Exit(1)
	}
}
