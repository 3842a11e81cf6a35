// Package logins starts the program that puts logins into the requests of a box which cannot read them,
// inner-proxy, and hands it connections. What that program does is in package proxy.
//
// The two speak over one socket pair of packets, which nobody else has: each packet is
// JSON, and one that hands over a connection carries its descriptor. To the program it
// carries the values of variables, which its environment does not have; no value comes
// back.
package logins

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile/renewal"
)

// FD is the program's end of the socket pair.
const FD = 3

// Credential is a login as the program is told of it: where its value is, and where that may stand.
type Credential struct {
	Name string
	// From are the places where the value may be, the first that has one counts: {"env",
	// NAME}, {"file", PATH, KEY}, or {"cmd", PATH, ARG…}, of which the first line counts;
	// or {"agent", PATH, PATH, PATH…}, a socket that is made of keys of an agent, the
	// socket of that, and files of known_hosts.
	From  [][]string
	Hosts []string // host, for its port 443, or host:port
	// In are the places in which the placeholder counts, where it is all there is:
	// "authorization" behind any scheme, "basic:USER" as the password of that user, or of
	// any, "header:NAME", "query:NAME".
	In     []string
	Allow  []string // requests, "GET /path/*"; none means all
	Deny   []string // requests by which the service makes another secret
	Filter bool     // the value is taken out of bodies of answers, too
	Seed   string   // a secret that the placeholder is made of, and the value: the same in each run; "" for one of this run
	OAuth  *OAuth   // of a login that its agent renews, which is in a file of the agent's; nil for one of From
}

// OAuth is such a login. No box has a say in what this holds.
type OAuth struct {
	renewal.Store
	Path   string // of the file, through no link
	Folder string // the agent's, which is locked by another one beside it
	Later  bool   // it is renewed when the box asks for that, and not at the start: the agent logs in otherwise
	Inside string // how the token ends that the box has: of another login than this, its service says which is good
}

// Order is a packet to the program: credentials, at first and when a box that runs gets
// more, or a connection.
type Order struct {
	Job  *Job  `json:",omitempty"`
	Conn *Conn `json:",omitempty"`
}

// Job are credentials, and the values of the variables that they are from.
type Job struct {
	Credentials []Credential
	Values      map[string]string
}

// Nobody says that there is no login to use, and NotAllowed that a request is none that the profile allows with one.
const (
	Nobody     = "nobody is logged in"
	NotAllowed = "the profile's allow does not name it"
)

// Ready is the answer to a Job.
type Ready struct {
	Authority    string            // the certificate of the run's own, PEM
	Placeholders map[string]string // of each credential
	Missing      map[string]string // why a credential has no value
	Known        string            // the keys of hosts for ssh, as in known_hosts
	Ended        map[string]string // why one that its agent renews could not be renewed, and has ended
	Stores       map[string][]byte // what a box has of the file of such a login, with placeholders
}

// Conn goes with a connection of the box, whose bytes are those of TLS.
type Conn struct {
	Host  string
	Port  uint16
	Addrs []netip.Addr // of the host, all of which the policy allows
}

// Event is what the program tells.
type Event struct {
	Ready      *Ready `json:",omitempty"`
	Credential string `json:",omitempty"` // that was used, or is refused
	Host       string `json:",omitempty"`
	Path       string `json:",omitempty"` // of the first request that used it, without its query
	Refused    string `json:",omitempty"` // why

	At time.Time `json:"-"`
}

// Proxy is the running program.
type Proxy struct {
	cmd   *exec.Cmd
	ready chan Ready
	tell  func(Event)
	over  sync.WaitGroup

	socket *os.File

	close sync.Once
	mu    sync.Mutex
	ended bool
}

// Start starts the program, which has nobody's terminal, and dies with the calling thread's
// process. Tell is called of each Event but the first, from one goroutine.
func Start(cmd *exec.Cmd, job Job, tell func(Event)) (*Proxy, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p := &Proxy{cmd: cmd, ready: make(chan Ready, 1), tell: tell, socket: os.NewFile(uintptr(pair[0]), "inner-proxy")}
	theirs := os.NewFile(uintptr(pair[1]), "")
	defer theirs.Close()
	cmd.ExtraFiles, cmd.Dir = []*os.File{theirs}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		p.socket.Close()
		return nil, err
	}
	if err := p.Add(job); err != nil {
		p.Close()
		return nil, err
	}
	p.over.Go(p.read)
	return p, nil
}

