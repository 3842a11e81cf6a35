package shims

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// site makes a place for shims, with the given agents installed, and returns it and
// the folder they are in.
func site(t testing.TB, agents ...string) (s Site, real string) {
	t.Helper()
	home := tempDir(t)
	real = filepath.Join(home, "real bin")
	must(t, os.MkdirAll(real, 0o755))
	for _, name := range agents {
		script(t, filepath.Join(real, name))
	}
	binary := filepath.Join(home, "installed-inner")
	write(t, binary, "#!/bin/sh\necho one\n", 0o755)
	return Site{InnerHome: filepath.Join(home, ".inner"), Home: home, Path: real, Binary: binary}, real
}

func regenerate(t testing.TB, s Site) Report {
	t.Helper()
	r, err := Regenerate(s)
	must(t, err)
	return r
}

// words is a report in one line.
func words(r Report) string {
	return fmt.Sprintf("+%v -%v =%v foreign %v binary %v", r.Added, r.Removed, r.Kept, r.Foreign, r.BinaryUpdated)
}

func TestRegenerate(t *testing.T) {
	s, real := site(t, "claude", "codex")
	f := Folder{s.InnerHome}
	check := func(about, want string) {
		t.Helper()
		before, _ := os.ReadFile(f.StateFile())
		if r, err := Check(s); err != nil || words(r) != want {
			t.Errorf("%s: Check: %s, %v, want %s", about, words(r), err, want)
		}
		if after, _ := os.ReadFile(f.StateFile()); string(after) != string(before) {
			t.Errorf("%s: Check changed the state", about)
		}
		generation := f.ReadState().Generation
		r := regenerate(t, s)
		if words(r) != want {
			t.Errorf("%s: %s, want %s", about, words(r), want)
		}
		if now := f.ReadState().Generation; (now != generation) != r.Changed() || now == "" {
			t.Errorf("%s: generation %q, then %q", about, generation, now)
		}
		if got := words(regenerate(t, s)); strings.HasSuffix(got, "true") || !strings.HasPrefix(got, "+[] -[] ") {
			t.Errorf("%s: a second time: %s", about, got)
		}
		left, _ := filepath.Glob(filepath.Join(s.InnerHome, "shims", "*.tmp"))
		if len(left) > 0 {
			t.Errorf("%s: left behind: %v", about, left)
		}
	}
	if _, err := os.Lstat(s.InnerHome); err == nil {
		t.Fatal("something is there already")
	}
	check("new", "+[claude codex] -[] =[] foreign [] binary true")
	for _, path := range []string{s.InnerHome, filepath.Dir(f.Bin()), f.Bin(), f.Binary()} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q: %v, %v", path, info.Mode(), err)
		}
	}
	if out, _, _ := run(t, "/", nil, filepath.Join(f.Bin(), "claude")); out != "one\n" {
		t.Errorf("the shim runs %q", out)
	}
	if path, err := FindReal("claude", f.Bin()+":"+real, f.Bin(), nil); err != nil || path != filepath.Join(real, "claude") {
		t.Errorf("the real one: %q, %v", path, err)
	}

	// An agent is installed while its file is where it was found, whatever PATH is now.
	s.Path = "/nowhere"
	check("another PATH", "+[] -[] =[claude codex] foreign [] binary false")
	must(t, os.Remove(filepath.Join(real, "codex")))
	check("an agent is gone", "+[] -[codex] =[claude] foreign [] binary false")
	s.Path = f.Bin() + ":" + real

	// The binary behind the shims.
	write(t, s.Binary, "#!/bin/sh\necho two\n", 0o755)
	check("upgraded", "+[] -[] =[claude] foreign [] binary true")
	if out, _, _ := run(t, "/", nil, filepath.Join(f.Bin(), "claude")); out != "two\n" {
		t.Errorf("the shim runs %q", out)
	}
	info, err := os.Stat(s.Binary)
	must(t, err)
	must(t, os.WriteFile(s.Binary+".new", []byte("#!/bin/sh\necho six\n"), 0o755))
	must(t, os.Chtimes(s.Binary+".new", info.ModTime(), info.ModTime()))
	must(t, os.Rename(s.Binary+".new", s.Binary))
	check("upgraded, same size and time", "+[] -[] =[claude] foreign [] binary true")
	must(t, os.Remove(f.Binary()))
	check("the copy is gone", "+[] -[] =[claude] foreign [] binary true")
	must(t, os.Chmod(f.Binary(), 0o600))
	check("the copy cannot be executed", "+[] -[] =[claude] foreign [] binary true")
	must(t, os.Remove(f.StateFile()))
	check("the state is gone", "+[] -[] =[claude] foreign [] binary true")
	must(t, os.WriteFile(f.StateFile(), []byte("\xff\nbinary x\nagent y\n\n"), 0o600))
	check("the state is damaged", "+[] -[] =[claude] foreign [] binary true")
	s.Binary = f.Binary()
	check("called through the copy", "+[] -[] =[claude] foreign [] binary false")

	// What others put there stays.
	must(t, os.WriteFile(filepath.Join(f.Bin(), "mine"), []byte("x"), 0o755))
	must(t, os.Symlink("/usr/bin/true", filepath.Join(f.Bin(), "true")))
	must(t, os.Symlink("../nowhere", filepath.Join(f.Bin(), "dangling")))
	must(t, os.Symlink(linkText, filepath.Join(f.Bin(), "unwanted")))
	must(t, os.Mkdir(filepath.Join(f.Bin(), "folder"), 0o700))
	check("foreign entries", "+[] -[unwanted] =[claude] foreign [dangling folder mine true] binary false")
	must(t, os.Remove(filepath.Join(f.Bin(), "claude")))
	must(t, os.Symlink("/usr/bin/true", filepath.Join(f.Bin(), "claude")))
	r, err := Regenerate(s)
	const want = `shim folder: "claude" is in the way: inner did not make it and leaves it alone`
	if words(r) != "+[] -[] =[] foreign [claude dangling folder mine true] binary false" || err == nil || err.Error() != want {
		t.Errorf("in the way: %s, %v", words(r), err)
	}
	if text, _ := os.Readlink(filepath.Join(f.Bin(), "claude")); text != "/usr/bin/true" {
		t.Errorf("what was in the way is now %q", text)
	}
	names, err := f.List()
	if err != nil || len(names) != 0 {
		t.Errorf("List: %v, %v", names, err)
	}
}

