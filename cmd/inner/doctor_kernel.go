package main

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/seccomp"
)

// kernelFindings says which layers below the mounts this host has.
func kernelFindings() []finding {
	var list []finding
	status, _ := os.ReadFile("/proc/self/status")
	switch {
	case !seccomp.Known(runtime.GOARCH):
		list = append(list, broken("seccomp", `seccomp = "off" under [sandbox] of every profile`, "there is no system call filter for %s", runtime.GOARCH))
	case !bytes.Contains(status, []byte("\nSeccomp_filters:")) && !bytes.Contains(status, []byte("\nSeccomp:")):
		list = append(list, broken("seccomp", `a kernel with CONFIG_SECCOMP_FILTER, or seccomp = "off" under [sandbox]`, "the kernel filters no system calls"))
	default:
		list = append(list, ok("seccomp", "system calls can be filtered"))
	}
	n := host.ProbeNested(os.Getuid(), os.Getgid())
	_, noPodman := exec.LookPath("podman")
	switch {
	case n.Why != "" && noPodman != nil:
		list = append(list, ok("containers", "boxes cannot make containers: %s", n.Why)) // nor did anybody ask
	case n.Why != "":
		list = append(list, warning("containers", n.Fix, "profiles with allow = [\"nested-user-ns\"] do not start: %s", n.Why))
	default:
		list = append(list, ok("containers", "%d ids from %d up can be given to boxes that make containers (allow = [\"nested-user-ns\"])", n.UIDs.Count, n.UIDs.Start))
	}
	return list
}
