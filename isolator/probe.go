package isolator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/container"
	"github.com/enr/inner/isolator/host"
)

// Host describes what makes boxes on this computer.
type Host struct {
	Bwrap    string // the path of bwrap
	Version  string // its version, such as "0.8.0"
	Landlock int    // the ABI version of Landlock; 0 without it
}

// probes holds the probes that passed in this process, by PATH and the program that it leads to.
var probes sync.Map // allowed: of string to Host

// Probe makes a sandbox and says what made it. A result is kept for this PATH and this bwrap: a second call
// starts no process. The error is a *Refusal.
func Probe(ctx context.Context) (Host, error) {
	path := os.Getenv("PATH")
	bwrap, why, fix := host.FindBwrap(path, nil)
	switch {
	case ctx.Err() != nil:
		return Host{}, noProbe("", "the probe was cancelled: %v", ctx.Err())
	case bwrap == "":
		return Host{}, noProbe(fix, "the sandbox cannot start: %s", why)
	}
	key := path + "\x00" + bwrap + "\x00" + files.Identity(unix.AT_FDCWD, bwrap)
	if h, ok := probes.Load(key); ok {
		return h.(Host), nil
	}
	h := Host{Bwrap: bwrap, Landlock: host.LandlockABI()}
	if err := h.try(); err != nil {
		return Host{}, err
	}
	probes.Store(key, h)
	return h, nil
}

func noProbe(hint, format string, args ...any) error {
	return &Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// try makes a sandbox with h.Bwrap, and fills in the version.
func (h *Host) try() error {
	out, err := container.Clean(h.Bwrap, "--version")
	words := strings.Fields(out)
	if err != nil || len(words) == 0 {
		return noProbe("sudo apt-get install --reinstall bubblewrap", "%s --version fails", h.Bwrap)
	}
	h.Version = words[len(words)-1]
	said, err := container.TryBwrap(h.Bwrap)
	if err == nil {
		return nil
	}
	why, fix := host.ProbeNamespaces("/").Cause(h.Bwrap, said)
	return noProbe(cmp.Or(fix, "inner doctor"), "the sandbox cannot start: %s", cmp.Or(why, said))
}
