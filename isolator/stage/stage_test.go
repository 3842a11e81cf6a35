package stage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
)

func base(t *testing.T) string {
	t.Helper()
	b := filepath.Join(t.TempDir(), "inner")
	if err := os.Mkdir(b+".home", 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRunComesAndGoes(t *testing.T) {
	b := base(t)
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	r, err := New(b, b+".home")
	if err != nil {
		t.Fatal(err)
	}
	empty, err := r.File("empty", nil, 0o444)
	if err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{b: 0o700, r.Path: 0o700, empty: 0o444} {
		fi, err := os.Lstat(path)
		if err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want %o", path, fi, err, mode)
		}
	}
	if _, err := r.File("empty", nil, 0o444); err == nil {
		t.Error("an existing file was overwritten")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(r.Path); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestSweepTakesTheDeadAndLeavesTheLiving(t *testing.T) {
	b := base(t)
	live, err := New(b, b+".home")
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	dead, err := New(b, b+".home")
	if err != nil {
		t.Fatal(err)
	}
	// What a box may have left: a link out, an unreadable folder.
	outside := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(dead.Path, "link")); err != nil {
		t.Fatal(err)
	}
	kill(dead) // the kernel frees the lock of a killed process
	half := filepath.Join(b, "20200101-000000-aaaaaa")
	if err := os.Mkdir(half, 0o700); err != nil { // died before its lock was made
		t.Fatal(err)
	}
	unclear, err := New(b, b+".home")
	if err != nil {
		t.Fatal(err)
	}
	defer unclear.Close()
	if err := os.Chmod(filepath.Join(unclear.Path, "lock"), 0); err != nil { // nobody can be asked whether it is held
		t.Fatal(err)
	}
	if _, err := Sweep(b, b+".home", nil); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]bool{live.Path: true, unclear.Path: true, dead.Path: false, half: false, outside: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", path, err == nil, want)
		}
	}
	if stuck, err := Sweep(filepath.Join(b, "nowhere"), b+".home", nil); len(stuck) > 0 || err != nil {
		t.Errorf("no base: %v, %v", stuck, err)
	}
}

