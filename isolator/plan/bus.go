package plan

import (
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile"
)

// The keys of [sandbox] allow that show a part of the session bus.
const (
	notifyKey  = "notifications"
	secretsKey = "secret-service"
)

// BusRules returns what xdg-dbus-proxy lets through for a profile; nothing when
// the profile asks for no bus.
//
// Calls of one path and not the right to talk to the name: a desktop's shell
// owns many names by one connection, and whoever may talk to one may talk to
// all of them (xdg-dbus-proxy(1), "union of the policies").
func BusRules(rc profile.RunConfig) []string {
	var rules []string
	allow := func(key, name, methods, path string) {
		if slices.Contains(rc.Allow, key) {
			rules = append(rules, "--call="+name+"="+methods+"@"+path, "--broadcast="+name+"="+methods+"@"+path)
		}
	}
	allow(notifyKey, "org.freedesktop.Notifications", "org.freedesktop.Notifications.*", "/org/freedesktop/Notifications")
	allow(secretsKey, "org.freedesktop.secrets", "*", "/org/freedesktop/secrets/*")
	return rules
}

// ShowBus puts the filtered bus, a socket of the host, into the box.
func (s *Staged) ShowBus(host string) {
	s.Binds = append(s.Binds, Bind{Host: host, Box: paths.BoxBus, Reason: "the session bus, filtered"})
	s.Env = append(s.Env, profile.KV{Key: "DBUS_SESSION_BUS_ADDRESS", Value: "unix:path=" + paths.BoxBus})
}

// bus makes sure that a profile that asks for a part of the bus has a filtered
// one.
func (b *builder) bus() error {
	if len(BusRules(b.rc)) == 0 {
		return nil
	}
	if !slices.ContainsFunc(b.s.Binds, func(s Bind) bool { return s.Box == paths.BoxBus }) {
		return fault.Refuse(125, "inner doctor", "profile %q: the session bus is not filtered", b.rc.Name)
	}
	return nil
}
