//go:build !manual

// Command inner-beside is the commands of inner that only look, export, or serve agents. It lies beside inner under
// seven names: inner-agent, inner-attack, inner-fetch, inner-fleet, inner-learn and inner-verify, each with its
// commands, and inner-proxy, which runs put in logins by. inner goes on as one of them when a person types such
// a command, so inner itself holds nothing of them, and no exploit.
//
//	inner-verify --build=VERSION --inner=PATH verify [ARG...]
//
// inner runs inner-fetch for what is at a URL (cli.FetchWord). inner-shim goes on as inner-fleet for a box that
// a container engine makes (shim.CallWord). An inner of another build is refused.
package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/logins/proxy"
	"github.com/enr/inner/isolator/verify"
	"github.com/enr/inner/isolator/verify/attack"
	"github.com/enr/inner/profile/remote"
	"github.com/enr/inner/profile/remote/fetch"
	"github.com/enr/inner/shims"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == attack.Word {
		os.Exit(attack.Do(os.Args[2:]))
	}
	if filepath.Base(os.Args[0]) == "inner-proxy" {
		os.Exit(proxy.Main(os.Args, version))
	}
	// This program is the supervisor of the boxes that it makes, and looks at them from inside.
	isolator.Main()
	if verify.IsInside(os.Args) {
		os.Exit(verify.Inside())
	}
	inner, words, askErr := cli.Asked(version, os.Args)
	if len(words) == 2 && words[0] == cli.FetchWord && askErr == nil {
		os.Exit(fetchPage(words[1]))
	}
	// A box dies with the thread that started it (prctl PR_SET_PDEATHSIG).
	runtime.LockOSThread()
	found, err := cli.Find(version)
	a := &app{found}
	if askErr != nil {
		err = askErr
	}
	if err != nil {
		a.Fail(err)
		os.Exit(cli.ForHook(words, fault.Code(err)))
	}
	a.Inner = inner
	if len(words) >= 3 && words[0] == shim.CallWord {
		os.Exit(shim.Call(shims.Call{InnerHome: words[1], Name: words[2]}, words[3:], version, false))
	}
	if len(words) == 3 && words[0] == attack.BoxWord {
		os.Exit(a.attacked(words[1], words[2]))
	}
	if cli.OfHook(words) {
		cli.OutliveReaders()
	}
	os.Exit(cli.ForHook(words, a.Execute(a.tree(filepath.Base(os.Args[0])), words)))
}

// fetchPage prints what is at a URL.
func fetchPage(url string) int {
	var answer remote.Answer
	data, hops, err := fetch.Fetcher{Check: remote.Check}.Get(context.Background(), url)
	if answer.Page = (remote.Page{Data: data, Hops: hops}); err != nil {
		answer.Error = err.Error()
	}
	if json.NewEncoder(os.Stdout).Encode(answer) != nil {
		return 1
	}
	return 0
}
