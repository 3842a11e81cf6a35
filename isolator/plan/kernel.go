package plan

// The kernel's own layers below the mounts: what the box's programs may ask of
// it at all.

import (
	"runtime"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/seccomp"
)

// kernel narrows what programs can ask of the kernel.
func (b *builder) kernel() error {
	if !b.allowed[nestedKey] && b.f.UID != 0 {
		// The kernel refuses them too, whatever the filter lets through. Root has
		// no user namespace of its own here, in which this could be said.
		switch {
		case !b.f.SysReadOnly:
			b.switches("no user namespaces inside", UnshareUser, DisableUserns)
		case b.rc.Seccomp == "off":
			return fault.Refuse(125, `seccomp = "default" under [sandbox] keeps them out`,
				"profile %q: user namespaces inside cannot be turned off: /proc/sys is read-only here, as in most containers, and there is no filter of system calls", b.rc.Name)
		default:
			// bwrap writes --disable-userns into /proc/sys/user, which a container's
			// runtime has mounted read-only; the filter refuses the same calls.
			b.switches("no user namespaces inside (by the filter of system calls: /proc/sys is read-only here)", UnshareUser)
		}
	}
	if b.rc.Seccomp == "off" {
		b.note("no filter of system calls (sandbox.allow)")
		return nil
	}
	filter, err := seccomp.Filter(seccomp.Options{
		Arch: runtime.GOARCH, Containers: b.allowed[nestedKey],
	})
	if err != nil {
		return fault.Refuse(125, `allow = ["no-seccomp"] under [sandbox] does without it`, "profile %q: %v", b.rc.Name, err)
	}
	b.op(Op{Kind: OpFilter, Data: b.data(filter), Reason: "a filter of system calls (" + b.rc.Seccomp + ")"})
	return nil
}

// data adds content that bwrap is handed, and returns its place in the list.
func (b *builder) data(content []byte) int {
	b.plan.Data = append(b.plan.Data, content)
	return len(b.plan.Data) - 1
}
