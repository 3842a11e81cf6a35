package gitconfig

import (
	"regexp"
	"strings"
	"sync"
)

// WithoutLogins removes logins from the settings of a repository: those in addresses, which can also be names of
// sections, settings that hold passwords or tokens, and helpers that hand them out.
func WithoutLogins(list []Entry) []Entry {
	var out []Entry
	for _, e := range list {
		section, _, name := e.Parts()
		switch {
		case section == "credential", Secret(name), name == "cookiefile", name == "sslkey", name == "sslcert":
			continue
		case section == "url" && strings.Contains(e.Key, "@") && strings.Contains(e.Key, "://"):
			continue
		}
		if name == "proxy" && !strings.Contains(e.Value, "://") { // git takes one without a scheme, too
			e.Value = strings.TrimPrefix(withoutLogin("http://"+e.Value), "http://")
		} else {
			e.Value = withoutLogin(e.Value)
		}
		e.Key = string(textWithoutLogins([]byte(e.Key))) // Git LFS names sections after the address of the remote
		out = append(out, e)
	}
	return out
}

// withoutLogin removes the login from an address: https://name:token@host/path. The user name of
// an ssh address is not a login.
func withoutLogin(value string) string {
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok {
		return value
	}
	host := rest
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	at := strings.LastIndexByte(host, '@')
	if at < 0 || strings.HasSuffix(scheme, "ssh") && !strings.Contains(host[:at], ":") {
		return value
	}
	login := ""
	if strings.HasSuffix(scheme, "ssh") {
		login, _, _ = strings.Cut(host[:at], ":")
		login += "@"
	}
	return scheme + "://" + login + rest[at+1:]
}

// address matches the part of an address that holds a login.
var address = sync.OnceValue(func() *regexp.Regexp { // allowed: compiled once, when it is first asked for
	return regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://[^\s/?#"'<>]*@`)
})

// textWithoutLogins removes the logins from the addresses in a text.
func textWithoutLogins(text []byte) []byte {
	return address().ReplaceAllFunc(text, func(m []byte) []byte { return []byte(withoutLogin(string(m))) })
}
