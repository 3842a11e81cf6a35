package hooks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/contrib/terminal"
)

// The test binary doubles as a small inner: what the hook calls. It knows
// projects, but nothing of trust or sandboxes, and it records each call.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__hook" {
		if err := fakeHook(os.Getenv("INNER_HOME"), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "inner:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	terminal.DefaultSignals()
	if nu := os.Getenv("INNER_TEST_NU"); nu != "" {
		os.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Dir(nu))
	}
	os.Exit(m.Run())
}

func fakeHook(home string, args []string) error {
	started := time.Now()
	calls, err := os.OpenFile(filepath.Join(home, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer calls.Close()
	fmt.Fprintf(calls, "%q\n", args)
	req, err := ParseRequest(args)
	if err != nil {
		return err
	}
	if len(req.Shadows) > 0 {
		_, err = fmt.Print(RenderShadows(req.Shell, req.Shadows))
		return err
	}
	if _, err := os.Stat(filepath.Join(home, "fail")); err == nil {
		return errors.New("told to fail")
	}
	state := filepath.Join(home, "shims", "state")
	if _, err := os.Stat(state); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(state, []byte("first\n"), 0o600); err != nil {
			return err
		}
	}
	if err := os.Chtimes(state, time.Time{}, started.Add(-20*time.Millisecond)); err != nil {
		return err
	}
	u := Update{}
	if _, err := os.Stat(filepath.Join(home, "nomark")); err != nil {
		data, err := os.ReadFile(state)
		if err != nil {
			return err
		}
		u.Token, _, _ = strings.Cut(string(data), "\n")
		u.Mark = state + "." + NewKey(u.Token)
		os.Remove(u.Mark)
		if err := os.Link(state, u.Mark); err != nil {
			return err
		}
	}
	cwd := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(cwd)
	var paths []string
	if err == nil {
		dir := string(cwd[:n-1])
		paths = []string{filepath.Join(dir, ".inner")}
		if root, text := fakeProject(dir); root != "" {
			u.Key = NewKey(root, text)
			at := filepath.Join(root, ".inner")
			paths = []string{at, filepath.Join(at, "profiles"), filepath.Join(at, "config.toml")}
			more, _ := filepath.Glob(literal(at) + "/profiles/*.toml")
			paths = append(paths, more...)
			u.Names = []string{"claude", "run.sh"}
			if u.Key != req.Key {
				fmt.Fprintf(os.Stderr, "NOTICE %q\n", text)
			}
		}
	}
	u.Watch, u.Absent = Observe(paths, started)
	_, err = fmt.Print(Render(req.Shell, u))
	return err
}

// fakeProject finds the nearest project and what its first profile says.
func fakeProject(dir string) (root, text string) {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, ".inner", "profiles")); err == nil && info.IsDir() {
			files, _ := filepath.Glob(literal(dir) + "/.inner/profiles/*.toml")
			for _, f := range files {
				data, _ := os.ReadFile(f)
				text += string(data)
			}
			return dir, text
		}
		if dir == filepath.Dir(dir) {
			return "", ""
		}
	}
}
