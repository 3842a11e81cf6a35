package native

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync/atomic"

	"github.com/enr/inner/isolator/netproxy"
)

// Egress is inner's own proxy in a container beside the box, through which the boxes of one or
// several pods reach the network.
type Egress struct {
	Policy  *netproxy.Policy
	Profile string
	Listen  string // address:port
	// Canary is an address:port beside the proxy that no box may reach, "" for none. While the
	// proxy answers, the canary listens too: both are in this process, and end together.
	Canary string
	Say    func(format string, args ...any) // is called for each refusal
	Report io.Writer                        // gets the report at the end: what became of each host, as one line of JSON
}

// maxSaid is how many refusals are passed to Say; the report contains all hosts.
const maxSaid = 100

// Serve serves until the context ends, and then writes the report.
func (e Egress) Serve(ctx context.Context) error {
	var said atomic.Int32
	proxy := netproxy.New(netproxy.Options{Policy: e.Policy, Profile: e.Profile, Refused: func(r netproxy.Refusal) {
		if said.Add(1) <= maxSaid {
			e.Say("refused: %s", r.Reason)
		}
	}})
	failed := make(chan error, 2)
	if e.Canary != "" {
		canary, err := net.Listen("tcp", e.Canary)
		if err != nil {
			return err
		}
		defer canary.Close()
		go func() { failed <- answer(canary) }()
	}
	l, err := net.Listen("tcp", e.Listen)
	if err != nil {
		return err
	}
	go func() { failed <- proxy.Serve(l) }()
	e.Say("the way out of profile %q is %s", e.Profile, l.Addr())
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	proxy.Close()
	words := struct {
		Profile string          `json:"profile"`
		Hosts   []netproxy.Host `json:"hosts"`
	}{e.Profile, proxy.Report()}
	return errors.Join(err, json.NewEncoder(e.Report).Encode(words))
}

// answer accepts what comes, and hangs up.
func answer(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		_ = c.Close()
	}
}

// Forward passes on what connects to l, a place on the loopback of the box, to the way out.
func Forward(l net.Listener, to string) error {
	for {
		in, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer in.Close()
			out, err := net.DialTimeout("tcp", to, once)
			if err != nil {
				return
			}
			defer out.Close()
			go func() {
				_, _ = io.Copy(out, in)
				_ = out.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(in, out)
		}()
	}
}
