package git

import (
	"regexp"
	"strings"
	"sync"

	"github.com/enr/inner/profile/gitconfig"
)

// WithoutLogins takes logins out of the settings of a repository: those of
// addresses, headers with tokens, and helpers that hand them out.
func WithoutLogins(list []gitconfig.Entry) []gitconfig.Entry {
	var out []gitconfig.Entry
	for _, e := range list {
		section, rest, _ := strings.Cut(e.Key, ".")
		name := rest[strings.LastIndexByte(rest, '.')+1:]
		switch {
		case section == "credential", name == "extraheader", name == "cookiefile", name == "sslkey", name == "sslcert":
			continue
		case section == "url" && strings.Contains(e.Key, "@") && strings.Contains(e.Key, "://"):
			continue
		}
		e.Value = withoutLogin(e.Value)
		out = append(out, e)
	}
	return out
}

// withoutLogin takes the login out of an address: https://name:token@host/path. The
// name that ssh is given is none.
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

// address is the part of an address that a login is in.
var address = sync.OnceValue(func() *regexp.Regexp { // allowed: compiled once, when it is first asked for
	return regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://[^\s/?#"'<>]*@`)
})

// textWithoutLogins takes the logins out of the addresses in a text: git writes them as they
// were typed into the logs of refs (`git pull ADDRESS`), older ones into FETCH_HEAD.
func textWithoutLogins(text []byte) []byte {
	return address().ReplaceAllFunc(text, func(m []byte) []byte { return []byte(withoutLogin(string(m))) })
}

// configText writes settings as a file. Includes come last; the box follows them where it
// sees the files.
func configText(about string, list []gitconfig.Entry) []byte {
	text := string(gitconfig.File(about, list))
	for _, e := range list {
		section, rest, _ := strings.Cut(e.Key, ".")
		if strings.ContainsAny(e.Key+e.Value, "\n\"\\\x00") || e.Bare {
			continue
		}
		switch condition, found := strings.CutSuffix(rest, ".path"); {
		case e.Key == "include.path":
			text += "[include]\n\tpath = \"" + e.Value + "\"\n"
		case section == "includeif" && found:
			text += "[includeIf \"" + condition + "\"]\n\tpath = \"" + e.Value + "\"\n"
		}
	}
	return []byte(text)
}
