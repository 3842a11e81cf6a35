package host

import (
	"cmp"
	"os"
	"path/filepath"
)

// Install is what to type to install bubblewrap, podman or docker, with the package manager
// that is found below root, which is "/" but in tests. Without a known one it is apt-get's.
func Install(root, program string) string {
	names := map[string]map[string]string{ // where the packages are not called as the program is
		"podman": {"apt-get": "podman uidmap"},
		"docker": {"apt-get": "docker.io", "dnf": "moby-engine"},
	}
	for _, m := range []struct{ name, command string }{
		{"apt-get", "sudo apt-get install "}, {"dnf", "sudo dnf install "}, {"pacman", "sudo pacman -S "}, {"apk", "sudo apk add "}, {"zypper", "sudo zypper install "},
	} {
		for _, dir := range []string{"usr/bin", "sbin"} {
			if _, err := os.Stat(filepath.Join(root, dir, m.name)); err != nil {
				continue
			}
			return m.command + cmp.Or(names[program][m.name], program)
		}
	}
	return "sudo apt-get install " + cmp.Or(names[program]["apt-get"], program)
}
