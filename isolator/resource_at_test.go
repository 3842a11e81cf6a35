package isolator

import "testing"

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
		if got := ResourceAt(path, []string{"/home/u", "/second"}, 1000); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
