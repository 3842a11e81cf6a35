package features

import (
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// clipboard shows the socket of the user's display server, and nothing else of
// the session. A Wayland server gives its clients the clipboard when they have
// the focus; an X11 server gives every client every window and every key.
func clipboard() Feature {
	return Feature{Name: "clipboard", Keys: []string{"sandbox.clipboard"}, Make: displaySocket}
}

func displaySocket(run *Run) error {
	if !run.Spec.Clipboard {
		return nil
	}
	d := run.Facts.Display
	if d == nil {
		return fault.Refuse(125, "start it from a graphical session, or remove clipboard = true under [sandbox]",
			"profile %q: sandbox.clipboard: there is no display server: neither WAYLAND_DISPLAY nor DISPLAY leads to a socket", run.Spec.Name)
	}
	add := func(kind plan.OpKind, source, dest, reason, variable, value string) *plan.Part {
		run.Assets.Parts = append(run.Assets.Parts, plan.Part{
			Env: []profile.KV{{Key: variable, Value: value}},
			Op:  plan.Op{Kind: kind, Source: source, Dest: dest, Reason: reason, Key: "sandbox.clipboard"},
		})
		return &run.Assets.Parts[len(run.Assets.Parts)-1]
	}
	if d.Kind == "wayland" {
		add(plan.OpReadOnly, d.Socket, paths.BoxWayland,
			"the clipboard: the socket of your Wayland server", "WAYLAND_DISPLAY", paths.BoxWayland)
		return nil
	}
	add(plan.OpReadOnly, d.Socket, paths.BoxX11+d.Name[1:],
		"the clipboard: the socket of your X11 server, which also shows windows and keys", "DISPLAY", d.Name)
	if d.Cookie != nil {
		cookie := add(plan.OpData, "", paths.BoxCookie, "what the X11 server wants to see", "XAUTHORITY", paths.BoxCookie)
		cookie.Data, cookie.Op.Perms = d.Cookie, 0o444
	}
	return nil
}
