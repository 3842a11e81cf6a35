package main

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/picture"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/seccomp"
)

// kernelFindings says which layers below the mounts this host has.
func kernelFindings() []finding {
	var list []finding
	status, _ := os.ReadFile("/proc/self/status")
	switch {
	case !seccomp.Known(runtime.GOARCH):
		list = append(list, broken("seccomp", `allow = ["no-seccomp"] under [sandbox] of every profile`, "there is no system call filter for %s", runtime.GOARCH))
	case !bytes.Contains(status, []byte("\nSeccomp_filters:")) && !bytes.Contains(status, []byte("\nSeccomp:")):
		list = append(list, broken("seccomp", `a kernel with CONFIG_SECCOMP_FILTER, or allow = ["no-seccomp"] under [sandbox]`, "the kernel filters no system calls"))
	default:
		list = append(list, ok("seccomp", "system calls can be filtered"))
	}
	list = append(list, landlockFinding(host.LandlockABI()))
	n := host.ProbeNested(os.Getuid(), os.Getgid())
	_, noPodman := exec.LookPath("podman")
	switch {
	case n.Why != "" && noPodman != nil:
		list = append(list, absent("containers", "", "boxes cannot make containers: %s", n.Why)) // nor did anybody ask
	case n.Why != "":
		list = append(list, warning("containers", n.Fix, "profiles with allow = [\"nested-user-ns\"] do not start: %s", n.Why))
	default:
		list = append(list, ok("containers", "%d ids from %d up can be given to boxes that make containers (allow = [\"nested-user-ns\"])", n.UIDs.Count, n.UIDs.Start))
	}
	return list
}

// landlockFinding says what the kernel's second layer gives.
func landlockFinding(abi int) finding {
	const name, fix = "landlock", picture.LandlockFix
	switch {
	case abi >= plan.LandlockScopes:
		return ok(name, "version %d: writing, signals and abstract sockets are confined a second time", abi)
	case abi >= plan.LandlockWrites:
		return warning(name, fix, "version %d: writing is confined a second time; with the network, abstract sockets of the host can be reached; profiles with landlock = \"required\" do not start", abi)
	default:
		return warning(name, fix, "this kernel has none: FIFOs in a visible home can be written, and with the network abstract sockets of the host can be reached; profiles with landlock = \"required\" do not start")
	}
}
