package watch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// patience is how long a report may take.
const patience = 2 * time.Minute

// until repeats ask until it says yes.
func until(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ask(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// watched runs Watch over a folder and its .inner, and collects what it says.
type watched struct {
	t    *testing.T
	root string
	dirs []string
	mu   sync.Mutex
	seen []string
	n    int // of looks that saw a change
}

func startWatch(t *testing.T, root string, dirs ...string) *watched {
	t.Helper()
	w := &watched{t: t, root: root, dirs: dirs}
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		Watch(ctx, func() []string { return w.dirs }, looks(func() []string { return w.dirs }, func() { close(ready) }, func(paths []string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.n++
			w.seen = append(w.seen, paths...)
		}))
	}()
	<-ready
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// looks is a caller of Watch: it compares the files at each look with those at the last one.
func looks(dirs func() []string, ready func(), onChange func(paths []string)) func() {
	var known map[string]string
	return func() {
		now := state(dirs())
		if known == nil {
			known = now
			ready()
			return
		}
		var changed []string
		for _, seen := range []map[string]string{known, now} {
			for path := range seen {
				if known[path] != now[path] {
					changed = append(changed, path)
				}
			}
		}
		if known = now; len(changed) > 0 {
			slices.Sort(changed)
			onChange(slices.Compact(changed))
		}
	}
}

// state returns what tells one state of the folders and of their profiles from another, by path.
func state(dirs []string) map[string]string {
	out := map[string]string{}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		out[dir] = fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && isProfileName(e.Name()) {
				st := info.Sys().(*syscall.Stat_t)
				out[filepath.Join(dir, e.Name())] = fmt.Sprint(st.Ino, st.Size, st.Mtim, st.Ctim)
			}
		}
	}
	return out
}

// isProfileName leaves out what editors put beside a file while it is edited:
// .#x.toml (emacs), .x.toml.swp and 4913 (vim), x.toml~, .x.toml.XXXX (renames).
func isProfileName(base string) bool {
	return strings.HasSuffix(base, ".toml") && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "#")
}

// step does something and waits until path is reported; it returns everything
// reported meanwhile.
func (w *watched) step(what, path string, do func() error) []string {
	w.t.Helper()
	w.mu.Lock()
	w.seen = nil
	w.mu.Unlock()
	if err := do(); err != nil {
		w.t.Fatal(err)
	}
	var seen []string
	until(w.t, what+": a report of "+path, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		seen = slices.Clone(w.seen)
		return slices.Contains(w.seen, filepath.Join(w.root, path))
	})
	return seen
}

func (w *watched) put(path, text string) func() error {
	return func() error {
		full := filepath.Join(w.root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		return os.WriteFile(full, []byte(text), 0o644)
	}
}

func TestWatch(t *testing.T) {
	for _, name := range []string{"plain", "a b", "it's [x]*", "bad\xffbyte"} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), name)
			inner := filepath.Join(root, ".inner")
			profiles := filepath.Join(inner, "profiles")
			if err := os.Mkdir(root, 0o755); err != nil {
				t.Fatal(err)
			}
			w := startWatch(t, root, profiles, inner)
			at := func(path string) string { return filepath.Join(root, path) }
			const claude = ".inner/profiles/claude.toml"

			w.step("made at once, folders and all", claude, w.put(claude, "1"))
			w.step("written again", claude, w.put(claude, "2"))
			w.step("config", ".inner/config.toml", w.put(".inner/config.toml", "1"))
			w.step("saved by rename, as editors do", claude, func() error {
				if err := w.put(".inner/profiles/.claude.toml.swp", "x")(); err != nil {
					return err
				}
				if err := w.put(".inner/profiles/tmp123", "3")(); err != nil {
					return err
				}
				return os.Rename(at(".inner/profiles/tmp123"), at(claude))
			})
			w.step("written after a rename", claude, w.put(claude, "4"))
			w.step("saved with a backup, as vim does", claude, func() error {
				if err := os.Rename(at(claude), at(claude)+"~"); err != nil {
					return err
				}
				return w.put(claude, "5")()
			})
			w.step("removed", claude, func() error { return os.Remove(at(claude)) })
			w.step("added", ".inner/profiles/b.toml", w.put(".inner/profiles/b.toml", "1"))
			w.step("folder replaced", ".inner/profiles/new.toml", func() error {
				if err := w.put(".inner/fresh/new.toml", "1")(); err != nil {
					return err
				}
				if err := os.Rename(profiles, at(".inner/old")); err != nil {
					return err
				}
				return os.Rename(at(".inner/fresh"), profiles)
			})
			w.step("written in the replaced folder", ".inner/profiles/new.toml", w.put(".inner/profiles/new.toml", "2"))
			w.step("folder gone", ".inner/profiles", func() error { return os.RemoveAll(profiles) })
			w.step("and back", claude, w.put(claude, "6"))
			w.step("written in it", claude, w.put(claude, "7"))
			w.step("all moved away", ".inner", func() error { return os.Rename(inner, at("away")) })
			w.step("and back", ".inner", func() error { return os.Rename(at("away"), inner) })
			w.step("written in that", claude, w.put(claude, "8"))
			for i := range 5 {
				file := fmt.Sprintf(".inner/profiles/n%d.toml", i)
				w.step("removed and made again at once", file, func() error {
					if err := os.RemoveAll(inner); err != nil {
						return err
					}
					return w.put(file, "1")()
				})
				w.step("written in that", file, w.put(file, "2"))
			}

			// What editors leave about is never reported.
			seen := w.step("noise", ".inner/profiles/last.toml", func() error {
				for _, noise := range []string{".claude.toml.swp", "claude.toml~", "#claude.toml#", ".#claude.toml", "4913", "claude.toml.bak", "README.md", ".hidden.toml", "x.tom"} {
					if err := w.put(".inner/profiles/"+noise, "x")(); err != nil {
						return err
					}
				}
				if err := w.put("src/main.toml", "x")(); err != nil {
					return err
				}
				if err := w.put(".inner/profiles/sub/x.toml", "x")(); err != nil {
					return err
				}
				return w.put(".inner/profiles/last.toml", "1")()
			})
			if want := []string{at(".inner/profiles/last.toml")}; !slices.Equal(slices.Compact(seen), want) {
				t.Errorf("reported %q, want %q", seen, want)
			}
		})
	}
}

