package plan

import (
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile"
)

// clipboard shows the socket of the user's display server, and nothing else of
// the session. A Wayland server gives its clients the clipboard when they have
// the focus; an X11 server gives every client every window and every key.
func (b *builder) clipboard() error {
	b.because("sandbox.clipboard")
	if !b.rc.Clipboard {
		return nil
	}
	d := b.f.Display
	if d == nil {
		return fault.Refuse(125, "start it from a graphical session, or remove clipboard = true under [sandbox]",
			"profile %q: sandbox.clipboard: there is no display server: neither WAYLAND_DISPLAY nor DISPLAY leads to a socket", b.rc.Name)
	}
	set := func(key, value string) { b.s.Env = append(b.s.Env, profile.KV{Key: key, Value: value}) }
	if d.Kind == "wayland" {
		b.bind("the clipboard: the socket of your Wayland server", d.Socket, paths.BoxWayland, false)
		set("WAYLAND_DISPLAY", paths.BoxWayland)
		return nil
	}
	b.bind("the clipboard: the socket of your X11 server, which also shows windows and keys", d.Socket, paths.BoxX11+d.Name[1:], false)
	set("DISPLAY", d.Name)
	if d.Cookie != nil {
		b.dataFile("what the X11 server wants to see", d.Cookie, paths.BoxCookie)
		set("XAUTHORITY", paths.BoxCookie)
	}
	return nil
}
