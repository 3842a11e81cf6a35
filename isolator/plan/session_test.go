package plan

import (
	"strings"
	"testing"

	"github.com/enr/inner/profile"
)

func TestKeptTmp(t *testing.T) {
	for _, c := range []struct{ tmp, dest, want string }{
		{"", "/tmpx", ""},
		{"/s/tmp", "/tmp", ""},
		{"/s/tmp", "/tmpx", ""},
		{"/s/tmp", "/tmp/x", `puts "/tmp/x" below /tmp`},
	} {
		b := &builder{s: Staged{Tmp: c.tmp}}
		b.bind("the session's", "/s/tmp", "/tmp", true)
		b.op(Op{Kind: OpReadOnly, Source: "/usr", Dest: c.dest})
		err := b.unplaced
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	b := &builder{rc: profile.RunConfig{Limits: profile.Limits{Disk: "1M"}}, s: Staged{Tmp: "/s/tmp"}}
	if err := b.limits(); err == nil || !strings.Contains(err.Error(), "/tmp of a session") {
		t.Error("a limit that nothing holds is taken")
	}
}
