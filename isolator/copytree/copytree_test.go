package copytree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode))
}

// signature is everything that is to be the same in a copy, but for what the
// kernel decides.
func signature(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		s := fmt.Sprintf("%o m%d a%d", st.Mode, st.Mtim.Nano(), st.Atim.Nano())
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s += fmt.Sprintf(" %d %x", len(data), bytes.TrimRight(data, "\x00"))
		case unix.S_IFLNK:
			target, _ := os.Readlink(path)
			s += " " + target
		}
		out[rel] = s
		return nil
	}))
	return out
}

func TestCopyIsTheSame(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	write(t, src+"/plain", "plain", 0o644)
	write(t, src+"/a/b/c/deep", "deep", 0o600)
	write(t, src+"/none", "none", 0o400)
	write(t, src+"/exec", "#!/bin/sh\n", 0o755)
	write(t, src+"/empty", "", 0o666)
	write(t, src+"/large", strings.Repeat("large ", 100_000), 0o640)
	write(t, src+"/ro/file", "x", 0o444)
	write(t, src+"/odd\nname\xff", "odd", 0o644)
	for i := range 300 {
		write(t, fmt.Sprintf("%s/many/%d", src, i), fmt.Sprint(i), 0o644)
	}
	must(t, os.Link(src+"/plain", src+"/a/hard"), os.Link(src+"/plain", src+"/a/b/hard too"), os.Symlink("/etc", src+"/out"), os.Symlink("nowhere", src+"/a/dangling"))
	must(t, os.Mkdir(src+"/void", 0o711), os.Truncate(src+"/empty", 0))
	hole, err := os.OpenFile(src+"/hole", os.O_WRONLY|os.O_CREATE, 0o644)
	must(t, err)
	_, err = hole.WriteAt([]byte("middle"), 5<<20)
	must(t, err, hole.Truncate(20<<20), hole.Close())
	old := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	must(t, os.Chtimes(src+"/plain", old, old.Add(time.Hour)), os.Chmod(src+"/ro", 0o555), os.Chtimes(src+"/a/b", old, old), os.Chtimes(src+"/ro", old, old))
	t.Cleanup(func() { _ = os.Chmod(src+"/ro", 0o755) })
	want := signature(t, src)
	// Set-id bits do not get into a copy.
	must(t, os.Chmod(src+"/exec", 0o755|fs.ModeSetuid|fs.ModeSetgid))
	// What is no file is left out, and does not block.
	must(t, unix.Mkfifo(src+"/fifo", 0o644))
	socket, err := net.Listen("unix", src+"/sock")
	must(t, err)
	defer socket.Close()
	var st unix.Stat_t
	must(t, unix.Stat(src, &st), os.Chtimes(src, old, old))

	res, err := Copy(context.Background(), src, dst, Options{Record: true, Dev: st.Dev, Ino: st.Ino})
	must(t, err)
	t.Cleanup(func() { _ = Remove(dst) })
	got := signature(t, dst)
	want["."] = got["."] // the fifo and the socket changed it since
	for path, w := range want {
		// Reading leaves a trace in the original where the file system is mounted so.
		if strip(got[path]) != strip(w) {
			t.Errorf("%q:\n got %s\nwant %s", path, got[path], w)
		}
		delete(got, path)
	}
	if len(got) > 0 {
		t.Errorf("only in the copy: %v", got)
	}
	if left := fmt.Sprint(res.Left); left != "[{fifo FIFO} {sock socket}]" {
		t.Errorf("left out: %v", left)
	}
	var holeSt unix.Stat_t
	must(t, unix.Stat(dst+"/hole", &holeSt))
	if holeSt.Blocks*512 > 1<<20 {
		t.Errorf("the hole was filled: %d blocks", holeSt.Blocks)
	}
	var paths []string
	for _, e := range res.Entries {
		paths = append(paths, e.Path)
		var st unix.Stat_t
		must(t, unix.Lstat(filepath.Join(dst, e.Path), &st))
		if e.Mode.IsRegular() && e.Copy != st.Ino {
			t.Errorf("%q: recorded inode %d, is %d", e.Path, e.Copy, st.Ino)
		}
	}
	if len(paths) != len(want) || !slices.IsSorted(paths) {
		t.Errorf("%d entries for %d paths, sorted %v", len(paths), len(want), slices.IsSorted(paths))
	}
	must(t, Remove(dst))
	if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed, and there: %v", err)
	}
}

// strip takes the access time out of a signature.
func strip(s string) string {
	var keep []string
	for _, f := range strings.Fields(s) {
		if !strings.HasPrefix(f, "a") || strings.Contains(f, "/") {
			keep = append(keep, f)
		}
	}
	return strings.Join(keep, " ")
}