// Add hands credentials to the program. One at a time: Wait returns what it answers.
func (p *Proxy) Add(job Job) error { return p.send(Order{Job: &job}, nil) }

// Wait returns what the program answers to a Job.
func (p *Proxy) Wait(within time.Duration) (Ready, error) {
	select {
	case r, ok := <-p.ready:
		if ok {
			return r, nil
		}
		return r, errors.New("it ended")
	case <-time.After(within):
		return Ready{}, errors.New("it does not answer")
	}
}

func (p *Proxy) read() {
	defer close(p.ready)
	for {
		var e Event
		if files, err := Receive(p.socket, &e); err != nil {
			p.mu.Lock()
			ended := p.ended
			p.mu.Unlock()
			if !ended {
				p.tell(Event{Host: "inner-proxy", Refused: "it has ended, and what goes to the hosts of [credentials] fails"})
			}
			return
		} else if len(files) > 0 {
			for _, f := range files {
				f.Close()
			}
		}
		if e.Ready != nil {
			select {
			case p.ready <- *e.Ready:
			default:
			}
		} else {
			p.tell(e)
		}
	}
}

// Dial hands a connection to the program, and returns the end of it for the bytes of the box.
func (p *Proxy) Dial(to Conn) (net.Conn, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), ""), os.NewFile(uintptr(pair[1]), "")
	defer ours.Close()
	defer theirs.Close()
	if err := p.send(Order{Conn: &to}, theirs); err != nil {
		return nil, err
	}
	return net.FileConn(ours)
}

func (p *Proxy) send(v any, file *os.File) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return net.ErrClosed
	}
	return Send(p.socket, v, file)
}

// endTime is how long one waits for the program to end. It brings a renewal to its end that
// it has begun, and takes no longer than a service may.
const endTime = 10 * time.Second

// Close ends the program, and with it all that it knows, once.
func (p *Proxy) Close() { p.close.Do(p.end) }

func (p *Proxy) end() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	_ = unix.Shutdown(int(p.socket.Fd()), unix.SHUT_WR)
	gone := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-time.After(endTime):
	}
	_ = unix.Shutdown(int(p.socket.Fd()), unix.SHUT_RDWR)
	p.over.Wait()
	p.socket.Close()
}

// maxPacket is the longest packet, below what a socket takes by default (net.core.wmem_default).
const maxPacket = 128 << 10

// Send writes one packet, with a descriptor or without.
func Send(socket *os.File, v any, file *os.File) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(data) > maxPacket {
		return fmt.Errorf("%d bytes are too many", len(data))
	}
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	for {
		err = unix.Sendmsg(int(socket.Fd()), data, rights, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Receive reads one packet into v, and returns the descriptors that came with it.
func Receive(socket *os.File, v any) (came []*os.File, err error) {
	data, rights := make([]byte, maxPacket), make([]byte, unix.CmsgSpace(4*4))
	var n, m int
	for {
		n, m, _, _, err = unix.Recvmsg(int(socket.Fd()), data, rights, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil && n == 0 {
		err = net.ErrClosed
	}
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:m])
	for _, message := range messages {
		fds, _ := unix.ParseUnixRights(&message)
		for _, fd := range fds {
			came = append(came, os.NewFile(uintptr(fd), ""))
		}
	}
	if err == nil {
		err = json.Unmarshal(data[:n], v)
	}
	return came, err
}

// Takes reports whether a credential is put into what is said to a host.
func (c Credential) Takes(host string, port uint16) bool {
	return c.In != nil && slices.ContainsFunc(c.Hosts, func(h string) bool { return isAt(h, host, port) })
}

// Renews reports whether a login is renewed at a host.
func (c Credential) Renews(host string, port uint16) bool {
	if c.OAuth == nil {
		return false
	}
	at, _, _ := strings.Cut(c.OAuth.Token, "/")
	return isAt(at, host, port)
}

func isAt(at, host string, port uint16) bool {
	name, p, stated := strings.Cut(at, ":")
	return name == host && (stated && p == fmt.Sprint(port) || !stated && port == 443)
}
