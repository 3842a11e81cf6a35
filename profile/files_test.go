package profile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/enr/inner/internal/own"
	"github.com/google/go-cmp/cmp"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	big := make([]byte, MaxFileSize+1)
	must(t, os.WriteFile(at("ok"), big[:MaxFileSize], 0o600))
	must(t, os.WriteFile(at("big"), big, 0o600))
	must(t, os.WriteFile(at("empty"), nil, 0o600))
	must(t, os.Symlink("ok", at("link")))
	must(t, os.Mkdir(at("folder"), 0o700))
	must(t, syscall.Mkfifo(at("fifo"), 0o600))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(t, err)
	defer syscall.Close(fd)
	must(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: at("socket")}))
	for name, want := range map[string]string{
		"ok": "", "empty": "",
		"big":      `"DIR/big" is larger than 1024 KiB`,
		"link":     `"DIR/link" is a link, not a regular file`,
		"folder":   `"DIR/folder" is a folder, not a regular file`,
		"fifo":     `"DIR/fifo" is a FIFO, not a regular file`,
		"socket":   `"DIR/socket" is a socket, not a regular file`,
		"gone":     `"DIR/gone" cannot be read: no such file or directory`,
		"ok/below": `"DIR/ok/below" cannot be read: not a directory`,
	} {
		f, err := ReadFile(at(name))
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), dir, "DIR")
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if err == nil && (f.Digest != fmt.Sprintf("%x", sha256.Sum256(f.Data)) || f.Path != at(name)) {
			t.Errorf("%s: digest %s", name, f.Digest)
		}
	}
	if _, err := ReadFile(at("gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not fs.ErrNotExist: %v", err)
	}
	if _, err := ReadFile("/dev/zero"); err == nil || err.Error() != `"/dev/zero" is a device, not a regular file` {
		t.Errorf("device: %v", err)
	}
}

func TestFindProject(t *testing.T) {
	type step func(root, home string)
	mkdir := func(path string, mode fs.FileMode) step {
		return func(root, _ string) {
			must(t, os.MkdirAll(filepath.Join(root, path), 0o700))
			must(t, os.Chmod(filepath.Join(root, path), mode))
		}
	}
	file := func(path string, mode fs.FileMode) step {
		return func(root, _ string) {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700))
			must(t, os.WriteFile(filepath.Join(root, path), nil, 0o600))
			must(t, os.Chmod(filepath.Join(root, path), mode))
		}
	}
	link := func(target, path string) step {
		return func(root, home string) {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700))
			must(t, os.Symlink(strings.ReplaceAll(target, "HOME", home), filepath.Join(root, path)))
		}
	}
	for _, c := range []struct {
		name  string
		steps []step
		want  string // the root, and the problem
	}{
		{"nothing", nil, "none"},
		{"empty .inner", []step{mkdir(".inner", 0o755)}, "none"},
		{"profiles", []step{mkdir(".inner/profiles", 0o755)}, "."},
		{"config only", []step{file(".inner/config.toml", 0o644)}, "."},
		{"nearest", []step{mkdir(".inner/profiles", 0o755), mkdir("a/.inner/profiles", 0o755)}, "a"},
		{"an empty nearer one does not count", []step{mkdir(".inner/profiles", 0o755), mkdir("a/.inner", 0o755)}, "."},
		{"a file", []step{file(".inner", 0o644)}, "none"},
		{"own group", []step{mkdir(".inner/profiles", 0o775), mkdir(".inner", 0o775)}, "."},
		{"everyone", []step{mkdir(".inner/profiles", 0o755), mkdir(".inner", 0o777)}, `.: "ROOT/.inner" can be changed by everyone (mode 0777)`},
		{"everyone, profiles", []step{mkdir(".inner/profiles", 0o757)}, `.: "ROOT/.inner/profiles" can be changed by everyone (mode 0757)`},
		{"everyone, config", []step{mkdir(".inner/profiles", 0o755), file(".inner/config.toml", 0o666)}, `.: "ROOT/.inner/config.toml" can be changed by everyone (mode 0666)`},
		{"a bad nearer one is not skipped", []step{mkdir(".inner/profiles", 0o755), mkdir("a/.inner/profiles", 0o777)}, `a: "ROOT/a/.inner/profiles" can be changed by everyone (mode 0777)`},
		{"a link", []step{mkdir("real/profiles", 0o755), link("real", ".inner")}, `.: "ROOT/.inner" is a link`},
		{"a dangling link", []step{link("nope", ".inner")}, "none"},
		{"a link to inner's own", []step{link("HOME", ".inner")}, "none"},
		{"profiles is a link", []step{mkdir("real", 0o755), link("../real", ".inner/profiles")}, `.: "ROOT/.inner/profiles" is a link`},
		{"config is a link", []step{link("/etc/passwd", ".inner/config.toml")}, `.: "ROOT/.inner/config.toml" is a link`},
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		home := filepath.Join(root, "innerhome")
		must(t, os.MkdirAll(filepath.Join(home, "profiles"), 0o700))
		must(t, os.MkdirAll(filepath.Join(root, "a/b"), 0o700))
		for _, s := range c.steps {
			s(root, home)
		}
		got := "none"
		if p := FindProject(filepath.Join(root, "a/b"), home); p != nil {
			got, err = filepath.Rel(root, p.Root)
			must(t, err)
			if p.Dir != filepath.Join(p.Root, ".inner") {
				t.Errorf("%s: Dir %q", c.name, p.Dir)
			}
			if p.Problem != nil {
				got += ": " + strings.ReplaceAll(p.Problem.Error(), root, "ROOT")
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if p := FindProject("relative", "/x"); p != nil {
		t.Errorf("relative: %v", p)
	}
}

func TestFindProjectOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can give a folder away; the suite runs as root too
	}
	root := t.TempDir()
	dir := filepath.Join(root, ".inner/profiles")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.Chown(dir, 12345, 12345))
	p := FindProject(root, "/nowhere")
	if p == nil || p.Problem == nil || p.Problem.Error() != fmt.Sprintf("%q belongs to user 12345, not to you", dir) {
		t.Fatalf("%+v", p)
	}
	must(t, os.Chown(dir, 0, 12345))
	must(t, os.Chmod(dir, 0o775))
	if p := FindProject(root, "/nowhere"); p == nil || p.Problem == nil || p.Problem.Error() != fmt.Sprintf("%q can be changed by group 12345 (mode 0775)", dir) {
		t.Fatalf("%+v", p)
	}
}

