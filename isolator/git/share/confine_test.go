package share

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/server"
)

// A server whose memory a box has taken over does not reach what is beside the repository. The test starts itself as that.
func TestConfined(t *testing.T) {
	if dir := os.Getenv("INNER_TEST_CONFINED"); dir != "" {
		confined(dir)
		os.Exit(0)
	}
	dir := t.TempDir()
	for _, name := range []string{".ssh/id", "p/.git/HEAD", "inner/private/x", "inner/store/x", "inner/other/x"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte("one"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(os.Args[0], "-test.run=^TestConfined$")
	c.Env = append(os.Environ(), "INNER_TEST_CONFINED="+dir)
	out, err := c.CombinedOutput()
	if want := "git runs\n"; err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(dir, ".ssh/id")); string(text) != "one" || err != nil {
		t.Errorf("%q %v", text, err)
	}
}

// confined prints what a confined process should not have been able to do, or should.
func confined(dir string) {
	at := func(name string) string { return filepath.Join(dir, name) }
	git, err := exec.LookPath("git")
	if err == nil {
		err = confine([]server.Repository{{Repository: gate.Repository{
			Git: git, Dir: at("p/.git"), Top: at("p"), Store: at("inner/store"), Private: at("inner/private"),
		}}})
	}
	if err != nil {
		fmt.Println(err)
	}
	try := map[string]func(base string) error{
		"read":  func(base string) error { _, err := os.ReadFile(base); return err },
		"list":  func(base string) error { _, err := os.ReadDir(filepath.Dir(base)); return err },
		"write": func(base string) error { return os.WriteFile(base+"2", nil, 0o600) },
		"append": func(base string) error {
			f, err := os.OpenFile(base, os.O_APPEND|os.O_WRONLY, 0)
			f.Close()
			return err
		},
		"cut":    func(base string) error { return os.Truncate(base, 1) },
		"link":   func(base string) error { return os.Symlink("x", base+"3") },
		"folder": func(base string) error { return os.Mkdir(base+"4", 0o700) },
		"away":   func(base string) error { return os.Rename(base, at("p/taken")) },
		"remove": func(base string) error { return os.Remove(base) },
	}
	for _, what := range []string{"read", "list", "write", "append", "cut", "link", "folder", "away", "remove"} {
		for _, base := range []string{".ssh/id", "inner/other/x"} {
			if try[what](at(base)) == nil {
				fmt.Println(what, base)
			}
		}
		for _, base := range []string{"p/.git/HEAD", "inner/private/x", "inner/store/x"} {
			if what == "remove" || what == "away" {
				continue
			}
			if err := try[what](at(base)); err != nil {
				fmt.Println(what, base, err)
			}
		}
	}
	if out, err := exec.Command("/proc/self/exe", "-test.run=^$").CombinedOutput(); err == nil {
		fmt.Printf("a program outside of git's folders runs: %s\n", out)
	}
	if err := exec.Command(git, "version").Run(); err == nil {
		fmt.Println("git runs")
	}
}
