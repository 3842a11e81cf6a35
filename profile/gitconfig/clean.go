package gitconfig

import (
	"slices"
	"strings"
)

// Policy says what a box may have of the user's configuration.
type Policy struct {
	// Strip names sections, each with all its sub-sections. "section.x" names one sub-section,
	// or one setting of the section itself; "section.sub.name" names one setting.
	Strip []string
	// Overrides replace every value of their key.
	Overrides []Entry

	Credentials bool // stored logins are allowed
	GPG         bool // the keys of GnuPG are
	SSH         bool // the keys of SSH, or its agent, are
	// Proxy says that variables of the box name a proxy of its own. A proxy in the settings
	// would be preferred to that, and the box could not reach it.
	Proxy bool
}

// Result is the configuration of a box.
type Result struct {
	File    []Entry // in the order git reads them
	Command []Entry // those that override a repository's own configuration
	Dropped []Entry // what the user has and the box does not
}

// Clean applies a policy to the settings of list, which are in the order git reads them.
func Clean(list []Entry, p Policy) (r Result) {
	overridden := map[string]bool{}
	for _, o := range p.Overrides {
		overridden[o.Key] = true
	}
	for _, e := range list {
		switch {
		case Includes(e.Key) || overridden[e.Key]:
		case stripped(e, p.Strip) || neutral(e, p):
			r.Dropped = append(r.Dropped, e)
		default:
			r.File = append(r.File, e)
		}
	}
	// What every box has, whatever a repository says. An empty helper empties the list of helpers (gitcredentials(7)).
	r.Command = []Entry{{Key: "core.askpass"}, {Key: "core.fsmonitor", Value: "false"}, {Key: "protocol.ext.allow", Value: "never"}}
	if !p.Credentials {
		r.Command = append(r.Command, Entry{Key: "credential.helper"})
	}
	for _, o := range p.Overrides {
		r.File = append(r.File, o)
		if !repeats(o, p) {
			r.Command = append(r.Command, o)
		}
	}
	return r
}

// stripped reports whether strip names the section, the sub-section or the setting of a key.
func stripped(e Entry, strip []string) bool {
	section, sub, name := e.Parts()
	return slices.ContainsFunc(strip, func(s string) bool {
		head, rest, dotted := strings.Cut(s, ".")
		switch {
		case !strings.EqualFold(head, section):
			return false
		case !dotted:
			return true
		case sub == "":
			return strings.EqualFold(rest, name)
		}
		return rest == sub || strings.EqualFold(rest, sub+"."+name)
	})
}

// neutral reports whether a setting leads out of the box, hands it a login, or only
// makes git complain there.
//
// Source: git-config(1), gitcredentials(7).
func neutral(e Entry, p Policy) bool {
	section, sub, name := e.Parts()
	switch section + "." + name { // whatever stands between them
	case "core.askpass", "core.hookspath", "core.fsmonitor", "core.fsmonitorhookversion":
		return true
	case "core.gitproxy", "http.proxy", "http.proxyauthmethod", "remote.proxy", "remote.proxyauthmethod":
		if p.Proxy {
			return true
		}
	}
	// trace2 is files and sockets of the host.
	return section == "trace2" || section == "protocol" && sub == "ext" || !p.Credentials && login(e)
}

// Unsigned returns the settings that switch signing off, when those of list ask for every commit
// or tag to be signed and the box does not have the keys. Otherwise it returns nil.
func Unsigned(list []Entry, p Policy) (out []Entry) {
	list = slices.Concat(list, p.Overrides)
	format, _ := Last(list, "gpg.format")
	asked := slices.ContainsFunc([]string{"commit.gpgsign", "tag.gpgsign", "tag.forcesignannotated"}, func(key string) bool {
		e, _ := Last(list, key)
		return True(e)
	})
	if !asked || format.Value == "ssh" && p.SSH || format.Value != "ssh" && p.GPG {
		return nil
	}
	for _, key := range []string{"commit.gpgsign", "tag.gpgsign", "tag.forcesignannotated", "push.gpgsign"} {
		out = append(out, Entry{Key: key, Value: "false"})
	}
	return out
}

// repeats reports whether every value of a setting counts, so that an override in both File and
// Command would count twice. Helpers can be in both: the empty one before them begins their list
// anew.
func repeats(e Entry, p Policy) bool {
	section, _, name := e.Parts()
	many := slices.Contains([]string{"url", "remote", "sendemail", "format"}, section) || name == "extraheader" || name == "pushoption"
	return many || section == "credential" && p.Credentials
}
