package plan

import (
	"strings"
	"testing"
)

// TestWords: what bwrap is told for each kind of operation, and which fields count.
func TestWords(t *testing.T) {
	all := Op{Source: "/a", Dest: "/b", Data: 2, Flags: append(DropCaps(), UnshareNet), Reason: "why"}
	for kind, want := range map[OpKind]string{
		OpNote:     "",
		OpSwitch:   "--cap-drop ALL --unshare-net",
		OpReadOnly: "--ro-bind /a /b",
		OpBind:     "--bind /a /b",
		OpDevice:   "--dev-bind /a /b",
		OpMask:     "--ro-bind /a /b",
		OpData:     "--ro-bind-data 12 /b",
		OpTmpfs:    "--tmpfs /b",
		OpDir:      "--dir /b",
		OpSymlink:  "--symlink /a /b",
		OpProc:     "--proc /b",
		OpDev:      "--dev /b",
		OpSeal:     "--remount-ro /b",
		OpFilter:   "--seccomp 12",
	} {
		o := all
		o.Kind = kind
		if got := strings.Join(o.Words(), " "); got != want {
			t.Errorf("%d: %q, want %q", kind, got, want)
		}
	}
	sized := Op{Kind: OpTmpfs, Dest: "/b", Perms: 0o755, Size: 4096}
	if got := strings.Join(sized.Words(), " "); got != "--size 4096 --perms 0755 --tmpfs /b" {
		t.Errorf("a folder in memory: %q", got)
	}
}

// TestWritable: a folder in memory that nobody may write is a cover.
func TestWritable(t *testing.T) {
	for _, c := range []struct {
		op   Op
		want bool
	}{
		{Op{Kind: OpTmpfs, Perms: 0o555}, false},
		{Op{Kind: OpTmpfs, Perms: 0o700}, true},
		{Op{Kind: OpReadOnly}, false},
		{Op{Kind: OpBind}, true},
		{Op{Kind: OpMask}, false},
		{Op{Kind: OpData}, false},
	} {
		if got := c.op.Writable(); got != c.want {
			t.Errorf("%+v: %v", c.op, got)
		}
	}
}
