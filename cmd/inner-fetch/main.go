// Command inner-fetch is the part of inner that speaks http. inner carries it
// and runs it for a URL (profile/remote says why it is a program of its own);
// nobody needs to run it by hand.
//
//	inner-fetch URL [pages]
//
// It prints what is at the URL, or why it cannot be fetched, as JSON; with "pages", a
// web page is an answer, too.
package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/enr/inner/profile/remote"
)

func main() {
	get := remote.Get
	switch {
	case len(os.Args) == 3 && os.Args[2] == remote.PagesWord:
		get = remote.GetPage
	case len(os.Args) != 2:
		os.Exit(2)
	}
	var a remote.Answer
	page, err := get(context.Background(), os.Args[1])
	if a.Page = page; err != nil {
		a.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		os.Exit(1)
	}
}
