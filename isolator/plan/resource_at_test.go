package plan

import (
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

func TestResourceAt(t *testing.T) {
	for path, want := range map[string]string{
		"/home/u/.ssh/id_ed25519":  "ssh-keys",
		"/home/u/.ssh":             "ssh-keys",
		"/home/u/.sshx":            "",
		"/home/u/.aws/credentials": "aws-credentials",
		"/home/u/top.pem":          "key-files",
		"/home/u/deep/top.pem":     "",
		"/home/u/.config":          "",
		"/home/u":                  "",
		"/home":                    "",
		"/home/u/src/main.go":      "",
		"/home/other/.ssh":         "other-homes",
		"/second/.ssh/config":      "ssh-keys",
	} {
		if got := ResourceAt(path, profile.RunConfig{}, host.Facts{UID: 1000, Home: "/home/u", OtherHome: "/second"}); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
