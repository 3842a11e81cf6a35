package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInstall(t *testing.T) {
	for _, c := range []struct{ manager, program, want string }{
		{"usr/bin/apt-get", "bubblewrap", "sudo apt-get install bubblewrap"},
		{"usr/bin/apt-get", "podman", "sudo apt-get install podman uidmap"},
		{"usr/bin/dnf", "bubblewrap", "sudo dnf install bubblewrap"},
		{"usr/bin/dnf", "docker", "sudo dnf install moby-engine"},
		{"usr/bin/pacman", "podman", "sudo pacman -S podman"},
		{"sbin/apk", "bubblewrap", "sudo apk add bubblewrap"},
		{"", "docker", "sudo apt-get install docker.io"},
	} {
		root := t.TempDir()
		if c.manager != "" {
			p := filepath.Join(root, c.manager)
			if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if got := Install(root, c.program); got != c.want {
			t.Errorf("%s: %s, want %s", c.manager, got, c.want)
		}
	}
}
