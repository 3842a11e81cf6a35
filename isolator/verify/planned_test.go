package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// TestPlanned wants each mount of a plan in the check of its kind, as it must look, unless something lies over it.
func TestPlanned(t *testing.T) {
	id := host.ID{Dev: 1, Ino: 2}
	list := Checks(Subject{
		Config: profile.RunConfig{Workdir: "/w", Home: "host", GitDir: "checked"},
		Staged: plan.Staged{Repos: []plan.Repo{{Dir: "/w/.git"}}},
		Plan: plan.Plan{Ops: []plan.Op{
			{Kind: plan.OpReadOnly, Source: "/proc/none", Dest: "/sys/none", Reason: "under another"},
			{Kind: plan.OpTmpfs, Dest: "/sys", Perms: 0o755},
			{Kind: plan.OpBind, Source: "/copy", Dest: "/w", Probed: id},
			{Kind: plan.OpReadOnly, Source: "/w/.git", Dest: "/w/.git", Key: "sandbox.git_dir"},
			{Kind: plan.OpReadOnly, Source: "/w/.inner", Dest: "/w/.inner", Reason: "profiles cannot be changed from inside"},
			{Kind: plan.OpTmpfs, Dest: "/w/.vscode", Perms: 0o555, Key: configKey},
			{Kind: plan.OpMask, Source: "/empty", Dest: "/w/.env", Reason: "hidden: secret files"},
			{Kind: plan.OpSeal, Dest: "/"},
		}},
	})
	var got []string
	for _, ch := range list {
		for _, p := range ch.Places {
			if ch.Probe == "mounts" {
				got = append(got, fmt.Sprintf("%s %s %s %d", ch.ID, p.Path, p.Mode, p.ID.Ino))
			}
		}
	}
	const want = "mounts /sys tmpfs 0\nmounts / ro 0\nworkdir /w rw 2\ninner-protected /w/.inner ro 0\nagent-config /w/.vscode empty 0\nmasks /w/.env  0\ngit-own /w/.git own 0"
	if strings.Join(got, "\n") != want {
		t.Errorf("%s\nwant:\n%s", strings.Join(got, "\n"), want)
	}
}
