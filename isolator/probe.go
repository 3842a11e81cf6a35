package isolator

import (
	"cmp"
	"context"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/container"
	"github.com/enr/inner/isolator/host"
)

// Host describes what makes boxes on this computer.
type Host struct {
	Bwrap    string // the path of bwrap
	Version  string // its version, such as "0.8.0"
	Landlock int    // the ABI version of Landlock; 0 without it
}

// probed is what the result of a probe depends on.
type probed struct {
	path, boot, bwrap string
	ino               uint64
	changed           syscall.Timespec
}

// probes holds the probes that passed in this process.
var probes sync.Map // allowed: of probed to Host

// Probe makes a sandbox and says what made it. A result is kept for this PATH, this boot and this
// bwrap: a second call starts no process. The error is a *Refusal.
func Probe(ctx context.Context) (Host, error) {
	if ctx.Err() != nil {
		return Host{}, cancelledProbe(ctx)
	}
	env := os.Getenv("PATH")
	bwrap, why, fix := host.FindBwrap(env, nil)
	if bwrap == "" {
		return Host{}, refused(&fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: "the sandbox cannot start: " + why, Hint: fix})
	}
	key := probed{path: env, bwrap: bwrap}
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		key.boot = string(boot)
	}
	if fi, err := os.Stat(bwrap); err == nil {
		if st, ok := fi.Sys().(*syscall.Stat_t); ok {
			key.ino, key.changed = st.Ino, st.Ctim
		}
	}
	if h, ok := probes.Load(key); ok {
		return h.(Host), nil
	}
	done := make(chan error, 1)
	h := Host{Bwrap: bwrap, Landlock: host.LandlockABI()}
	go func() { done <- h.try() }()
	select {
	case <-ctx.Done():
		return Host{}, cancelledProbe(ctx)
	case err := <-done:
		if err != nil {
			return Host{}, refused(err)
		}
	}
	probes.Store(key, h)
	return h, nil
}

func cancelledProbe(ctx context.Context) error {
	return refused(&fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: "the probe was cancelled: " + ctx.Err().Error()})
}

// try makes a sandbox with h.Bwrap, and fills in the version.
func (h *Host) try() error {
	out, err := container.Clean(h.Bwrap, "--version")
	words := strings.Fields(out)
	if err != nil || len(words) == 0 {
		return &fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: h.Bwrap + " --version fails", Hint: "sudo apt-get install --reinstall bubblewrap"}
	}
	h.Version = words[len(words)-1]
	said, err := container.TryBwrap(h.Bwrap)
	if err == nil {
		return nil
	}
	why, fix := host.ProbeNamespaces("/").Cause(h.Bwrap, said)
	return &fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: "the sandbox cannot start: " + cmp.Or(why, said), Hint: cmp.Or(fix, "inner doctor")}
}
