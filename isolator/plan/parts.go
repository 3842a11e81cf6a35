package plan

import (
	"fmt"

	"github.com/enr/inner/profile"
)

// Slot is a place in the order of operations where features have theirs, after what the plan
// itself does there. There is none after write protection and hiding have begun, so that
// nothing that a feature adds shows again what they cover.
type Slot int

// The slots, by the numbers of the order in build.go.
const (
	NoSlot Slot = iota
	Base        // 2: what the box has of the system and of its devices
	Inside      // 6: what inner puts in
)

// Part is an operation that a feature adds to a plan: a note, or something that is mounted or
// made in the box. The box cannot write to the host by it: what it can write is a mount of
// the profile, or a copy among Staged.Binds.
type Part struct {
	Slot   Slot
	Op     Op           // with its reason and its key; Data is given to it here
	Data   []byte       // of an OpData or OpFile
	Env    []profile.KV // variables that lead to it; [env] set wins over them
	Absent bool         // it is left out where the box shows Op.Source at Op.Dest without it
}

// Places are the box paths of everything that is put into the box for a run.
func (s Staged) Places() (out []string) {
	for _, b := range s.Binds {
		out = append(out, b.Box)
	}
	for _, p := range s.Parts {
		if p.Op.Dest != "" {
			out = append(out, p.Op.Dest)
		}
	}
	return out
}

// parts adds the operations of one slot.
func (b *builder) parts(slot Slot) error {
	for _, p := range b.s.Parts {
		if p.Slot != slot {
			continue
		}
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
	o := p.Op
	if l, shown := b.at(o.Dest); p.Absent && l.bound() && shown == o.Source {
		return nil
	}
	switch o.Kind {
	case OpNote:
		b.op(o)
		return nil
	case OpData, OpFile:
		o.Data = b.data(p.Data)
	case OpReadOnly, OpDevice, OpTmpfs, OpSymlink:
	default:
		return fmt.Errorf("a feature cannot add %q to a plan", o.Reason)
	}
	if o.Kind != OpDevice { // whose place is in a /dev of the box's own
		o.Dest = b.stagedPlace(o.Dest)
	}
	switch o.Kind {
	case OpTmpfs:
		b.tmpfs(o.Reason, o.Perms, o.Dest)
	default:
		b.op(o)
	}
	return nil
}
