package host

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
)

// Bus is what a filtered view of the session bus is made from.
type Bus struct {
	Proxy   string `json:"proxy"`   // xdg-dbus-proxy, absolute
	Address string `json:"address"` // of the session bus
	Why     string `json:"why,omitempty"`
	Fix     string `json:"fix,omitempty"`
}

// FindBus looks for the session bus of the environment and for the program that
// filters it. Why says what is missing.
func FindBus(env map[string]string) Bus {
	var b Bus
	var why string
	if b.Proxy, why = FindHelper("xdg-dbus-proxy", env["PATH"]); b.Proxy == "" {
		b.Why, b.Fix = why, "sudo apt-get install xdg-dbus-proxy"
		return b
	}
	if b.Address, why = busAddress(env); b.Address == "" {
		b.Why, b.Fix = why, "start it from a session that has one, or type: dbus-run-session inner run"
	}
	return b
}

// busAddress returns the first address that somebody answers at. Only sockets
// count: other transports of the D-Bus specification run programs
// (unixexec, autolaunch) or leave the machine (tcp).
func busAddress(env map[string]string) (address, why string) {
	list := env["DBUS_SESSION_BUS_ADDRESS"]
	if list == "" {
		dir := env["XDG_RUNTIME_DIR"]
		if dir == "" || !filepath.IsAbs(dir) {
			return "", "there is no session bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set"
		}
		list = "unix:path=" + escapeAddress(filepath.Join(dir, "bus"))
	}
	for entry := range strings.SplitSeq(list, ";") {
		rest, ok := strings.CutPrefix(entry, "unix:")
		if !ok {
			continue
		}
		for pair := range strings.SplitSeq(rest, ",") {
			if answers(pair) {
				return "unix:" + pair, ""
			}
		}
	}
	return "", fmt.Sprintf("no session bus answers at %q", list)
}

// answers reports whether somebody answers at the socket of a pair, path=FILE or abstract=NAME.
func answers(pair string) bool {
	key, value, _ := strings.Cut(pair, "=")
	name, err := url.PathUnescape(value)
	switch {
	case err != nil || name == "" || strings.ContainsRune(name, 0):
		return false
	case key == "abstract":
		name = "@" + name
	case key != "path" || !filepath.IsAbs(name):
		return false
	}
	c, err := net.Dial("unix", name)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// The escaping of D-Bus addresses: what is not one of these is %XX.
const busPlain = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz/.\\*"

func escapeAddress(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(busPlain, s[i]) >= 0 {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02x", s[i])
		}
	}
	return b.String()
}