// Only root can give a folder away, so what others may have written is told of
// made-up files, too.
func TestForeign(t *testing.T) {
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	for _, c := range []struct {
		mode     fs.FileMode
		uid, gid uint32
		want     string
	}{
		{0o755, uid, 12345, ""},
		{0o755, 0, 0, ""},
		{0o755, 12345, gid, "belongs to user 12345, not to you"},
		{0o757, uid, gid, "can be changed by everyone (mode 0757)"},
		{0o646, 0, 0, "can be changed by everyone (mode 0646)"},
		{0o775, uid, 12345, "can be changed by group 12345 (mode 0775)"},
		{0o664, 0, 12345, "can be changed by group 12345 (mode 0664)"},
		{fs.ModeSymlink | 0o777, uid, gid, "is a link"},
	} {
		if got := own.Fault(madeUp{c.mode, &syscall.Stat_t{Uid: c.uid, Gid: c.gid}}); got != c.want {
			t.Errorf("mode %v of %d:%d: %q, want %q", c.mode, c.uid, c.gid, got, c.want)
		}
	}
}

// madeUp is a file that is not there.
type madeUp struct {
	mode fs.FileMode
	sys  *syscall.Stat_t
}

func (madeUp) Name() string        { return "made-up" }
func (madeUp) Size() int64         { return 0 }
func (f madeUp) Mode() fs.FileMode { return f.mode }
func (madeUp) ModTime() time.Time  { return time.Time{} }
func (f madeUp) IsDir() bool       { return f.mode.IsDir() }
func (f madeUp) Sys() any          { return f.sys }

func TestProfileFiles(t *testing.T) {
	w := newWorld(t, map[string]string{"local/b": "V1\n", "local/a": "V1\n"})
	for _, name := range []string{".hidden.toml", "notes.txt", ".toml", "c.toml~"} {
		must(t, os.WriteFile(filepath.Join(w.project, ".inner/profiles", name), nil, 0o600))
	}
	files, err := w.loader.Project.ProfileFiles()
	must(t, err)
	dir := filepath.Join(w.project, ".inner/profiles")
	if diff := cmp.Diff([]string{dir + "/a.toml", dir + "/b.toml"}, files); diff != "" {
		t.Error(diff)
	}
}

func TestCheckCommand(t *testing.T) {
	for _, name := range []string{"claude", "bash", "c++", "[", "a b", "ünï", ".hidden", "@x"} {
		if err := CheckCommand(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"inner", "bwrap", "sudo", "su", "doas", "login", "env", "", ".", "..", "-x", "a/b", "/a", "a\nb", "a\x00", "a\x7f", strings.Repeat("x", 256)} {
		if CheckCommand(name) == nil {
			t.Errorf("%q may be claimed", name)
		}
	}
}

func TestScanClaims(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{"p"}},
		{"cmd = \"claude\"\nbroken", []string{"p", "claude"}},
		{"  cmd='/opt/bin/claude' # x\n[", []string{"p", "claude"}},
		{"commands = [\"a\", 'b', # c \"no\"\n \"d\"]\ncmd = \"e\"", []string{"p", "a", "b", "d", "e"}},
		{"commands = [\"a\", \"b", []string{"p", "a"}},
		{"commands = [\n\"a\"\nname = \"x\"", []string{"p", "a"}},
		{"shim = { commands = [\"a\"] }\nentrypoint.cmd = \"b\"\n\"cmd\" = \"c\"", []string{"p", "a", "b", "c"}},
		{"mycmd = \"x\"\nrecommands = [\"y\"]\nsub-cmd = \"z\"", []string{"p"}},
		{"cmd = \"test ! -f x\"\ncmd = \"sudo\"\ncmd = \"\"\ncmd = \"..\"", []string{"p"}},
		{"commands\ncmd", []string{"p"}},
		{"cmd = \"\"\"claude\"\"\"\nbroken", []string{"p", "claude"}},
		{"commands = [\n'a', '''\nb''', \"\", \"c\"]\nbroken", []string{"p", "a", "b", "c"}},
		{"\xff\x00cmd = \"a\"", []string{"p", "a"}},
	} {
		if diff := cmp.Diff(c.want, ScanClaims([]byte(c.text), "p.toml")); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
	if got := len(ScanClaims([]byte("commands = ["+strings.Repeat(`"a",`, 10)+manyWords(1000)+"]"), "p.toml")); got > maxScanned {
		t.Errorf("%d words", got)
	}
}

func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%q,", fmt.Sprint("w", i))
	}
	return b.String()
}