func TestExclude(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	write(t, src+"/keep", "x", 0o644)
	write(t, src+"/secret/key", "x", 0o644)
	write(t, src+"/sub/.env", "x", 0o644)
	res, err := Copy(context.Background(), src, dst, Options{Exclude: []string{"secret", "sub/.env"}})
	must(t, err)
	got := signature(t, dst)
	for path, want := range map[string]bool{"keep": true, "sub": true, "secret": false, "sub/.env": false} {
		if _, ok := got[path]; ok != want {
			t.Errorf("%s copied: %v", path, ok)
		}
	}
	if len(res.Left) != 0 {
		t.Errorf("left %v", res.Left)
	}
}

// TestARenameLeadsNowhere copies while folders and files of the tree are
// replaced by links that lead out.
func TestARenameLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	src, outside := filepath.Join(dir, "src"), filepath.Join(dir, "outside")
	write(t, outside+"/d/file", "SECRET", 0o644)
	for i := range 20 {
		for j := range 8 {
			write(t, fmt.Sprintf("%s/%d/d/%d/file", src, i, j), "mine", 0o644)
		}
	}
	must(t, os.Symlink(outside, dir+"/link"))
	var stop atomic.Bool
	swaps := make(chan int)
	go func() {
		n := 0
		for i := 0; !stop.Load(); i = (i + 1) % 20 {
			at := fmt.Sprintf("%s/%d", src, i)
			if unix.Renameat2(unix.AT_FDCWD, at, unix.AT_FDCWD, dir+"/link", unix.RENAME_EXCHANGE) == nil {
				n++
				_ = unix.Renameat2(unix.AT_FDCWD, at, unix.AT_FDCWD, dir+"/link", unix.RENAME_EXCHANGE)
			}
		}
		swaps <- n
	}()
	for i := range 12 {
		dst := fmt.Sprintf("%s/dst%d", dir, i)
		_, err := Copy(context.Background(), src, dst, Options{})
		must(t, err)
		must(t, filepath.WalkDir(dst, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if string(data) != "mine" {
				t.Errorf("%s holds %q", path, data)
			}
			return err
		}))
		must(t, Remove(dst))
	}
	stop.Store(true)
	if n := <-swaps; n < 100 {
		t.Fatalf("only %d exchanges: the test shows too little", n)
	}
}

// TestFIFOInPlaceOfAFile: what was a file when it was listed, and is a FIFO when
// it is opened, neither blocks nor is copied.
func TestFIFOInPlaceOfAFile(t *testing.T) {
	dir := t.TempDir()
	must(t, unix.Mkfifo(dir+"/f", 0o600), os.Mkdir(dir+"/to", 0o700))
	from, err := openDirectory(dir)
	must(t, err)
	to, err := openDirectory(dir + "/to")
	must(t, err)
	c := &copier{ctx: context.Background()}
	if err := c.file(from, to, "f", "f"); err != nil || len(c.res.Left) != 1 {
		t.Errorf("copied a FIFO: %v", err)
	}
	if entries, _ := os.ReadDir(dir + "/to"); len(entries) != 0 {
		t.Errorf("made %v", entries)
	}
}

func openDirectory(path string) (int, error) {
	return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// TestOpen holds openat2 and the way without it to the same table.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/root/a/b/file", "x", 0o644)
	write(t, dir+"/out", "x", 0o644)
	must(t, os.Symlink("file", dir+"/root/a/b/link"), os.Symlink("a", dir+"/root/l"), os.Symlink(dir, dir+"/root/abs"))
	root, err := openDirectory(dir + "/root")
	must(t, err)
	for how, open := range map[string]func(int, string, int) (int, error){
		"openat2": Open,
		"step":    func(d int, p string, f int) (int, error) { return step(d, p, f|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0) },
	} {
		for path, want := range map[string]bool{
			".": true, "a": true, "a/b/file": true, "a/b/link": false, "l/b/file": false, "abs/out": false, "../out": false, "a/../../out": false, "missing": false, dir + "/out": false,
		} {
			fd, err := open(root, path, unix.O_RDONLY)
			if (err == nil) != want {
				t.Errorf("%s: %q: %v", how, path, err)
			}
			if err == nil {
				unix.Close(fd)
			}
		}
	}
	for path, want := range map[string]bool{"a/b/file": true, "a/b": true, "a/b/link": false, "l/b": false, "no": false} {
		if Has(dir+"/root", path) != want {
			t.Errorf("Has %q: %v", path, !want)
		}
	}
}

