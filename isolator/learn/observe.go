// Package learn finds out which files a program uses, so that a profile can be
// written that grants them.
//
// The kernel reports every call of the box that names a file, and waits for an answer
// (seccomp_unotify(2)). An Observer reads the name in the caller's memory, checks
// whether the file is on the host and in the box, and always lets the call continue.
// It decides nothing, so it does not matter that the program could change the name
// meanwhile. Suggest turns what it saw into the few paths that the program needed.
//
// Calls of programs that are not dumpable, whose memory cannot be read, are only
// counted; so are calls of processes with another root folder than the box's
// (containers in it). Links in names are not followed: a path is recorded as the
// program spelled it.
package learn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/seccomp"
)

// maxPaths bounds what a program can make an Observer remember.
const maxPaths = 20_000

// Kind is what there is at a path.
type Kind int

// The kinds.
const (
	None Kind = iota
	File      // or anything that is no folder
	Dir
)

// Access says what the program did with one path.
type Access struct {
	Path  string
	Host  Kind // on the host, before it was first asked for
	Box   Kind // in the box, then
	Read  bool // opened for reading
	Write bool // opened for writing, made, renamed or removed
	Exec  bool // executed
}

// Observer answers the notifications of one run.
type Observer struct {
	stop [2]int // a pipe; its end says that the run is over
	done chan struct{}

	mu     sync.Mutex
	paths  map[string]*Access
	unseen int // calls that could not be looked at
	root   int // the box's root folder, -1 until one process of it was seen
	dev    uint64
	ino    uint64
}

// Supported returns why this kernel cannot tell about calls, or nil.
func Supported() error {
	var sizes [3]uint16
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&sizes)))
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	release := unix.ByteSliceToString(u.Release[:])
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("the kernel's release %q is not understood", release)
	}
	// SECCOMP_USER_NOTIF_FLAG_CONTINUE came with Linux 5.5.
	if errno != 0 || major < 5 || major == 5 && minor < 5 {
		return fmt.Errorf("it needs a kernel that tells about system calls (seccomp user notification, Linux 5.5), and this is %s",
			release)
	}
	if !seccomp.Known(runtime.GOARCH) {
		return fmt.Errorf("system calls of %s are not known", runtime.GOARCH)
	}
	return nil
}

// New returns an Observer that waits for a listener.
func New() *Observer {
	return &Observer{stop: [2]int{-1, -1}, root: -1, paths: map[string]*Access{}}
}

// Listen takes the listener of a run, and answers from now on, until Close or
// until no process of the run is left.
func (o *Observer) Listen(listener *os.File) {
	if o.done != nil || unix.Pipe2(o.stop[:], unix.O_CLOEXEC) != nil {
		_ = listener.Close() // the calls fail with ENOSYS: nothing is let through unseen
		return
	}
	o.done = make(chan struct{})
	go func() {
		defer close(o.done)
		defer listener.Close()
		o.serve(int(listener.Fd()))
	}()
}

// End ends the answers. It is for when the run is over: a process that is left
// would fail at its next call.
func (o *Observer) End() {
	if o.done != nil && o.stop[1] >= 0 {
		unix.Close(o.stop[1])
		<-o.done
		unix.Close(o.stop[0])
		o.stop = [2]int{-1, -1}
	}
}

// Close stops answering and closes what belongs to the box.
func (o *Observer) Close() {
	o.End()
	if o.root >= 0 {
		unix.Close(o.root)
		o.root = -1
	}
}

// Accesses returns what was asked for, by path, and how many calls could not be
// looked at.
func (o *Observer) Accesses() (list []Access, unseen int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range o.paths {
		list = append(list, *a)
	}
	slices.SortFunc(list, func(a, b Access) int { return strings.Compare(a.Path, b.Path) })
	return list, o.unseen
}

// notification and answer are struct seccomp_notif and seccomp_notif_resp of
// linux/seccomp.h. A later kernel that has longer ones takes these, too.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// Requests of the listener, from linux/seccomp.h: SECCOMP_IOCTL_NOTIF_RECV and
// _SEND, the same on all machines of package seccomp.
const (
	notifRecv = 0xc0502100
	notifSend = 0xc0182101
	goOn      = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE
)

func (o *Observer) serve(fd int) {
	for {
		switch ready, over := o.poll(fd); {
		case over:
			return
		case !ready:
			continue
		}
		var n notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), notifRecv, uintptr(unsafe.Pointer(&n))); errno != 0 {
			if errno == unix.EINTR || errno == unix.ENOENT { // it was killed meanwhile
				continue
			}
			return
		}
		o.look(&n)
		a := answer{id: n.id, flags: goOn}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), notifSend, uintptr(unsafe.Pointer(&a)))
	}
}

// poll waits for a call. ready says that there is one, over that there will be none.
func (o *Observer) poll(fd int) (ready, over bool) {
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(o.stop[0]), Events: unix.POLLIN}}
	if _, err := unix.Poll(set, -1); err != nil && err != unix.EINTR {
		return false, true
	}
	ready = set[0].Revents&unix.POLLIN != 0
	// POLLHUP: nobody is left (Linux 5.8).
	gone := set[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
	return ready, set[1].Revents != 0 || gone && !ready
}

