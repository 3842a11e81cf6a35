package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestRelativeSockets: a socket bound under a relative name is found below the
// working folder of its process, or in a folder near.
func TestRelativeSockets(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, name := range []string{"plain", "sub/deep", "@not-a-file"} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	want := []string{filepath.Join(dir, "plain"), filepath.Join(dir, "sub/deep")}
	ours := func(near ...string) []string {
		list, err := listening("/proc/net/unix", near)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(list, func(p string) bool { return filepath.Dir(p) != dir && filepath.Dir(p) != dir+"/sub" })
	}
	if got := ours(); !slices.Equal(got, want) {
		t.Errorf("by the working folder: %q", got)
	}
	t.Chdir("/")
	if got := ours(); len(got) > 0 {
		t.Errorf("its process has gone elsewhere: %q", got)
	}
	if got := ours(dir); !slices.Equal(got, want) {
		t.Errorf("in a folder near: %q", got)
	}
}

// TestSocketsUnknown: a table that cannot be read, or is another file, is an error.
func TestSocketsUnknown(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "unix")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{empty, filepath.Dir(empty), empty + "-missing"} {
		if list, err := listening(table, nil); err == nil {
			t.Errorf("%s: %v", table, list)
		}
	}
	if _, err := listening("/proc/net/unix", nil); err != nil {
		t.Error(err)
	}
}

// TestSocketsByFile: what listens in a folder that was read is found by the file, whatever name the
// kernel's table has for it, and what nobody listens on any more is not.
func TestSocketsByFile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	fd, err := os.Open(dir)
	must(t, err)
	defer fd.Close()
	listen := func(network, path string) {
		t.Helper()
		if network == "unixgram" {
			c, err := net.ListenUnixgram(network, &net.UnixAddr{Name: path, Net: network})
			must(t, err)
			t.Cleanup(func() { c.Close() })
			return
		}
		l, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
		must(t, err)
		t.Cleanup(func() {
			must(t, l.SetDeadline(time.Now().Add(20*time.Millisecond)))
			if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s was asked: %v", path, err)
			}
			l.Close()
		})
	}
	for _, network := range []string{"unix", "unixpacket", "unixgram"} {
		listen(network, filepath.Join(dir, "bound"))
		must(t, os.Rename(filepath.Join(dir, "bound"), filepath.Join(dir, network)))
	}
	listen("unix", fmt.Sprintf("/proc/self/fd/%d/by-descriptor", fd.Fd()))
	must(t, os.Link(filepath.Join(dir, "unix"), filepath.Join(dir, "linked")))
	for _, network := range []string{"unix", "unixpacket"} {
		stale, err := net.ListenUnix(network, &net.UnixAddr{Name: filepath.Join(dir, "stale-"+network), Net: network})
		must(t, err)
		stale.SetUnlinkOnClose(false)
		stale.Close()
	}
	l := newLooker(NewFolders())
	l.list(dir)
	got, err := l.sockets("/proc/net/unix", nil)
	must(t, err)
	got = slices.DeleteFunc(got, func(p string) bool { return filepath.Dir(p) != dir })
	var want []string
	for _, name := range []string{"by-descriptor", "linked", "unix", "unixgram", "unixpacket"} {
		want = append(want, filepath.Join(dir, name))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSocketsNamedWithLineEnds: a name in the kernel's table is whole.
func TestSocketsNamedWithLineEnds(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	name := filepath.Join(dir, "a\nb: c\n")
	l, err := net.Listen("unix", name)
	must(t, err)
	defer l.Close()
	got, err := listening("/proc/net/unix", nil)
	must(t, err)
	if !slices.Contains(got, name) {
		t.Errorf("%q is not among %q", name, got)
	}
}
