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
	"syscall"

	"github.com/enr/inner/internal/fault"
)

// openPorts listens on what the profile publishes. Where another program has a port, the box gets a
// free one, and the person is told which.
func (n *networkOf) openPorts() error {
	run := n.run
	run.Undo(func() {
		for _, l := range n.opened {
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
				run.Say("port %d of this computer is taken: port %d of the box is at 127.0.0.1:%d",
					port.Host, port.Box, free)
				port.Host = uint16(free)
			}
		}
		if err != nil {
			return fault.Refuse(125, fmt.Sprintf(`publish = ["%d:%d"] takes another port of this computer`, port.Host%1000+8000, port.Box),
				"profile %q publishes port %d (%s:%d), which is unavailable: %v", run.Spec.Name, port.Host, filepath.Base(port.File), port.Line, err)
		}
		n.opened = append(n.opened, l)
	}
	return nil
}

// toHost returns what connects to a port of this computer's loopback.
func (n *networkOf) toHost(port uint16) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.ECONNREFUSED) { // a server may listen on the other one alone
			if c, err := d.DialContext(ctx, "tcp6", fmt.Sprintf("[::1]:%d", port)); err == nil {
				return c, nil
			}
			n.mu.Lock()
			if !slices.Contains(n.silent, port) {
				n.silent = append(n.silent, port)
			}
			n.mu.Unlock()
		}
		return c, err
	}
}

// publish has the proxy accept what was opened. A second box of the same run takes over.
func (n *networkOf) publish(dial func(context.Context, uint16) (net.Conn, error)) {
	if n.dial.Swap(&dial) != nil {
		return // they are accepted
	}
	for i, l := range n.opened {
		port := n.run.Spec.Publish[i].Box
		go func() { // it ends with the listener
			_ = n.proxy.Forward(l, func(ctx context.Context) (net.Conn, error) { return (*n.dial.Load())(ctx, port) })
		}()
	}
}
