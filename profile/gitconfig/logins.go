package gitconfig

import (
	"slices"
	"strings"

	"github.com/enr/inner/internal/lazy"
)

// login reports whether a setting holds a password or a token, hands them out, or has an address with one.
func login(e Entry) bool {
	section, sub, name := e.Parts()
	return section == "credential" || secret(name) || withoutLogins(sub) != sub || addressWithoutLogin(name, e.Value) != e.Value
}

// secret reports whether a setting of that name, which is the last part of its key, is a login or a file
// with one. Tokens are also sent as headers.
func secret(name string) bool {
	return slices.Contains([]string{"extraheader", "cookiefile", "sslkey", "sslcert"}, name) ||
		slices.ContainsFunc([]string{"token", "password", "passwd", "pass", "secret", "apikey"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// WithoutLogins removes logins from the settings of a repository: those in addresses, which can also be names of
// sections, settings that hold passwords or tokens, and helpers that hand them out.
func WithoutLogins(list []Entry) (out []Entry) {
	for _, e := range list {
		section, sub, name := e.Parts()
		if section == "credential" || secret(name) || section == "url" && withoutLogins(sub) != sub {
			continue
		}
		e.Key = withoutLogins(e.Key) // Git LFS names sections after the address of the remote
		e.Value = addressWithoutLogin(name, e.Value)
		out = append(out, e)
	}
	return out
}

// Shown returns settings as they may be printed: with "<hidden>" in the place of logins.
func Shown(list []Entry) (out []Entry) {
	for _, e := range list {
		if e.Value != "" && login(e) {
			e.Value = "<hidden>"
		}
		e.Key = withoutLogins(e.Key)
		out = append(out, e)
	}
	return out
}

// addressWithoutLogin is withoutLogins of the value of a setting. A proxy needs no scheme:
// user:password@host (git-config(1), http.proxy).
func addressWithoutLogin(name, value string) string {
	if name == "proxy" && !strings.Contains(value, "://") {
		return strings.TrimPrefix(withoutLogins("http://"+value), "http://")
	}
	return withoutLogins(value)
}

// address matches the part of an address that has a login in it.
var address = lazy.Regexp(`\w*://[^/?#]*@`)

// withoutLogins removes the logins from the addresses in a text: https://name:token@host/path. For https a
// name alone may be a token; the user of an ssh address is none.
func withoutLogins(text string) string {
	return address().ReplaceAllStringFunc(text, func(m string) string {
		scheme, rest, _ := strings.Cut(strings.TrimSuffix(m, "@"), "://")
		user, _, password := strings.Cut(rest, ":")
		switch {
		case !strings.HasSuffix(scheme, "ssh"):
			return scheme + "://"
		case password:
			return scheme + "://" + user + "@"
		}
		return m
	})
}
