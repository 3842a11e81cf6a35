package plan

import (
	"fmt"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
)

// startFolder is where the program starts: where the profile says, or a folder of the box
// that the call names.
func (b *builder) startFolder() {
	b.plan.Dir = b.rc.Cwd
	if b.s.Start == "" {
		return
	}
	if b.plan.Dir = b.s.Start; b.s.OrElse {
		b.plan.DirElse = b.rc.Cwd
	}
	for i, kv := range b.plan.Env {
		if kv == "PWD="+b.rc.Cwd {
			b.plan.Env[i] = "PWD=" + b.plan.Dir
		}
	}
}

// keptTmp refuses a box that has something else below a /tmp that is kept: bwrap would make
// the place for it in a folder that programs of the box have written to, and follow links
// that they left there.
func (b *builder) keptTmp() error {
	if b.s.Tmp == "" {
		return nil
	}
	if b.disk > 0 {
		return &fault.Refusal{Code: 125, Kind: fault.KindLimits, Msg: fmt.Sprintf("profile %q: the /tmp of a session is on the disk, and cannot be held to sandbox.limits.disk", b.rc.Name), Hint: "start it without a session"}
	}
	for _, o := range b.plan.Ops {
		if o.Dest != "/tmp" && paths.Below("/tmp", o.Dest) {
			return fault.Refuse(125, "start it without a session", "profile %q puts %q below /tmp, which a session keeps", b.rc.Name, o.Dest)
		}
	}
	return nil
}