// A record that cannot be read might be the one that wants a name.
func TestRegenerateKeepsWhenInDoubt(t *testing.T) {
	s, real := site(t, "claude", "codex")
	regenerate(t, s)
	record := filepath.Join(s.InnerHome, "trust", strings.Repeat("0", 64)+".json")
	write(t, record, "{", 0o600)
	must(t, os.Remove(filepath.Join(real, "codex")))
	script(t, filepath.Join(real, "amp"))
	r := regenerate(t, s)
	if got := words(r); got != "+[amp] -[] =[claude codex] foreign [] binary false" || !r.Set.Incomplete() {
		t.Errorf("%s, %v", got, r.Set.Problems)
	}
	must(t, os.Remove(record))
	if got := words(regenerate(t, s)); got != "+[] -[codex] =[amp claude] foreign [] binary false" {
		t.Error(got)
	}
}

func TestState(t *testing.T) {
	s, _ := site(t, "claude")
	f := Folder{s.InnerHome}
	if st := f.ReadState(); st.Generation != "" {
		t.Errorf("before anything: %+v", st)
	}
	start := time.Now()
	regenerate(t, s)
	first := f.ReadState()
	data, err := os.ReadFile(f.StateFile())
	must(t, err)
	if line, _, _ := strings.Cut(string(data), "\n"); line != first.Generation || len(line) != 16 {
		t.Errorf("first line %q", line)
	}
	info, err := os.Stat(f.StateFile())
	must(t, err)
	if !info.ModTime().Before(start) || info.ModTime().Before(start.Add(-time.Minute)) {
		t.Errorf("checked %v, regenerated from %v", info.ModTime(), start)
	}
	// A shell that knows the generation finds the state under its name, as long as it is the one.
	same := func(generation string) bool {
		a, errA := os.Stat(f.StateFile())
		b, errB := os.Stat(f.Mark(generation))
		return errA == nil && errB == nil && os.SameFile(a, b)
	}
	if !same(first.Generation) {
		t.Error("the state has no mark")
	}
	write(t, f.Mark("mine"), "", 0o600)
	must(t, f.Bump())
	second := f.ReadState()
	if left, err := filepath.Glob(f.StateFile() + ".*"); same(first.Generation) || !same(second.Generation) || len(left) != 2 {
		t.Errorf("marks %q, %v", left, err)
	}
	if second.Generation == first.Generation {
		t.Error("Bump left the generation")
	}
	second.Generation = first.Generation
	if diff := cmp.Diff(first, second, cmp.AllowUnexported(State{})); diff != "" {
		t.Errorf("Bump changed more (-want +got):\n%s", diff)
	}
	now := time.Now()
	must(t, f.Touch(now))
	info, err = os.Stat(f.StateFile())
	must(t, err)
	if got := info.ModTime(); !got.Equal(now.Add(-Slack)) {
		t.Errorf("Touch(%v) set %v", now, got)
	}
	// What is written after a check is newer than the state.
	file := filepath.Join(t.TempDir(), "x")
	write(t, file, "x", 0o600)
	written, err := os.Stat(file)
	must(t, err)
	if !written.ModTime().After(info.ModTime()) {
		t.Errorf("written %v, checked %v", written.ModTime(), info.ModTime())
	}
	if err := (Folder{t.TempDir()}).Touch(now); !os.IsNotExist(err) {
		t.Errorf("Touch without a state: %v", err)
	}
}

