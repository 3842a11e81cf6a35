package profile

import (
	"slices"
	"strings"
)

// LooksSecret reports whether the name of a variable suggests that its value is
// a secret. Such variables pass into a box only when the profile names them
// exactly, and their values are never printed. It errs on the side of secrets:
// what is taken for one by mistake has only to be named.
func LooksSecret(name string) bool {
	name = strings.ToUpper(name)
	begins := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	switch name {
	case "PWD", "OLDPWD", "SESSION_MANAGER", "DESKTOP_SESSION", "GNOME_SHELL_SESSION_MODE":
		return false
	case "DATABASE_URL", "REDIS_URL", "KRB5CCNAME":
		return true
	}
	switch {
	case begins("XDG_SESSION_", "KDE_SESSION_", "DBUS_SESSION_BUS_", "GIT_CONFIG_KEY_"):
		return false
	case begins("AWS_", "AZURE_", "VAULT_"):
		return true
	case begins("MONGO") && (strings.HasSuffix(name, "_URI") || strings.HasSuffix(name, "_URL")):
		return true
	}
	for _, part := range []string{"CONNECTION_STRING", "CONN_STR", "WEBHOOK", "DATABASE_URL", "SERVICE_ACCOUNT"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-.", r) }), secretWord)
}

// secretWord judges one word of a name, a number at its end aside.
func secretWord(word string) bool {
	word = strings.TrimSuffix(strings.TrimRight(word, "0123456789"), "S") // "PASS" becomes "PAS"
	switch word {
	case "PAS", "PWD", "PAT", "CRED", "DSN", "PIN", "OTP", "TOTP", "JWT", "BEARER", "SESSID", "NETRC", "PEM":
		return true
	case "MONKEY", "TURKEY", "DONKEY", "HOTKEY", "JOCKEY":
		return false
	}
	return slices.ContainsFunc([]string{
		"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE",
		"CREDENTIAL", "KEY", "AUTH", "AUTHORIZATION", "SESSION",
		"SESSIONID", "PRIVATE", "COOKIE", "SIGNATURE",
	}, func(end string) bool { return strings.HasSuffix(word, end) })
}

// HasLogin reports whether a value looks like an address with a login in it,
// such as https://me:secret@proxy.example.com.
func HasLogin(value string) bool {
	_, rest, ok := strings.Cut(value, "://")
	return ok && strings.Contains(rest, "@")
}
