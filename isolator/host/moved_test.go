package host

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMoved: what was moved about in a project while that was looked through is found at the end, also in folders that
// were made meanwhile; what somebody makes or removes is nothing.
func TestMoved(t *testing.T) {
	for change, moved := range map[string]string{
		"true":                                   "",
		"echo S >new; echo S >.env":              "",
		"rm -r sub":                              "",
		"mkdir -p n/m; echo S >n/m/.env":         "",
		"mkdir ours":                             "",
		"mv other ours":                          "",
		"echo S >sub/t; mv sub/t sub/.env":       "",
		"mv sub sub2":                            "sub2",
		"mv sub sub2; mkdir sub":                 "sub2",
		"mv sub other":                           "other/sub",
		"mv sub x; mv other sub; mv x other":     "sub",
		"mv sub/.env .env":                       ".env",
		"mv sub/.env other/.env":                 "other/.env",
		"mkdir n; mv sub/.env n/":                "n/.env",
		"mkdir -p n/m; mv sub n/m/":              "n/m/sub",
		"mv sub/.env sub/x; ln sub/x other/.env": "other/.env",
		"mv sub/.env other/; chmod 0 other":      "other",
	} {
		for _, hide := range []bool{false, true} {
			dir := t.TempDir()
			shell := func(script string) {
				t.Helper()
				if out, err := exec.Command("/bin/sh", "-ec", "cd "+dir+"; "+script).CombinedOutput(); err != nil {
					t.Fatalf("%s: %s", script, out)
				}
			}
			shell("mkdir sub other; echo S >sub/.env; echo S >plain; sleep 0.05") // the clock of disks is coarse
			l := newLooker()
			if hide {
				if h := l.hide([]string{dir + "/**/.env"}); h.Why != "" {
					t.Fatal(h.Why)
				}
			} else {
				l.glob(dir, "**/.env")
			}
			time.Sleep(20 * time.Millisecond)
			shell(change)
			defer os.Chmod(dir+"/other", 0o755) // it goes with dir
			got := Facts{on: l}.Moved(func(p string) bool { return p == dir+"/ours" })
			ends := strings.HasPrefix(got, dir) && (got == dir+"/"+moved || moved == "sub" && got == dir+"/other")
			if moved == "" && got != "" || moved != "" && !ends {
				t.Errorf("%s: %q instead of %q", change, got, moved)
			}
		}
	}
}
