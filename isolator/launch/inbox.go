package launch

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// inbox is how everybody else reaches the loop: what is put into it is done there.
type inbox struct {
	event int // eventfd(2): there is something to do
	mu    sync.Mutex
	todo  []func()
	shut  bool
}

func (i *inbox) open() (err error) {
	i.event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return os.NewSyscallError("eventfd", err)
}

// do has something done, and reports whether it will be: not once the inbox is closed.
func (i *inbox) do(f func()) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.shut {
		return false
	}
	i.todo = append(i.todo, f)
	_, _ = unix.Write(i.event, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // in host order; both supported ones are little-endian
	return true
}

// doAll does it.
func (i *inbox) doAll() {
	var count [8]byte
	_, _ = unix.Read(i.event, count[:])
	i.mu.Lock()
	todo := i.todo
	i.todo = nil
	i.mu.Unlock()
	for _, f := range todo {
		f()
	}
}

func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	closeFds(&i.event)
	i.shut = true
}