func TestManyRunsAndSweepsAtOnce(t *testing.T) {
	b := base(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Add(2)
		go func() {
			defer wg.Done()
			r, err := New(b, b+".home")
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := r.File("empty", nil, 0o444); err != nil {
				t.Errorf("swept while alive: %v", err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}()
		go func() {
			defer wg.Done()
			if _, err := Sweep(b, b+".home", nil); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
}

func TestBaseOfOthersIsRefused(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Base(open); strings.HasPrefix(got, open) {
		t.Errorf("Base uses a runtime folder that others can enter: %s", got)
	}
	if got := Base("relative"); !strings.HasPrefix(got, "/tmp/inner-") {
		t.Errorf("Base(relative) = %s", got)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, b := range []string{link, open} {
		plant := filepath.Join(open, "20200101-000000-aaaaaa")
		if err := os.MkdirAll(plant, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Sweep(b, b+".home", nil); err == nil {
			t.Errorf("Sweep(%s) cleaned a folder that is not private", b)
		}
		if _, err := os.Lstat(plant); err != nil {
			t.Errorf("Sweep(%s) removed a folder there", b)
		}
		if _, err := New(b, b+".home"); err == nil {
			t.Errorf("New(%s) staged in a folder that is not private", b)
		}
	}
}

func TestUmaskOfNothing(t *testing.T) {
	b := base(t)
	old := syscall.Umask(0o777)
	r, err := New(b, b+".home")
	syscall.Umask(old)
	if refusal := fault.AsRefusal(err); refusal == nil || refusal.Hint != "umask 077" {
		t.Errorf("with umask 777: %v, %v", r, err)
	}
	if r, err = New(b, b+".home"); err != nil {
		t.Fatalf("and a folder that nobody can use stayed: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestFileModeIgnoresUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	r, err := New(base(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := r.File("script", []byte("x"), 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Lstat(p); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if data, err := os.ReadFile(p); err != nil || !bytes.Equal(data, []byte("x")) {
		t.Errorf("%q %v", data, err)
	}
}

// TestPlaceholdersGoWithTheLastRun: a placeholder in a project stays while
// any run may need it, and goes with the last, also after a crash.
func TestPlaceholdersGoWithTheLastRun(t *testing.T) {
	b, project := base(t), t.TempDir()
	hooks, file, mine := filepath.Join(project, "hooks"), filepath.Join(project, "commondir"), filepath.Join(project, "kept")
	there := func(p string) bool { _, err := os.Lstat(p); return err == nil }
	one, err := New(b, b+".home")
	if err != nil {
		t.Fatal(err)
	}
	two, err := New(b, b+".home")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Run{one, two} {
		for p, content := range map[string][]byte{hooks: nil, file: []byte(".\n"), mine: []byte("x")} {
			if err := r.MakePlaceholders(host.Placeholder{Path: p, Content: content}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if !there(hooks) || !there(file) {
		t.Error("taken away under a run that lives")
	}
	if err := os.WriteFile(mine, []byte("the user wrote this"), 0o644); err != nil {
		t.Fatal(err)
	}
	kill(two) // killed
	if _, err := Sweep(b, b+".home", nil); err != nil {
		t.Fatal(err)
	}
	if there(hooks) || there(file) {
		t.Error("left behind after a crash and a sweep")
	}
	if !there(mine) {
		t.Error("a file that the user wrote into was removed")
	}
	link := filepath.Join(project, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	three, err := New(b, b+".home")
	if err != nil {
		t.Fatal(err)
	}
	defer three.Close()
	if err := three.MakePlaceholders(host.Placeholder{Path: filepath.Join(link, "x")}); err == nil {
		t.Error("made through a link")
	}
}

// TestTornPlace: a run that is killed while it makes a place leaves the beginning of
// it, which goes like the whole.
func TestTornPlace(t *testing.T) {
	b, project := base(t), t.TempDir()
	for _, torn := range []string{"", "."} {
		r, err := New(b, b+".home")
		if err != nil {
			t.Fatal(err)
		}
		p := filepath.Join(project, "commondir")
		if err := r.MakePlaceholders(host.Placeholder{Path: p, Content: []byte(".\n")}); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(p); err != nil || string(data) != ".\n" {
			t.Fatalf("%q, %v", data, err)
		}
		if fi, err := os.Stat(p); err != nil || fi.Mode().Perm()&0o400 == 0 {
			t.Fatalf("%v, %v", fi.Mode(), err)
		}
		if err := os.WriteFile(p, []byte(torn), 0o644); err != nil {
			t.Fatal(err)
		}
		kill(r) // killed
		if _, err := Sweep(b, b+".home", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%q was left", torn)
		}
	}
}

// A run that finds a placeholder of another must keep it: a mount over a folder
// that is removed is taken off, in every namespace.
func TestKeepPlaceholders(t *testing.T) {
	b, project := base(t), t.TempDir()
	place, other := filepath.Join(project, "sub/.claude"), filepath.Join(t.TempDir(), ".claude")
	if err := os.Mkdir(filepath.Dir(place), 0o755); err != nil {
		t.Fatal(err)
	}
	there := func(p string) bool { _, err := os.Lstat(p); return err == nil }
	one, err := New(b, b+".home")
	if err != nil {
		t.Fatal(err)
	}
	if err := one.MakePlaceholders(host.Placeholder{Path: place}, host.Placeholder{Path: other}); err != nil {
		t.Fatal(err)
	}
	two, err := New(b, b+".home")
	if err != nil {
		t.Fatal(err)
	}
	if err := two.KeepPlaceholders(project); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if !there(place) {
		t.Error("removed under a run that keeps it")
	}
	if there(other) {
		t.Error("kept, though it lies elsewhere")
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if there(place) {
		t.Error("left behind")
	}
}

// plainUser skips a test as root, who removes what others cannot.
func plainUser(t *testing.T) {
	t.Helper()
	if os.Getuid() == 0 {
		if os.Getenv("INNER_TEST_MUST") != "" {
			t.Fatal("it runs as root")
		}
		t.Skip("root removes what others cannot")
	}
}

// A placeholder folder in which another one is stuck is removed with that, not forgotten.
func TestStuckInPlaceholder(t *testing.T) {
	plainUser(t)
	b, project := base(t), t.TempDir()
	folder := filepath.Join(project, ".vscode")
	for _, p := range []host.Placeholder{{Path: folder}, {Path: filepath.Join(folder, "settings.json"), Content: []byte{}}} {
		r, err := New(b, b+".home")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.MakePlaceholders(p); err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		kill(r)
	}
	for _, mode := range []os.FileMode{0o555, 0o755, 0o755} { // runs of one second are swept in any order
		if err := os.Chmod(folder, mode); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if _, err := Sweep(b, b+".home", nil); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(folder); err == nil {
		t.Error("the folder is forgotten")
	}
}

// A placeholder that cannot be removed is not forgotten, and is in nobody's way: each sweep
// tries again, and it goes when its folder can be written again.
func TestStuckPlaceholder(t *testing.T) {
	plainUser(t)
	b, project := base(t), t.TempDir()
	folder, file := filepath.Join(project, ".vscode"), filepath.Join(project, ".envrc")
	start := func() *Run {
		t.Helper()
		r, err := New(b, b+".home")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.MakePlaceholders(host.Placeholder{Path: folder}, host.Placeholder{Path: file, Content: []byte{}}); err != nil {
			t.Fatal(err)
		}
		return r
	}
	chmod := func(mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(project, mode); err != nil {
			t.Fatal(err)
		}
	}
	defer chmod(0o755)
	for _, end := range []func(*Run) error{(*Run).Close, func(r *Run) error { kill(r); return nil }} {
		r := start()
		chmod(0o555)
		_ = end(r)
		for range 2 {
			stuck, err := Sweep(b, b+".home", nil)
			if text := fmt.Sprint(stuck); err != nil || len(stuck) != 2 || !strings.Contains(text, folder) || !strings.Contains(text, file) {
				t.Errorf("not removed: %v, %v", stuck, err)
			}
		}
		if Pending(b + ".home") {
			t.Error("a run that ended counts as one that lives")
		}
		chmod(0o755)
		if stuck, err := Sweep(b, b+".home", nil); len(stuck) > 0 || err != nil {
			t.Errorf("%v, %v", stuck, err)
		}
		for _, p := range []string{folder, file} {
			if _, err := os.Lstat(p); err == nil {
				t.Errorf("%s was left", p)
			}
		}
		if _, err := os.Lstat(placed(b + ".home")); err == nil {
			t.Error("what was removed is noted")
		}
	}
}

// A project that is renamed during a run keeps nothing of it either.
func TestRenamedMeanwhile(t *testing.T) {
	b, top := base(t), t.TempDir()
	project, moved := filepath.Join(top, "p"), filepath.Join(top, "moved")
	if err := os.MkdirAll(filepath.Join(project, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := New(b, b+".home")
	if err != nil {
		t.Fatal(err)
	}
	err = r.MakePlaceholders(host.Placeholder{Path: filepath.Join(project, ".claude")}, host.Placeholder{Path: filepath.Join(project, ".git/commondir"), Content: []byte(".\n")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(project, moved); err != nil {
		t.Fatal(err)
	}
	// Somebody else's, which has the old name by now.
	other := filepath.Join(project, ".claude")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{moved + "/.claude", moved + "/.git/commondir"} {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s was left", p)
		}
	}
	if _, err := os.Lstat(other); err != nil {
		t.Error(err)
	}
}
