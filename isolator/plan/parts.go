package plan

import (
	"fmt"

	"github.com/enr/inner/profile"
)

// Part is an operation that a feature adds to a plan: a note, or something that is mounted or
// made in the box. It comes before write protection and hiding, so that nothing that a feature adds shows again
// what they cover. The box cannot write to the host by it: what it can write is a mount of
// the profile, or a copy among Staged.Binds.
type Part struct {
	Op     Op           // with its reason and its key; Data is given to it here
	Data   []byte       // of an OpData or OpFile
	Env    []profile.KV // variables that lead to it; [env] set wins over them
	Absent bool         // it is left out where the box shows Op.Source at Op.Dest without it
	System bool         // it is a file of the system: over that of the host, or in a minimal /etc, or left out
}

// parts adds these operations.
func (b *builder) parts() error {
	for _, p := range b.s.Parts {
		b.key = p.Op.Key
		if err := b.part(p); err != nil {
			return err
		}
		for _, kv := range p.Env {
			b.setenv(kv.Key, kv.Value)
		}
	}
	return nil
}

func (b *builder) part(p Part) error {
	o, fresh := p.Op, false
	switch l, shown := b.at(o.Dest); {
	case p.Absent && l.bound() && shown == o.Source, p.System && l.Dest == o.Dest: // a mount says what that is
		return nil
	case !p.System || shown == o.Dest:
	case (l.Dest == "/etc" || l.Dest == "/run") && !l.bound(): // a file is never made in a folder of the host
		o.Kind, o.Key, fresh = OpFile, "sandbox.etc", true
	default:
		return nil
	}
	switch o.Kind {
	case OpData, OpFile:
		o.Data = b.data(p.Data)
	case OpNote, OpReadOnly, OpDevice, OpSymlink:
	case OpTmpfs:
		o.Size = b.disk
	default:
		return fmt.Errorf("a feature cannot add %q to a plan", o.Reason)
	}
	if o.Kind != OpDevice && o.Dest != "" && !fresh { // whose place is in a /dev of the box's own, as are an /etc and a /run without the host's links
		o.Dest = b.stagedPlace(o.Dest)
	}
	b.key = o.Key
	b.op(o)
	return nil
}
