package plan

import (
	"fmt"
	"slices"
	"strconv"
)

// The words of bwrap(1) that make a box are written in this file and nowhere else. The
// launcher adds those of its own process: the first process of the box, its descriptors.

// FirstDataFD is the descriptor under which bwrap finds Plan.Data[0]; the
// lower ones are the launcher's own.
const FirstDataFD = 10

// Flag is one word of bwrap about the box as a whole.
type Flag string

// The flags that plans have.
const (
	UnsharePID    Flag = "--unshare-pid"
	UnshareIPC    Flag = "--unshare-ipc"
	UnshareUTS    Flag = "--unshare-uts"
	UnshareCgroup Flag = "--unshare-cgroup"
	UnshareNet    Flag = "--unshare-net"
	UnshareUser   Flag = "--unshare-user"
	DisableUserns Flag = "--disable-userns"
	DieWithParent Flag = "--die-with-parent"
)

// DropCaps takes all capabilities away. bwrap takes these words in order: AddCaps
// comes after it.
func DropCaps() []Flag { return []Flag{"--cap-drop", "ALL"} }

// AddCaps gives capabilities of the box's own user namespace.
func AddCaps(names ...Flag) []Flag {
	var out []Flag
	for _, n := range names {
		out = append(out, "--cap-add", n)
	}
	return out
}

// User sets the ids that the program has in the box.
func User(uid, gid int) []Flag {
	return []Flag{"--uid", Flag(strconv.Itoa(uid)), "--gid", Flag(strconv.Itoa(gid))}
}

// Words returns the bwrap arguments of a plan, flat.
func (p Plan) Words() []string {
	var out []string
	for _, o := range p.Ops {
		if !o.Outside {
			out = append(out, o.Words()...)
		}
	}
	return out
}

// Outside returns the operations that the launcher makes, in its order: what hides, what is read-only, the folders on the
// way. Each of these is bound with all that is mounted in it, and so takes the masks along. So a hidden file is covered in
// each mount by which it can be reached, also when the host moves it out of such a folder while the box runs.
func (p Plan) Outside() (ops []Op) {
	for _, way := range []int{0, 1, 2} {
		for _, o := range p.Ops {
			if o.Outside && slices.Index([]OpKind{OpReadOnly, OpBind}, o.Kind)+1 == way {
				ops = append(ops, o)
			}
		}
	}
	return ops
}

// Given returns the data that bwrap gets.
func (p Plan) Given() [][]byte {
	kept := len(slices.DeleteFunc(p.Outside(), func(o Op) bool { return o.Kind != OpData }))
	return p.Data[:len(p.Data)-kept]
}

// Words returns the bwrap option that the operation is, with its operands; none for a
// note. --size is known since bubblewrap 0.7.0.
func (o Op) Words() []string {
	var words []string
	if o.Size > 0 {
		words = append(words, "--size", strconv.FormatUint(o.Size, 10))
	}
	if o.Perms > 0 {
		words = append(words, "--perms", fmt.Sprintf("%04o", o.Perms))
	}
	if o.Kind == OpSwitch {
		for _, f := range o.Flags {
			words = append(words, string(f))
		}
	}
	fd := strconv.Itoa(FirstDataFD + o.Data)
	forms := [...][3]string{ // by kind
		OpReadOnly: {"--ro-bind", o.Source, o.Dest},
		OpMask:     {"--ro-bind", o.Source, o.Dest},
		OpBind:     {"--bind", o.Source, o.Dest},
		OpDevice:   {"--dev-bind", o.Source, o.Dest},
		OpData:     {"--ro-bind-data", fd, o.Dest},
		OpFile:     {"--file", fd, o.Dest},
		OpTmpfs:    {"--tmpfs", o.Dest},
		OpDir:      {"--dir", o.Dest},
		OpSymlink:  {"--symlink", o.Source, o.Dest},
		OpProc:     {"--proc", o.Dest},
		OpDev:      {"--dev", o.Dest},
		OpSeal:     {"--remount-ro", o.Dest},
		OpFilter:   {"--seccomp", fd},
	}
	for _, word := range forms[o.Kind] {
		if word != "" {
			words = append(words, word)
		}
	}
	return words
}
