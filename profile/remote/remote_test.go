package remote

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, ok := range []string{
		"https://example.com/p.toml", "https://example.com:8443/a/b?c=d#e", "https://[2001:db8::1]/p.toml",
		"http://127.0.0.1:8080/p.toml", "http://[::1]/p.toml", "HTTPS://EXAMPLE.COM/p.toml",
	} {
		if err := Check(ok); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for url, want := range map[string]string{
		"http://example.com/p.toml":                          "is not https",
		"http://localhost/p.toml":                            "is not https",
		"http://127.0.0.1.example.com/p.toml":                "is not https",
		"http://0.0.0.0/p.toml":                              "is not https",
		"file:///etc/passwd":                                 "names no host",
		"file://host/etc/passwd":                             "is not https",
		"ftp://example.com/":                                 "is not https",
		"https:///p.toml":                                    "names no host",
		"://x":                                               "is not a URL",
		"https://user:hunter2@example.com/":                  "with credentials",
		"https://user@example.com/":                          "with credentials",
		"https://example.com/a b":                            "a space or a control character",
		"https://example.com/\x1b[2J":                        "a space or a control character",
		"https://example.com/" + strings.Repeat("x", maxURL): "is longer than",
		"https://exa%zzmple.com/":                            "is not a URL",
	} {
		err := Check(url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is shown: %v", err)
		}
	}
}

func TestName(t *testing.T) {
	for url, want := range map[string]string{
		"https://example.com/a/shell-containers.toml":   "shell-containers",
		"https://example.com/a/p.toml?raw=1#x":          "p",
		"https://example.com/a/p":                       "p",
		"https://example.com/a/p/":                      "p",
		"https://example.com/":                          "",
		"https://example.com":                           "",
		"https://example.com/..%2f..%2fetc%2fpass.toml": "pass",
		"https://example.com/..":                        "",
		"https://example.com/-rf.toml":                  "",
		"https://example.com/a%0ab.toml":                "",
		"https://example.com/a%5cb.toml":                "",
		"https://example.com/.toml":                     "",
	} {
		got, err := Name(url)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", url, got, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "https://example.com") {
			t.Errorf("%v names no URL", err)
		}
	}
}

func TestParseDigest(t *testing.T) {
	hex := strings.Repeat("Ab", 32)
	for _, ok := range []string{hex, "sha256:" + hex, strings.ToLower(hex)} {
		if got, err := ParseDigest(ok); err != nil || got != strings.ToLower(hex) {
			t.Errorf("%q: %q, %v", ok, got, err)
		}
	}
	for _, bad := range []string{"", "sha256:", hex[1:], hex + "0", "sha512:" + hex, strings.Repeat("zz", 32)} {
		if _, err := ParseDigest(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
