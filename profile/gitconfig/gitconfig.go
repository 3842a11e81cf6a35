// Package gitconfig makes the git configuration of a box from the user's own: the
// settings that git itself reports, without those that a box must not have, and with
// those that the profile overrides. It also says of any setting what git would run for it
// (UseOf, Places, Harmless).
//
// It promises that no stripped section comes back through an include, because git
// resolves includes and none is written; that sub-sections, repeated keys and keys without a
// value arrive as they are; and that git reads back exactly what was written, or there is no
// configuration at all.
//
//	list, err := gitconfig.Read("/usr/bin/git", place)
//	r, err := gitconfig.Clean(list, gitconfig.Policy{Strip: []string{"url"}})
//	text, err := r.Text()       // for the file at path
//	vars := r.Environment(path) // for git in the box
//
// Clean does not judge the configuration of a repository: that is the repository's, and
// what it makes git run runs in the box. Conditional includes are decided for one
// folder, so a box that works in several repositories has the settings of the one it
// was started in.
package gitconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Entry is one setting, as git reports it.
type Entry struct {
	Key   string // section.name or section.subsection.name; section and name in lower case
	Value string
	Bare  bool   // written without "=", which git takes for true
	File  string // where it is written, "" when git does not name a file
}

// Parts splits the key: the first dot ends the section, the last begins the name.
func (e Entry) Parts() (section, sub, name string) { return parts(e.Key) }

func parts(key string) (section, sub, name string) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return key, "", ""
	}
	if first < last {
		sub = key[first+1 : last]
	}
	return key[:first], sub, key[last+1:]
}

// Last returns the last setting of a key, which is the one that counts when git uses one value.
func Last(list []Entry, key string) (e Entry, set bool) {
	for _, e := range slices.Backward(list) {
		if e.Key == key {
			return e, true
		}
	}
	return e, false
}

