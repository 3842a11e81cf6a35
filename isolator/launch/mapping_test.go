package launch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/userns"
)

// withMap has j run with a range of ids, as isolator.Build asks for it.
func withMap(t *testing.T, j job) job {
	t.Helper()
	n := host.ProbeNested(os.Getuid(), os.Getgid())
	if n.Why != "" {
		if os.Getenv("INNER_TEST_MUST") != "" {
			t.Fatalf("%s: %s", n.Why, n.Fix)
		}
		t.Skipf("%s: %s", n.Why, n.Fix)
	}
	j.Args = append(j.Args, "--uid", fmt.Sprint(os.Getuid()), "--gid", fmt.Sprint(os.Getgid()), "--cap-add", "cap_setuid", "--cap-add", "cap_setgid")
	j.Map = &userns.Map{NewUIDMap: n.NewUIDMap, NewGIDMap: n.NewGIDMap, UIDs: n.UIDs.Extents(os.Getuid()), GIDs: n.GIDs.Extents(os.Getgid())}
	return j
}

// The program finds the map in place, whether it has a terminal or not, and
// none of the descriptors of its making.
func TestMap(t *testing.T) {
	script := "cat /proc/self/uid_map /proc/self/gid_map | tr -s ' ' | sed 's/^ //'; id -u; ls /proc/self/fd | tr '\\n' ' '"
	j := withMap(t, sh(script))
	j.Data = [][]byte{[]byte("held open for the whole run")} // bwrap is not told what it is for
	want := ""
	for _, list := range [][]userns.Extent{j.Map.UIDs, j.Map.GIDs} {
		for _, e := range list {
			want += fmt.Sprintf("%d %d %d\n", e.Box, e.Host, e.Count)
		}
	}
	want += fmt.Sprintf("%d\n0 1 2 3 ", os.Getuid()) // 3 is the folder itself
	if r, out, errs := j.run(t); r.Code != 0 || out != want {
		t.Errorf("%+v, stdout %q, want %q, stderr %q", r, out, want, errs)
	}
	j.Interactive = true
	x := newTerminal(t)
	cmd := x.start(j.command(t))
	x.expect(strings.ReplaceAll(want, "\n", "\r\n"))
	if c := code(t, cmd); c != 0 {
		t.Errorf("exit code %d", c)
	}
}

// Without its map no program runs.
func TestMapRefused(t *testing.T) {
	deaf := writeFile(t, "newuidmap", "#!/bin/sh\necho 'newuidmap: uid range [0-1) -> [1-2) not allowed' >&2\nexit 1\n", 0o755)
	for name, change := range map[string]func(*userns.Map){
		"uids": func(m *userns.Map) { m.NewUIDMap = deaf },
		"gids": func(m *userns.Map) { m.NewGIDMap = deaf },
	} {
		t.Run(name, func(t *testing.T) {
			ran := t.TempDir() + "/ran"
			j := withMap(t, sh("echo x > "+ran))
			change(j.Map)
			j.Mark = marked()
			r, _, errs := j.run(t)
			if r.Code != CodeNoSandbox || r.Started || !strings.HasSuffix(r.Reason, "not allowed") || errs != "" {
				t.Errorf("%+v, stderr %q", r, errs)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("the program ran")
			}
			gone(t, j.Mark, 2*time.Second)
		})
	}
	// A bwrap that ends first says why itself.
	j := withMap(t, sh("exit 0"))
	j.Args = append(j.Args, "--no-such-option")
	if r, _, _ := j.run(t); r.Code != CodeNoSandbox || !strings.Contains(r.Reason, "--no-such-option") {
		t.Errorf("%+v", r)
	}
}

// Killing the launcher while the map is made leaves nothing behind.
func TestMapKilledLauncher(t *testing.T) {
	for i := range 60 {
		j := withMap(t, sh("trap '' HUP TERM; setsid sleep 1000 & sleep 1000"))
		j.Mark = marked()
		cmd := j.command(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		delay := time.Duration(rand.Int64N(int64(25 * time.Millisecond)))
		for end := time.Now().Add(delay); time.Now().Before(end); {
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		gone(t, j.Mark, time.Second)
		if t.Failed() {
			t.Fatalf("try %d, killed after %v", i, delay)
		}
	}
}
