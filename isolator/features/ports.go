package features

// Ports of a run: publish makes a port of the box reachable at 127.0.0.1 of this
// computer, host_ports the other way round. Nothing else of either loopback is.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
)

// ports are the ports of one run.
type ports struct {
	opened []net.Listener // for Spec.Publish, in its order

	mu     sync.Mutex
	dial   func(context.Context, uint16) (net.Conn, error) // into the box
	failed []string                                        // one line for each port
}

// openPorts listens on what the profile publishes. Where another program has a port, the box gets a
// free one, and the person is told which.
func openPorts(run *Run) (*ports, error) {
	p := new(ports)
	run.Undo(func() {
		for _, l := range p.opened {
			l.Close()
		}
	})
	run.Spec.Publish = slices.Clone(run.Spec.Publish) // it may be the profile's own
	for i := range run.Spec.Publish {
		port := &run.Spec.Publish[i]
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port.Host))
		if errors.Is(err, syscall.EADDRINUSE) {
			if l, err = net.Listen("tcp4", "127.0.0.1:0"); err == nil {
				free := l.Addr().(*net.TCPAddr).Port
				run.Say("port %d of this computer is taken: port %d of the box is at 127.0.0.1:%d", port.Host, port.Box, free)
				port.Host = uint16(free)
			}
		}
		if err != nil {
			return p, fault.Refuse(125, fmt.Sprintf(`publish = ["%d:%d"] takes another port of this computer`, port.Host%1000+8000, port.Box),
				"profile %q publishes port %d (%s:%d), which is unavailable: %v", run.Spec.Name, port.Host, filepath.Base(port.File), port.Line, err)
		}
		p.opened = append(p.opened, l)
	}
	return p, nil
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

// publish has a proxy accept what was opened. A second box of the same run takes over.
func (p *ports) publish(by *netproxy.Proxy, list []plan.Publish, dial func(context.Context, uint16) (net.Conn, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	served := p.dial != nil
	p.dial = dial
	for i, l := range p.opened {
		if served {
			break
		}
		go func() { // it ends with the listener
			_ = by.Forward(l, func(ctx context.Context) (net.Conn, error) {
				p.mu.Lock()
				dial := p.dial
				p.mu.Unlock()
				return dial(ctx, list[i].Port)
			})
		}()
	}
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
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.failed)
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