// look notes what a call is about.
func (o *Observer) look(n *notification) {
	c, ok := seccomp.Notified(runtime.GOARCH, n.arch, n.nr)
	if !ok {
		return
	}
	pid := int(n.pid)
	if !o.inBox(pid) {
		if o.root >= 0 { // else it is the supervisor, about to start the program
			o.miss()
		}
		return
	}
	kind, write := c.Kind, c.Kind == seccomp.Write
	if kind == seccomp.Open {
		flags, ok := openFlags(n, c)
		if !ok {
			o.miss()
			return
		}
		write = flags&unix.O_ACCMODE != unix.O_RDONLY || flags&(unix.O_CREAT|unix.O_TRUNC) != 0
		if flags&unix.O_PATH != 0 {
			kind, write = seccomp.Look, false
		}
	}
	o.path(pid, n, c.Dir, c.Path, func(a *Access) {
		switch {
		case write && (a.Box != Dir || c.Kind == seccomp.Open): // a folder that is there is not made
			a.Write = a.Write || a.Box != None || kind == seccomp.Open || !removes(c.Name)
		case kind == seccomp.Open:
			a.Read = true
		case kind == seccomp.Exec:
			a.Exec = true
		}
	})
	if c.Path2 >= 0 {
		o.path(pid, n, c.Dir2, c.Path2, func(a *Access) { a.Write = true })
	}
}

// openFlags returns the flags of a call that opens a file: an argument, or the first member of
// struct open_how (openat2(2)).
func openFlags(n *notification, c seccomp.Call) (flags uint64, ok bool) {
	if c.How < 0 {
		return n.args[c.Flags], true
	}
	var how [8]byte
	ok = readMemory(int(n.pid), n.args[c.How], how[:]) == len(how)
	return *(*uint64)(unsafe.Pointer(&how)), ok
}

// removes reports whether a call does nothing when its file is not there.
func removes(name string) bool {
	switch name {
	case "unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2", "truncate":
		return true
	}
	return false
}

func (o *Observer) miss() {
	o.mu.Lock()
	o.unseen++
	o.mu.Unlock()
}

// inBox reports whether a process sees the box's root folder as its own.
func (o *Observer) inBox(pid int) bool {
	root := fmt.Sprintf("/proc/%d/root", pid)
	var st unix.Stat_t
	if unix.Stat(root, &st) != nil {
		return false
	}
	if o.root < 0 {
		fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return false
		}
		o.root, o.dev, o.ino = fd, uint64(st.Dev), st.Ino
	}
	return uint64(st.Dev) == o.dev && st.Ino == o.ino
}

// path notes one path of a call.
func (o *Observer) path(pid int, n *notification, dirArg, pathArg int, note func(*Access)) {
	text, ok := readString(pid, n.args[pathArg])
	if !ok {
		o.miss()
		return
	}
	if text == "" {
		return // about a descriptor
	}
	if text[0] != '/' {
		dir, ok := folder(pid, n, dirArg)
		if !ok {
			o.miss()
			return
		}
		text = dir + "/" + text
	}
	text = path.Clean(text)
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.paths[text]
	if a == nil {
		if len(o.paths) >= maxPaths {
			o.unseen++
			return
		}
		a = &Access{Path: text, Host: kindOf(os.Stat(text)), Box: o.inside(text)}
		o.paths[text] = a
	}
	note(a)
}

// folder returns what the path of a call is relative to: the folder of a descriptor, or the working
// folder.
func folder(pid int, n *notification, dirArg int) (dir string, ok bool) {
	from := fmt.Sprintf("/proc/%d/cwd", pid)
	if dirArg >= 0 && int32(n.args[dirArg]) != unix.AT_FDCWD {
		from = fmt.Sprintf("/proc/%d/fd/%d", pid, int32(n.args[dirArg]))
	}
	dir, err := os.Readlink(from)
	return dir, err == nil && strings.HasPrefix(dir, "/")
}

func kindOf(fi fs.FileInfo, err error) Kind {
	switch {
	case err != nil:
		return None
	case fi.IsDir():
		return Dir
	}
	return File
}

// inside returns what there is at a path of the box.
func (o *Observer) inside(p string) Kind {
	fd, err := o.open(p, unix.O_PATH)
	if err != nil {
		return None
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return Dir
	}
	return File
}

// open opens a path of the box, whose links lead nowhere else.
func (o *Observer) open(p string, flags uint64) (int, error) {
	rest := strings.TrimPrefix(p, "/")
	if rest == "" {
		rest = "."
	}
	return unix.Openat2(o.root, rest, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
}

// Open opens a regular file of the box for reading. It works between End and
// Close.
func (o *Observer) Open(p string) (*os.File, error) {
	if o.root < 0 {
		return nil, fs.ErrNotExist
	}
	fd, err := o.open(p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), p)
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid, f.Close())
	}
	return f, nil
}

// readString reads the memory of a process up to the end of a string.
func readString(pid int, at uint64) (string, bool) {
	var buf [unix.PathMax]byte
	n := readMemory(pid, at, buf[:])
	if i := slices.Index(buf[:n], 0); i >= 0 {
		return string(buf[:i]), true
	}
	return "", false
}

// readMemory reads as much as there is, in two pieces: what is beyond the end of
// a page may not be there, and a piece is read whole or not at all
// (process_vm_readv(2)).
func readMemory(pid int, at uint64, buf []byte) int {
	page := uint64(os.Getpagesize())
	first := min(uint64(len(buf)), page-at%page)
	remote := []unix.RemoteIovec{{Base: uintptr(at), Len: int(first)}}
	if rest := uint64(len(buf)) - first; rest > 0 {
		remote = append(remote, unix.RemoteIovec{Base: uintptr(at + first), Len: int(rest)})
	}
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	n, err := unix.ProcessVMReadv(pid, local, remote, 0)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
