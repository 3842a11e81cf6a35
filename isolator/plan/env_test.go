package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// What of one environment each [env] lets through, besides what always passes
// and what inner sets.
func TestEnvironment(t *testing.T) {
	f := host.Facts{Home: "/home/u", Env: map[string]string{
		"HOME": "/elsewhere", "USER": "u", "TERM": "xterm", "PATH": "/home/u/bin:/usr/bin::rel", "LANG": "C.UTF-8", "LC_ALL": "C", "LC_TIME": "C",
		"EDITOR": "vi", "GH_TOKEN": "t", "APP_MODE": "x", "APP_SECRET": "s", "APP_URL": "https://me:pw@example.com/", "TMUX": "/tmp/t",
		"GIT_DIR": "/x", "LD_PRELOAD": "/x.so", "EMPTY": "", "SESSION_MANAGER": "local/x",
	}}
	for _, c := range []struct {
		name string
		env  profile.Env
		want string
	}{
		{"nothing", profile.Env{}, "PATH=" + DefaultPath},
		{"names", profile.Env{Inherit: []string{"LANG", "EMPTY", "NOT_SET"}}, "EMPTY= LANG=C.UTF-8 PATH=" + DefaultPath},
		{"a pattern", profile.Env{Inherit: []string{"LC_*"}}, "LC_ALL=C LC_TIME=C PATH=" + DefaultPath},
		{"a pattern passes no secret", profile.Env{Inherit: []string{"APP_*", "*TOKEN", "T*UX"}}, "APP_MODE=x PATH=" + DefaultPath},
		{"a secret by its name", profile.Env{Inherit: []string{"GH_TOKEN", "APP_URL", "TMUX"}}, "APP_URL=https://me:pw@example.com/ GH_TOKEN=t PATH=" + DefaultPath + " TMUX=/tmp/t"},
		{"all", profile.Env{InheritAll: true}, "APP_MODE=x EMPTY= LANG=C.UTF-8 LC_ALL=C LC_TIME=C PATH=/home/u/bin:/usr/bin"},
		{"all, and a secret by its name", profile.Env{InheritAll: true, Inherit: []string{"APP_SECRET"}}, "APP_MODE=x APP_SECRET=s EMPTY= LANG=C.UTF-8 LC_ALL=C LC_TIME=C PATH=/home/u/bin:/usr/bin"},
		{"set wins", profile.Env{InheritAll: true, Inherit: []string{"LANG"}, Set: []profile.KV{{Key: "LANG", Value: "de"}, {Key: "NEW", Value: "1"}}}, "APP_MODE=x EMPTY= LANG=de LC_ALL=C LC_TIME=C NEW=1 PATH=/home/u/bin:/usr/bin"},
		{"path_prepend", profile.Env{Inherit: []string{"PATH"}, PathPrepend: []string{"/opt/b", "/usr/bin"}}, "PATH=/opt/b:/usr/bin:/home/u/bin"},
		{"path_prepend before a set PATH", profile.Env{PathPrepend: []string{"/opt/b"}, Set: []profile.KV{{Key: "PATH", Value: "/s:.:"}}}, "PATH=/opt/b:/s"},
	} {
		rc := profile.RunConfig{Name: "p", Cwd: "/w", Env: c.env}
		got := Environment(rc, f, Staged{RunID: "r"})
		always := []string{"HOME=/home/u", "USER=u", "TERM=xterm", "PWD=/w", "INNER_SANDBOX=p", "INNER_RUN_ID=r"}
		rest := slices.DeleteFunc(slices.Clone(got), func(kv string) bool { return slices.Contains(always, kv) })
		if diff := cmp.Diff(c.want, strings.Join(rest, " ")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if len(got) != len(rest)+len(always) || !slices.IsSorted(got) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
