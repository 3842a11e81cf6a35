package profile

import "strings"

// LooksSecret reports whether the name of a variable suggests that its value is
// a secret. Such variables pass into a box only when the profile names them
// exactly, and their values are never printed.
func LooksSecret(name string) bool {
	name = strings.ToUpper(name)
	switch name {
	case "PWD", "OLDPWD":
		return false
	case "DATABASE_URL", "REDIS_URL", "KRB5CCNAME":
		return true
	}
	for _, prefix := range []string{"AWS_", "AZURE_", "VAULT_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	for _, suffix := range []string{"_CONNECTION_STRING", "_WEBHOOK_URL", "_DATABASE_URL", "_WEBHOOK"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	if strings.HasPrefix(name, "MONGO") && (strings.HasSuffix(name, "_URI") || strings.HasSuffix(name, "_URL")) {
		return true
	}
	for word := range strings.SplitSeq(name, "_") {
		switch strings.TrimSuffix(word, "S") {
		case "KEY", "APIKEY", "PAS", "PWD", "PAT", "AUTH", "CRED", "CREDENTIAL", "COOKIE", "DSN", "PRIVATE", "PASSPHRASE", "JWT":
			return true // "PASS" without its last S is "PAS"
		}
		for _, end := range []string{"TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "APIKEY", "CREDENTIALS"} {
			if strings.HasSuffix(word, end) {
				return true
			}
		}
	}
	return false
}
