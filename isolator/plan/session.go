package plan

import (
	"fmt"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
)

// StartIn says where the program starts: where the profile says, or a folder of the box
// that the call names.
func (p *Plan) StartIn(rc profile.RunConfig, s Staged) {
	p.Dir = rc.Cwd
	if s.Start == "" {
		return
	}
	if p.Dir = s.Start; s.OrElse {
		p.DirElse = rc.Cwd
	}
	for i, kv := range p.Env {
		if kv == "PWD="+rc.Cwd {
			p.Env[i] = "PWD=" + p.Dir
		}
	}
}

// keptTmp refuses a limit that a /tmp that is kept would not be held to.
func (b *builder) keptTmp() error {
	if b.s.Tmp == "" {
		return nil
	}
	if b.disk > 0 {
		return &fault.Refusal{Code: 125, Kind: fault.KindLimits, Msg: fmt.Sprintf("profile %q: the /tmp of a session is on the disk, and cannot be held to sandbox.limits.disk", b.rc.Name), Hint: "start it without a session"}
	}
	return nil
}
