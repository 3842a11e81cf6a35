// Command kube is every part of Kubernetes that `make fleet` starts, in one
// program: its first word, or the name it is called by, says which part it is.
// Linked together the parts share their 130 MB and are built once.
//
// This is a module of its own, so that inner itself depends on none of it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	name := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && name == "kube" {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	os.Exit(run(name))
}

// run is the part of that name, with the arguments of this process.
func run(name string) int {
	parts := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllers.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
		"kubectl":                 kubectl.NewDefaultKubectlCommand,
	}
	part, ok := parts[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "kube: no part is called %q\n", name)
		return 2
	}
	if name == "kubectl" { // it prints its errors itself, without the logs of a server
		if err := cli.RunNoErrOutput(part()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	return cli.Run(part())
}
