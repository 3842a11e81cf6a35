package features

// Ports of a run: publish makes a port of the box reachable at 127.0.0.1 of this
// computer, host_ports the other way round. Nothing else of either loopback is.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

const (
	maxForwards = 512 // connections of a run's ports at once
	forwardDial = 10 * time.Second
)

// ports are the ports of one run.
type ports struct {
	rc     profile.RunConfig
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{}
	opened []net.Listener // for rc.Publish, in its order

	mu     sync.Mutex
	dial   func(context.Context, uint16) (net.Conn, error) // into the box
	served bool                                            // opened are accepted from
	failed []string                                        // one line for each port
}

// openPorts listens on what the profile publishes. A port that is taken is no
// run: its connections would go to somebody else.
func openPorts(run *Run) (*ports, error) {
	if len(run.Spec.Publish)+len(run.Spec.HostPorts) == 0 {
		return nil, nil
	}
	p := &ports{rc: run.Spec, slots: make(chan struct{}, maxForwards)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for _, port := range run.Spec.Publish {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port.Host))
		if err != nil {
			p.close()
			return nil, p.taken(port, err)
		}
		p.opened = append(p.opened, l)
	}
	return p, nil
}

// taken says why a port cannot be published.
func (p *ports) taken(port profile.Port, err error) error {
	r := &fault.Refusal{
		Code: 125, Hint: fmt.Sprintf(`publish = ["%d:%d"] takes another port of this computer`, port.Host%1000+8000, port.Box),
		Msg: fmt.Sprintf("profile %q publishes port %d (%s:%d), which is unavailable: %v", p.rc.Name, port.Host, filepath.Base(port.File), port.Line, err),
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		r.Msg = fmt.Sprintf("profile %q publishes port %d (%s:%d), which is taken", p.rc.Name, port.Host, filepath.Base(port.File), port.Line)
		if who := listener(port.Host); who != "" {
			r.Msg += " by " + who
		}
	case errors.Is(err, syscall.EACCES):
		r.Msg = fmt.Sprintf("profile %q publishes port %d (%s:%d), and the ports below 1024 of this computer are for root", p.rc.Name, port.Host, filepath.Base(port.File), port.Line)
	}
	return r
}

// listener names the process that listens on a TCP port, as far as it can be
// seen, or "".
func listener(port uint16) string {
	sockets := launch.Listening(port)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fds, _ := os.ReadDir(filepath.Join("/proc", e.Name(), "fd"))
		for _, fd := range fds {
			link, err := os.Readlink(filepath.Join("/proc", e.Name(), "fd", fd.Name()))
			if err != nil || !slices.Contains(sockets, link) {
				continue
			}
			comm, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "comm"))
			return fmt.Sprintf("process %d (%s)", pid, strings.TrimSpace(string(comm)))
		}
	}
	return ""
}

// host returns what connects to a port of this computer's loopback.
func (p *ports) host(port uint16) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.ECONNREFUSED) { // a server may listen on the other one alone
			if c, err := d.DialContext(ctx, "tcp6", fmt.Sprintf("[::1]:%d", port)); err == nil {
				return c, nil
			}
			p.fail(fmt.Sprintf("nothing listens on port %d of this computer (sandbox.host_ports)", port))
		}
		return c, err
	}
}

// publish accepts what was opened. A second box of the same run takes over.
func (p *ports) publish(list []plan.Publish, dial func(context.Context, uint16) (net.Conn, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dial = dial
	if p.served {
		return
	}
	p.served = true
	for i, l := range p.opened {
		go p.serve(l, func(ctx context.Context) (net.Conn, error) {
			p.mu.Lock()
			dial := p.dial
			p.mu.Unlock()
			return dial(ctx, list[i].Port)
		})
	}
}

// serve forwards the connections of a listener until it is closed.
func (p *ports) serve(l net.Listener, dial func(context.Context) (net.Conn, error)) {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			select {
			case p.slots <- struct{}{}:
				go func() {
					p.forward(c, dial)
					<-p.slots
				}()
			default:
				refuseConn(c)
			}
		case p.ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		default:
			// accept(2): out of descriptors, or a connection that is gone already.
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// forward joins a connection to what dial connects to.
func (p *ports) forward(c net.Conn, dial func(context.Context) (net.Conn, error)) {
	defer c.Close()
	ctx, cancel := context.WithTimeout(p.ctx, forwardDial)
	to, err := dial(ctx)
	cancel()
	if err != nil {
		refuseConn(c)
		return
	}
	defer to.Close()
	both := func() {
		c.Close()
		to.Close()
	}
	defer context.AfterFunc(p.ctx, both)()
	done := make(chan struct{})
	oneWay := func(dst, src net.Conn) {
		if _, err := io.Copy(dst, src); err != nil {
			both()
		} else if half, ok := dst.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	go func() {
		oneWay(to, c)
		close(done)
	}()
	oneWay(c, to)
	<-done
}

// refuseConn ends a connection so that its other end sees an error, not an end.
func refuseConn(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	c.Close()
}

func (p *ports) fail(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.failed, line) {
		p.failed = append(p.failed, line)
	}
}

// failures are what could not be forwarded, one line for each port.
func (p *ports) failures() []string {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.failed)
}

func (p *ports) close() {
	if p == nil {
		return
	}
	p.cancel()
	for _, l := range p.opened {
		l.Close()
	}
}

// PortLines tells what listens for the box, and for what reason; a pasted command
// has nothing of it.
func PortLines(p plan.Plan) []string {
	var out []string
	for _, l := range p.Listen {
		out = append(out, fmt.Sprintf("127.0.0.1:%d in the box: %s", l.Port, l.Reason))
	}
	for _, p := range p.Publish {
		out = append(out, fmt.Sprintf("127.0.0.1:%d of this computer: port %d of the box, %s", p.HostPort, p.Port, p.Reason))
	}
	return out
}
