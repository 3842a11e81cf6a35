package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the usual files and variables say is found, and no login of theirs.
func TestSettings(t *testing.T) {
	for _, c := range []struct{ group, file, text, env, want string }{
		{"npm", ".npmrc", "registry=https://me:hunter2@npm.example:8443/x/\n//npm.example:8443/x/:_authToken=hunter2\n", "", "npm_config_registry=https://npm.example:8443/x/ [npm.example:8443]"},
		{"npm", ".npmrc", " @corp:registry = \"https://npm.example\"\n; registry=https://no.example\ncafile=/etc/ca.pem", "", "npm_config_@corp:registry=https://npm.example [npm.example] npm_config_cafile=/etc/ca.pem []"},
		{"npm", ".npmrc", "registry=https://file.example", "NPM_CONFIG_REGISTRY=http://env.example:80", "npm_config_registry=http://env.example:80 [env.example]"},
		{"npm", "", "", "npm_config_registry=https://project.example npm_command=run-script", ""},
		{"npm", ".npmrc", "registry=https://${NPM_HOST}/\n", "", ""},
		{"pypi", ".config/pip/pip.conf", "[global]\nindex-url = https://me:hunter2@a.example/simple\nextra-index-url =\n  http://b.example:8080/s\n  https://c.example/s\n[install]\nx = 1\n", "", "PIP_INDEX_URL=https://a.example/simple [a.example] PIP_EXTRA_INDEX_URL=http://b.example:8080/s https://c.example/s [b.example:8080 c.example]"},
		{"pypi", ".pip/pip.conf", "[global]\nindex-url = https://a.example/\n", "PIP_INDEX_URL=https://[2001:db8::1]:8443/", "PIP_INDEX_URL=https://[2001:db8::1]:8443/ [[2001:db8::1]:8443]"},
		{"go", ".config/go/env", "GOPROXY=https://u:hunter2@go.example|https://b.example,direct\nGOPRIVATE=corp.example\n", "", "GOPROXY=https://go.example|https://b.example,direct [go.example b.example] GOPRIVATE=corp.example []"},
		{"crates", ".cargo/config.toml", "[source.crates-io]\nreplace-with = \"x\"\n[source.x]\nregistry = \"sparse+https://crates.example/index/\"\nlocal-registry = \"https://no.example\"\n", "", "=sparse+https://crates.example/index/ [crates.example]"},
		{"maven", ".m2/settings.xml", "<settings><servers><url>https://no.example</url></servers>\n<mirrors><mirror><id>x</id>\n<url> https://maven.example/x </url></mirror></mirrors></settings>", "", "=https://maven.example/x [maven.example]"},
		{"github", "", "", "", ""},
		// What may hide a login is passed over.
		{"npm", ".npmrc", "registry=https://me,hunter2@npm.example/", "", ""},
		{"npm", ".npmrc", "registry=https://me:pw|hunter2@npm.example/", "", ""},
		{"npm", ".npmrc", "registry=ftp://me:hunter2@npm.example/", "", ""},
	} {
		home := t.TempDir()
		if c.file != "" {
			file := filepath.Join(home, c.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		getenv := func(name string) string {
			for _, kv := range strings.Fields(c.env) {
				if value, ok := strings.CutPrefix(kv, name+"="); ok {
					return value
				}
			}
			return ""
		}
		var got []string
		for _, s := range Settings(c.group, home, getenv) {
			if s.From != "/etc/pip.conf" {
				got = append(got, fmt.Sprintf("%s=%s %v", s.Name, s.Value, s.Hosts))
			}
		}
		if text := strings.Join(got, " "); text != c.want || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %q with %q:\n got %s\nwant %s", c.group, c.text, c.env, text, c.want)
		}
	}
}

// Every address of a login in front of a host is taken without it, or not at all.
func FuzzSettings(f *testing.F) {
	for _, login := range []string{"me:X", "X", "a,X", "a|X:b", "a%40X", "a@X", "a/X"} {
		f.Add(login)
	}
	f.Fuzz(func(t *testing.T, login string) {
		s := Setting{}
		if s.read("https://"+login+"SECRET@npm.example/x") && strings.Contains(s.Value, "SECRET") && !strings.ContainsAny(login, "/?#\\") {
			t.Errorf("%q: %q", login, s.Value)
		}
	})
}