// One save is one report, and a program that never stops writing does not keep
// it back.
func TestWatchDebounces(t *testing.T) {
	root := t.TempDir()
	w := startWatch(t, root, root)
	w.step("a burst", "a.toml", func() error {
		for i := range 50 {
			if err := w.put("a.toml", strings.Repeat("x", i))(); err != nil {
				return err
			}
		}
		return nil
	})
	w.mu.Lock()
	if w.n > 3 {
		t.Errorf("%d reports of one burst", w.n)
	}
	w.mu.Unlock()

	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	busy.Go(func() {
		for ctx.Err() == nil {
			if w.put("b.toml", time.Now().String())() != nil {
				return
			}
		}
	})
	w.step("while it is being written", "b.toml", func() error { return nil })
	stop()
	busy.Wait()
}

// Two names of one folder are one watch for the system; the first change under
// either is still reported.
func TestWatchTwoNames(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	w := startWatch(t, root, filepath.Join(root, "real"), link)
	for i := range 5 {
		if err := w.put("link/a.toml", fmt.Sprint(i))(); err != nil {
			t.Fatal(err)
		}
		until(t, "a report under one of the names", func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.n > i
		})
	}
}

// dirs is asked again after a change.
func TestWatchFollowsNewFolders(t *testing.T) {
	root := t.TempDir()
	var mu sync.Mutex
	dirs := []string{filepath.Join(root, "one")}
	reports := make(chan []string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		now := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(dirs)
		}
		Watch(ctx, now, looks(now, func() { close(ready) }, func(p []string) { reports <- p }))
	}()
	<-ready
	mu.Lock()
	dirs = append(dirs, filepath.Join(root, "two"))
	mu.Unlock()
	await := func(path string) {
		t.Helper()
		deadline := time.After(patience)
		for {
			select {
			case got := <-reports:
				if slices.Contains(got, filepath.Join(root, path)) {
					return
				}
			case <-deadline:
				t.Fatalf("no report of %s", path)
			}
		}
	}
	for _, path := range []string{"one/a.toml", "two/b.toml"} {
		os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755)
		os.WriteFile(filepath.Join(root, path), nil, 0o644)
		await(path)
	}
	cancel()
	<-done
}

// Where the system allows no watchers at all, changes are seen as well.
func TestWatchLimit(t *testing.T) {
	if os.Getenv("INNER_TEST_LIMIT") != "" {
		if _, err := fsnotify.NewWatcher(); err == nil {
			t.Fatal("there is a watcher")
		}
		root := t.TempDir()
		w := startWatch(t, root, root)
		w.step("written", "a.toml", w.put("a.toml", "1"))
		fmt.Println("SEEN")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-Ur", "sh", "-c", "echo 0 >/proc/sys/user/max_inotify_instances && exec \"$0\" -test.run=TestWatchLimit -test.v", self)
	cmd.Env = append(os.Environ(), "INNER_TEST_LIMIT=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		if os.Getenv("INNER_TEST_MUST") != "" {
			t.Fatalf("no user namespace with a limit of its own: %v\n%s", err, out)
		}
		t.Skipf("no user namespace with a limit of its own: %v", err)
	}
	if !strings.Contains(string(out), "SEEN") {
		t.Errorf("got %s", out)
	}
}
