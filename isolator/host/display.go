package host

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/files"
)

// Display is the display server of the user's session, whose socket is the way
// to the clipboard.
type Display struct {
	Kind   string `json:"kind"`   // "wayland" or "x11"
	Socket string `json:"socket"` // links resolved
	Name   string `json:"name"`   // DISPLAY of an X11 one, its screen left out
	// Cookie is the content of the X authority file; nil when there is none.
	Cookie []byte `json:"-"`
}

// maxCookie bounds the X authority file; real ones hold a few hundred bytes.
const maxCookie = 64 << 10

// FindDisplay returns the Wayland server of the environment, else its X11
// server on this machine; nil when there is neither. The folder of Wayland
// sockets is $XDG_RUNTIME_DIR, of X11's /tmp/.X11-unix (X(7), wayland(7)).
func FindDisplay(env map[string]string) *Display {
	if name := env["WAYLAND_DISPLAY"]; name != "" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(env["XDG_RUNTIME_DIR"], name)
		}
		if real, ok := socketAt(name); ok {
			return &Display{Kind: "wayland", Socket: real}
		}
	}
	host, rest, ok := strings.Cut(env["DISPLAY"], ":")
	number, _, _ := strings.Cut(rest, ".")
	if _, err := strconv.ParseUint(number, 10, 16); !ok || err != nil || host != "" && host != "unix" {
		return nil
	}
	real, ok := socketAt("/tmp/.X11-unix/X" + number)
	if !ok {
		return nil
	}
	return &Display{Kind: "x11", Socket: real, Name: ":" + number, Cookie: cookie(env)}
}

// cookie reads the X authority file; without it the server may still let us in.
func cookie(env map[string]string) []byte {
	data, err := files.Read(cmp.Or(env["XAUTHORITY"], filepath.Join(env["HOME"], ".Xauthority")), files.FollowLinks, maxCookie)
	if err != nil {
		return nil
	}
	return data
}

// socketAt returns the real path of a socket.
func socketAt(path string) (string, bool) {
	real := files.Real(path)
	fi, err := os.Lstat(real)
	return real, filepath.IsAbs(path) && err == nil && kindOf(fi.Mode()) == Socket
}