// asPlainUser makes a command run as somebody who is not root.
func asPlainUser(cmd *exec.Cmd) {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	}
}

// publicDir is a folder a plain user can reach, with a copy of the test binary.
func publicDir(t *testing.T) (dir, binary string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "inner-shims-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o777))
	data, err := os.ReadFile(self(t))
	must(t, err)
	binary = filepath.Join(dir, "inner.test")
	must(t, os.WriteFile(binary, data, 0o755))
	must(t, os.Chmod(binary, 0o755))
	return dir, binary
}

// One clear error for a folder that cannot be used.
func TestRegenerateRefused(t *testing.T) {
	dir, binary := publicDir(t)
	home := filepath.Join(dir, "home")
	env := []string{partVar + "=regenerate", "INNER_HOME=" + home, "HOME=" + dir, "PATH=/nowhere", "INNER_BINARY=" + binary}
	regen := func() (string, int) {
		cmd := exec.Command(binary)
		asPlainUser(cmd)
		_, errs, code := runCmd(t, cmd, dir, env)
		return errs, code
	}
	uid := os.Getuid()
	if uid == 0 {
		uid = 54321
	}
	plainly := func() {
		t.Helper()
		must(t, os.RemoveAll(home))
		if errs, code := regen(); code != 0 {
			t.Fatalf("plainly: %s", errs)
		}
	}
	plainly()
	bin := filepath.Join(home, "shims", "bin")
	must(t, os.RemoveAll(bin))
	must(t, os.WriteFile(bin, nil, 0o600))
	if errs, code := regen(); code != 1 || errs != fmt.Sprintf("inner: shim folder: %q: not a directory\n", bin) {
		t.Errorf("a file: %q", errs)
	}
	must(t, os.Remove(bin))
	must(t, os.Symlink("/tmp", bin))
	if errs, code := regen(); code != 1 || errs != fmt.Sprintf("inner: shim folder: %q is not a folder\n", bin) {
		t.Errorf("a link: %q", errs)
	}
	plainly()
	must(t, os.WriteFile(binary+"2", []byte("x"), 0o755))
	env[4] += "2"
	must(t, os.Chmod(filepath.Join(home, "shims"), 0o500))
	if errs, code := regen(); code != 1 || errs != fmt.Sprintf("inner: shim folder: %q: permission denied\n", filepath.Join(home, "shims", "inner.tmp")) {
		t.Errorf("read-only: %q", errs)
	}
	must(t, os.Chmod(filepath.Join(home, "shims"), 0o700))
	if errs, code := regen(); code != 0 {
		t.Errorf("writable again: %q", errs)
	}
	if os.Getuid() == 0 {
		must(t, os.Chown(bin, 0, 0))
		if errs, code := regen(); code != 1 || errs != fmt.Sprintf("inner: shim folder: %q belongs to user 0, not to user %d\n", bin, uid) {
			t.Errorf("another's: %q", errs)
		}
	}
	plainly()

	// noexec: a shell would pass over every shim.
	must(t, os.RemoveAll(home))
	must(t, os.Mkdir(home, 0o777))
	must(t, os.Chmod(home, 0o777))
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o noexec,mode=777 none "$INNER_HOME" && exec "$0"`, binary)
	asPlainUser(cmd)
	env = append(env, "PATH=/usr/bin:/bin:/usr/sbin:/sbin")
	_, errs, code := runCmd(t, cmd, dir, env)
	if want := fmt.Sprintf("inner: shim folder: %q cannot be executed: permission denied\n", filepath.Join(home, "shims", "inner")); code != 1 || errs != want {
		t.Errorf("noexec: %q, want %q", errs, want)
	}
}

func regenerateEnv(s Site) []string {
	return []string{partVar + "=regenerate", "INNER_HOME=" + s.InnerHome, "HOME=" + s.Home, "PATH=" + s.Path, "INNER_BINARY=" + s.Binary}
}

// Any number at once, some of them killed: all the others succeed, and the set is
// right in the end.
func TestRegenerateConcurrently(t *testing.T) {
	s, real := site(t, Agents()...)
	f := Folder{s.InnerHome}
	want := fmt.Sprint(Agents())
	for round := range 3 {
		if round == 1 {
			must(t, os.RemoveAll(s.InnerHome))
		}
		write(t, s.Binary, fmt.Sprintf("#!/bin/sh\necho round %d\n%s\n", round, strings.Repeat("#", 1<<20)), 0o755)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				cmd := exec.Command(self(t))
				cmd.Env = regenerateEnv(s)
				if round == 2 && i%2 == 0 {
					if err := cmd.Start(); err != nil {
						t.Error(err)
						return
					}
					for range i * 20000 { // anywhere between start and end
						_ = os.Getpid()
					}
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
					return
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("round %d: %v: %s", round, err, out)
				}
			})
		}
		all.Wait()
		regenerate(t, s)
		if names, err := f.List(); err != nil || fmt.Sprint(names) != want {
			t.Errorf("round %d: %v, %v", round, names, err)
		}
		if out, errs, _ := run(t, "/", nil, filepath.Join(f.Bin(), "claude")); out != fmt.Sprintf("round %d\n", round) {
			t.Errorf("round %d: the shim runs %q, %q", round, out, errs)
		}
		if left, _ := filepath.Glob(filepath.Join(s.InnerHome, "shims", "*.tmp")); len(left) > 0 && round < 2 {
			t.Errorf("round %d: left behind: %v", round, left)
		}
	}
	// What a killed one leaves does not disturb the next.
	write(t, f.Binary()+".tmp", "half", 0o600)
	write(t, f.StateFile()+".tmp", "half", 0o600)
	write(t, s.Binary, "#!/bin/sh\necho last\n", 0o755)
	must(t, os.Remove(filepath.Join(real, "pi")))
	if r := regenerate(t, s); !r.BinaryUpdated || !slices.Equal(r.Removed, []string{"pi"}) {
		t.Error(words(r))
	}
	if left, _ := filepath.Glob(filepath.Join(s.InnerHome, "shims", "*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// 1,000 calls of shims while the folder is regenerated 200 times, with other names and
// another binary each time: none is missing, empty, busy or wrong.
func TestCallsDuringRegenerate(t *testing.T) {
	s, real := site(t, "claude", "codex")
	data, err := os.ReadFile(self(t))
	must(t, err)
	binaries := []string{filepath.Join(s.Home, "a"), filepath.Join(s.Home, "b")}
	for _, b := range binaries {
		must(t, os.WriteFile(b, data, 0o755))
	}
	s.Binary = binaries[0]
	regenerate(t, s)
	bin := Folder{s.InnerHome}.Bin()
	env := []string{partVar + "=shim", "HOME=" + s.Home, "PATH=" + bin + ":" + real + ":/usr/bin:/bin"}
	var calls, rounds atomic.Int64
	var all sync.WaitGroup
	enough := func() bool { return calls.Load() >= 1000 && rounds.Load() >= 200 || t.Failed() }
	all.Go(func() {
		flicker := filepath.Join(real, "amp")
		for i := 0; !enough(); i++ {
			s.Binary = binaries[i%2]
			if i%2 == 0 {
				_ = os.WriteFile(flicker, []byte("#!/bin/sh\n"), 0o755)
			} else {
				_ = os.Remove(flicker)
			}
			if out, err := (&exec.Cmd{Path: self(t), Env: regenerateEnv(s)}).CombinedOutput(); err != nil {
				t.Errorf("regenerate: %v: %s", err, out)
			}
			rounds.Add(1)
		}
	})
	for i := 0; !enough(); i++ {
		name := []string{"claude", "codex"}[i%2]
		out, errs, code := run(t, s.Home, env, filepath.Join(bin, name), "x")
		if want := filepath.Join(real, name) + " x"; out != want || errs != "" || code != 0 {
			t.Errorf("call %d: %q, %q, %d, want %q", i, out, errs, code, want)
		}
		calls.Add(1)
	}
	all.Wait()
	t.Logf("%d calls, %d regenerations", calls.Load(), rounds.Load())
}

func BenchmarkRegenerateUnchanged(b *testing.B) {
	s, _ := site(b, Agents()...)
	regenerate(b, s)
	for b.Loop() {
		regenerate(b, s)
	}
}

// Behind the shims is the program that a build carries, not a copy of the file of this process.
func TestCarriedProgram(t *testing.T) {
	s, _ := site(t)
	f := Folder{s.InnerHome}
	const small, other = "#!/bin/sh\necho small\n", "#!/bin/sh\necho other\n"
	carried := func(text, digest string) Program {
		var zip strings.Builder
		w := gzip.NewWriter(&zip)
		_, err := w.Write([]byte(text))
		must(t, errors.Join(err, w.Close()))
		return Program{Zip: zip.String(), Sum: fmt.Sprintln(digest, len(text))}
	}
	s.Program = carried(small, "0011223344556677")
	holds := func(want string) {
		t.Helper()
		data, err := os.ReadFile(f.Binary())
		must(t, err)
		if string(data) != want {
			t.Errorf("behind the shims is %q, want %q", data, want)
		}
	}
	if r := regenerate(t, s); !r.BinaryUpdated {
		t.Error("the program was not written")
	}
	holds(small)
	if r := regenerate(t, s); r.Changed() || f.Outdated(s) {
		t.Error("the program was written again")
	}
	s.Program = carried(other, "1011223344556677") // of the same size
	if !f.Outdated(s) {
		t.Error("another version of the same size passes for the program")
	}
	regenerate(t, s)
	holds(other)
	must(t, os.WriteFile(f.Binary(), []byte("#!/bin/sh\n"), 0o700))
	regenerate(t, s)
	holds(other)
	// The program itself, called through a shim, leaves what is there: it may be of another version.
	s.Program, s.Binary = Program{}, f.Binary()
	if r := regenerate(t, s); r.BinaryUpdated {
		t.Error("the program replaced itself")
	}
}