// untilThere is a context that is cancelled as soon as something is in a folder.
type untilThere struct {
	context.Context
	dir string
}

func (u untilThere) Err() error {
	if entries, _ := os.ReadDir(u.dir); len(entries) > 0 {
		return context.Canceled
	}
	return nil
}

func TestFailureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	for i := range 500 {
		write(t, fmt.Sprintf("%s/%d/f", src, i), "x", 0o644)
	}
	gone := func(what string) {
		t.Helper()
		if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Cancelled when something is there.
	_, err := Copy(untilThere{context.Background(), dst}, src, dst, Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	gone("cancelled")
	if _, err := Copy(context.Background(), src, dst, Options{Dev: 1, Ino: 1}); !errors.Is(err, ErrOther) {
		t.Errorf("another source: %v", err)
	}
	gone("another source")
	if _, err := Copy(context.Background(), src+"/none", dst, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no source: %v", err)
	}
	gone("no source")
	must(t, os.Symlink(src, dir+"/link"))
	if _, err := Copy(context.Background(), dir+"/link", dst, Options{}); err == nil {
		t.Error("a link was copied through")
	}
	gone("link")
	// What is there already is not ours.
	write(t, dst+"/mine", "x", 0o644)
	if _, err := Copy(context.Background(), src, dst, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("copied over something: %v", err)
	}
	if _, err := os.Lstat(dst + "/mine"); err != nil {
		t.Errorf("removed what it did not make: %v", err)
	}
}

// A file is copied from a folder that cannot be listed.
func TestFileInFolderThatCannotBeListed(t *testing.T) {
	if os.Getuid() == 0 {
		if os.Getenv("INNER_TEST_MUST") != "" {
			t.Fatal("it runs as root")
		}
		t.Skip("root lists everything; the tests that count run as a plain user")
	}
	dir := t.TempDir()
	write(t, dir+"/closed/file", "x", 0o644)
	must(t, os.Chmod(dir+"/closed", 0o311))
	defer func() { must(t, os.Chmod(dir+"/closed", 0o755)) }()
	if _, err := Copy(t.Context(), dir+"/closed/file", dir+"/copy", Options{}); err != nil {
		t.Error(err)
	}
}

func TestUnreadableIsLeftOut(t *testing.T) {
	if os.Getuid() == 0 {
		if os.Getenv("INNER_TEST_MUST") != "" {
			t.Fatal("it runs as root")
		}
		t.Skip("root reads everything; the tests that count run as a plain user")
	}
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	write(t, src+"/ok", "x", 0o644)
	write(t, src+"/no", "x", 0)
	write(t, src+"/dir/x", "x", 0o644)
	must(t, os.Chmod(src+"/dir", 0))
	t.Cleanup(func() { _ = os.Chmod(src+"/dir", 0o700) })
	res, err := Copy(context.Background(), src, dst, Options{})
	must(t, err)
	if got := fmt.Sprint(res.Left); got != "[{dir permission denied} {no permission denied}]" {
		t.Errorf("left %s", got)
	}
	if got := signature(t, dst); len(got) != 2 {
		t.Errorf("copied %v", got)
	}
}

// TestRemove: what a box made unreadable goes, what a link leads to stays.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	write(t, dir+"/outside/file", "x", 0o644)
	write(t, tree+"/a/b/c", "x", 0)
	must(t, os.Symlink(dir+"/outside", tree+"/link"), os.Chmod(tree+"/a/b", 0), os.Chmod(tree+"/a", 0o111), os.Chmod(tree, 0o500))
	must(t, Remove(tree), Remove(tree))
	if _, err := os.Lstat(tree); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	if _, err := os.Lstat(dir + "/outside/file"); err != nil {
		t.Errorf("removed through a link: %v", err)
	}
	write(t, tree, "a file", 0o400)
	must(t, Remove(tree), Remove(dir+"/not/there"))
}

// A folder that is replaced before its files are copied is left out. A lack of
// descriptors or of memory is no fault of the source, and ends the copy.
func TestFolderReplacedMeanwhile(t *testing.T) {
	top := t.TempDir()
	write(t, top+"/folder", "a file by now", 0o644)
	src, err := unix.Open(top, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(src)
	c := &copier{ctx: t.Context(), src: src}
	if _, err := c.folder("folder"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.res.Left); got != "[{folder replaced while it was copied}]" {
		t.Errorf("left %s", got)
	}
	for _, err := range []error{unix.EIO, unix.EMFILE, unix.ENFILE, unix.ENOMEM} {
		if c.leave("folder/a", err) == nil {
			t.Errorf("%v left a file out", err)
		}
	}
}