// Canonical returns a key as git reports it, with section and name in lower case. The rules are
// those of git_config_parse_key in config.c. The error completes a sentence about the key; it
// is also one for includes, which are never written.
func Canonical(key string) (string, error) {
	section, sub, name := parts(key)
	switch {
	case section == "" || name == "":
		return "", errors.New("is not a git key")
	case strings.Trim(section, letters+digits+"-") != "":
		return "", fmt.Errorf("%q is not the name of a section", section)
	case strings.Trim(name, letters+digits+"-") != "" || strings.Trim(name[:1], letters) != "":
		return "", fmt.Errorf("%q is not the name of a setting", name)
	case strings.ContainsAny(sub, "\n\x00"):
		return "", errors.New("a sub-section has no line end in it")
	}
	if head := strings.ToLower(section); head == "include" || head == "includeif" {
		return "", errors.New("includes are resolved before, and never written")
	}
	return folded(key), nil
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// Setting is one override.
type Setting struct{ Key, Value string }

// Policy says what a box may have of the user's configuration.
type Policy struct {
	// Strip names sections, each with all its sub-sections. "section.x" names one sub-section,
	// or one setting of the section itself; "section.sub.name" names one setting.
	Strip []string
	// Overrides replace every value of their key.
	Overrides []Setting

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

// Clean applies a policy to the settings of list, which are in the order git reads them. An
// override whose key or value git cannot have is an error.
func Clean(list []Entry, p Policy) (Result, error) {
	var r Result
	overridden, err := p.overridden()
	if err != nil {
		return r, err
	}
	for _, e := range list {
		section, _, _ := e.Parts()
		switch {
		case section == "include" || section == "includeif" || overridden[e.Key]:
		case stripped(e.Key, p.Strip) || neutral(e, p):
			r.Dropped = append(r.Dropped, e)
		default:
			r.File = append(r.File, e)
		}
	}
	for _, e := range enforced(list, p) {
		if !overridden[e.Key] || e.Key == "credential.helper" {
			r.File, r.Command = append(r.File, e), append(r.Command, e)
		}
	}
	for _, o := range p.Overrides {
		key, _ := Canonical(o.Key)
		e := Entry{Key: key, Value: o.Value}
		r.File = append(r.File, e)
		if !repeats(key, p) {
			r.Command = append(r.Command, e)
		}
	}
	return r, nil
}

// overridden returns the keys that the profile overrides.
func (p Policy) overridden() (map[string]bool, error) {
	out := map[string]bool{}
	for _, o := range p.Overrides {
		key, err := Canonical(o.Key)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", o.Key, err)
		}
		if strings.ContainsRune(o.Value, 0) {
			return nil, fmt.Errorf("%q: the value has a NUL byte", o.Key)
		}
		out[key] = true
	}
	return out, nil
}

// stripped reports whether Policy.Strip names the section, the sub-section or the setting of a key.
func stripped(key string, strip []string) bool {
	section, sub, name := parts(key)
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
	switch section {
	case "credential":
		return !p.Credentials
	case "trace2": // files and sockets of the host
		return true
	case "protocol":
		return sub == "ext"
	}
	switch section + "." + name { // whatever stands between them
	case "core.askpass", "core.hookspath", "core.fsmonitor", "core.fsmonitorhookversion":
		return true
	case "core.gitproxy":
		return p.Proxy
	case "http.proxy", "http.proxyauthmethod", "remote.proxy", "remote.proxyauthmethod":
		if p.Proxy {
			return true
		}
	}
	return !p.Credentials && (Secret(name) || withLogin(sub) || valueLogin(name, e.Value))
}

// Secret reports whether a setting holds a password or a token, by its name: the last part of its
// key, in lower case. An extraheader is one, because tokens are also sent as headers.
func Secret(name string) bool {
	if name == "extraheader" {
		return true
	}
	for _, end := range []string{"token", "password", "passwd", "pass", "secret", "apikey"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// valueLogin reports whether the value of a setting, whose name is as for Secret, is an address
// with a login in it. A proxy needs no scheme: user:password@host (git-config(1), http.proxy).
func valueLogin(name, value string) bool {
	return withLogin(value) || name == "proxy" && withLogin("http://"+value)
}

// withLogin reports whether an address has a login in it: https://token@host/.
func withLogin(s string) bool {
	for {
		_, rest, ok := strings.Cut(s, "://")
		if !ok {
			return false
		}
		scheme := s[:len(s)-len(rest)-len("://")]
		host := rest
		if i := strings.IndexAny(host, "/?#"); i >= 0 {
			host = host[:i]
		}
		login, _, has := strings.Cut(host, "@")
		// ssh://git@host has a name and no secret. For http a name alone may be a token.
		if has && (strings.Contains(login, ":") || !strings.HasSuffix(scheme, "ssh")) {
			return true
		}
		s = rest
	}
}

// enforced returns the settings that every box has, whatever a repository says. An empty
// helper empties the list of helpers (gitcredentials(7)).
func enforced(list []Entry, p Policy) []Entry {
	out := []Entry{
		{Key: "core.askpass"}, {Key: "core.fsmonitor", Value: "false"}, {Key: "protocol.ext.allow", Value: "never"},
	}
	if !p.Credentials {
		out = append(out, Entry{Key: "credential.helper"})
	}
	if !signs(list, p) {
		out = append(out, unsigned()...)
	}
	return out
}

// unsigned returns the settings with which git signs nothing unless a command asks for it.
func unsigned() (out []Entry) {
	for _, key := range []string{"commit.gpgsign", "tag.gpgsign", "tag.forcesignannotated", "push.gpgsign"} {
		out = append(out, Entry{Key: key, Value: "false"})
	}
	return out
}

// Unsigned returns the settings that switch signing off, when those of list ask for every commit
// or tag to be signed and the box does not have the keys. Otherwise it returns nil.
func Unsigned(list []Entry, p Policy) []Entry {
	asked := slices.ContainsFunc([]string{"commit.gpgsign", "tag.gpgsign", "tag.forcesignannotated"}, func(key string) bool {
		e, _ := Last(list, key)
		return True(e)
	})
	if asked && !signs(list, p) {
		return unsigned()
	}
	return nil
}

// signs reports whether the box has the keys that commits are signed with.
func signs(list []Entry, p Policy) bool {
	e, _ := Last(list, "gpg.format")
	format := e.Value
	for _, o := range p.Overrides {
		if key, err := Canonical(o.Key); err == nil && key == "gpg.format" {
			format = o.Value
		}
	}
	if format == "ssh" {
		return p.SSH
	}
	return p.GPG
}

// repeats reports whether every value of a setting counts, so that an override in both File and
// Command would count twice. Helpers can be in both: the empty one of enforced begins their list
// anew.
func repeats(key string, p Policy) bool {
	section, _, name := parts(key)
	switch section {
	case "credential":
		return p.Credentials
	case "url", "remote", "sendemail", "format":
		return true
	}
	return name == "extraheader" || name == "pushoption"
}

// Shown returns the configuration as it may be printed: with "<hidden>" in the place of logins.
func (r Result) Shown() Result {
	hide := func(list []Entry) []Entry {
		out := slices.Clone(list)
		for i, e := range out {
			section, sub, name := e.Parts()
			snippet := section == "credential" && strings.HasPrefix(e.Value, "!") // may hold the password itself
			if e.Value != "" && (Secret(name) || valueLogin(name, e.Value) || snippet) {
				out[i].Value = "<hidden>"
			}
			if withLogin(sub) {
				out[i].Key = section + ".<hidden>." + name
			}
		}
		return out
	}
	return Result{File: hide(r.File), Command: hide(r.Command), Dropped: hide(r.Dropped)}
}

// Environment returns the variables that make git in the box use the configuration at path and
// nothing else of the host.
func (r Result) Environment(path string) []Setting {
	out := []Setting{
		{"GIT_CONFIG_GLOBAL", path},
		{"GIT_CONFIG_NOSYSTEM", "1"},
		{"GIT_CONFIG_SYSTEM", "/dev/null"}, // for git config --system, which ignores NOSYSTEM
		{"GIT_CONFIG_COUNT", fmt.Sprint(len(r.Command))},
	}
	for i, e := range r.Command {
		out = append(out, Setting{fmt.Sprintf("GIT_CONFIG_KEY_%d", i), e.Key}, Setting{fmt.Sprintf("GIT_CONFIG_VALUE_%d", i), e.Value})
	}
	return out
}
