package isolator

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/streams"
)

// A call of a session whose profile says session = "box" joins the box of that session, or has
// one made (boxcall.go). The box belongs to a server, a process of its own (boxserver.go), which
// listens in the session's folder and runs the calls (boxserve.go):
//
//	call                                     server
//	  C(request, stdin, stdout, stderr) ───► the same box? starts the program in it
//	                 ◄────────────────── a   it will run: from here on no call is made twice
//	                 ◄────────────────── n   it is of another box: ends, once its calls have
//	  s(signal), k ────────────────────────► signals it; ends all processes of the call
//	                 ◄────────────────── e(answer) the program has ended
//	  d(outputs) ──────────────────────────► reads on what others still write to them
//
// The outputs are pipes of the call's process. Who leaves early ends the call.
const (
	callWord   = 'C'
	callSignal = 's'
	callKill   = 'k'
	callDone   = 'd'
	callTaken  = 'a'
	callNo     = 'n'
	callEnded  = 'e'
)

// boxRequest is a call as the server is asked for it.
type boxRequest struct {
	Key          string // of the box, see boxKey
	Program      string
	Argv, Env    []string
	Dir, DirElse string
	Cwd, Word    string
	Timeout      time.Duration
	By           runlog.By
}

// boxAnswer is what came of it.
type boxAnswer struct {
	features.Outcome
	Lost         bool     // the box ended, and the call with it
	SetUp, Notes []string // what is to be said of the box, and of this call
}

// sendJSON sends a message with a value, as a file, and further files, which stay the caller's.
func sendJSON(conn *net.UnixConn, word byte, v any, more ...*os.File) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	file, err := streams.Text(string(text))
	if err != nil {
		return err
	}
	defer file.Close()
	return sendFiles(conn, []byte{word}, append([]*os.File{file}, more...)...)
}

// sendFiles sends a message with files, which stay the caller's.
func sendFiles(conn *net.UnixConn, m []byte, files ...*os.File) error {
	var fds []int
	for _, f := range files {
		raw, err := f.SyscallConn() // Fd would make it blocking, for everybody
		if err != nil {
			return err
		}
		if err := raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) }); err != nil {
			return err
		}
	}
	_, _, err := conn.WriteMsgUnix(m, unix.UnixRights(fds...), nil)
	for _, f := range files {
		runtime.KeepAlive(f)
	}
	return err
}

// mostMessage is how long a message is at most; what can be longer is a file.
const mostMessage = 4 << 10

// receive receives a message, which is not empty; the end of the connection is an error.
func receive(conn *net.UnixConn) (m []byte, files []*os.File, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	m = make([]byte, mostMessage)
	n, fds, failed := 0, []int(nil), error(nil)
	err = raw.Read(func(fd uintptr) bool {
		n, _, fds, failed = wire.ReceiveBytes(int(fd), m)
		return failed != unix.EAGAIN
	})
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "passed"))
	}
	switch {
	case err != nil:
	case failed != nil:
		err = failed
	case n == 0:
		err = io.EOF
	}
	return m[:n], files, err
}

// received reads the value of a message from its file.
func received(file *os.File, v any) error {
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
