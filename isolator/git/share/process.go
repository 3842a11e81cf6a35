package share

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/server"
)

// maxMemory bounds the server: a box can have it remember, and hold, as much as it likes. It ends there, and
// with it git in the box.
const maxMemory = 4 << 30

// Run is the life of a process that server.Is: it returns its exit code when the launcher is gone, or with what
// it could not do.
func Run() int {
	unix.CloseOnExec(server.SocketFD)
	unix.CloseOnExec(server.WordsFD)
	usual := debug.SetGCPercent(400) // its start makes some MB, of which little stays
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxMemory, Max: maxMemory})
	told := teller{}
	if err := serveAll(&told); err != nil {
		told.send(server.Message{Failed: err.Error()})
		return 1
	}
	debug.SetGCPercent(usual)
	buf := make([]byte, 1)
	for {
		if n, err := server.Recv(server.SocketFD, buf, nil); n <= 0 || err != nil {
			return 0
		}
	}
}

// serveAll opens the repositories, waits for the namespaces of the box, and mounts them there.
func serveAll(told *teller) error {
	var repos []server.Repository
	words := os.NewFile(server.WordsFD, "words")
	defer words.Close() // not before: what mounts has the same
	if err := json.NewDecoder(words).Decode(&repos); err != nil {
		return err
	}
	var servers []*Server
	for _, r := range repos {
		s, err := open(r, told)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Dir, err)
		}
		servers = append(servers, s)
	}
	mounting, err := Prepare(server.WordsFD, servers...)
	if err != nil {
		return err
	}
	if err := confine(repos); err != nil { // what mounts is not
		return err
	}
	runtime.GOMAXPROCS(8) // as many as wait in system calls at the same time, mostly: none waits for one of the others
	oob := make([]byte, unix.CmsgSpace(2*4))
	if n, err := server.Recv(server.SocketFD, make([]byte, 1), oob); n <= 0 || err != nil {
		return errors.Join(errors.New("no box"), err)
	}
	var fds []int
	list, err := unix.ParseSocketControlMessage(oob)
	if err == nil && len(list) > 0 {
		fds, err = unix.ParseUnixRights(&list[0])
	}
	if err != nil || len(fds) != 2 {
		return errors.Join(errors.New("no box"), err)
	}
	if err := mounting.Enter(fds[1], fds[0]); err != nil {
		return err
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	told.ready() // now the launcher gives the word, or ends and with that what mounts
	if err := mounting.Serve(); err != nil {
		return err
	}
	told.ready()
	return nil
}

// open opens a repository and its gate.
func open(r server.Repository, told *teller) (*Server, error) {
	g, err := gate.Open(r.Repository, func(format string, args ...any) { told.send(server.Say(format, args...)) })
	if err != nil {
		return nil, err
	}
	return Open(r, g, told.send)
}

// teller tells the launcher.
type teller struct{ mu sync.Mutex }

// maxLine is the longest line that is told: a box chooses some of its words.
const maxLine = 2000

func (t *teller) send(m server.Message) {
	m.Line = m.Line[:min(len(m.Line), maxLine)]
	if text, err := json.Marshal(m); err == nil {
		t.write(text)
	}
}

// ready is an empty message: to encode it would take longer than all else that is done for it.
func (t *teller) ready() { t.write([]byte("{}")) }

func (t *teller) write(text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = unix.Sendmsg(server.SocketFD, text, nil, nil, unix.MSG_NOSIGNAL)
}
