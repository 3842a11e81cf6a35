package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCause: each way in which a host keeps user namespaces from plain users is
// told by its own name, with one thing to type.
func TestCause(t *testing.T) {
	const sys = "proc/sys/"
	for _, c := range []struct {
		name, why, fix string
		files          map[string]string
	}{
		{"nothing known", "", "", nil},
		{"all is well", "", "", map[string]string{sys + "user/max_user_namespaces": "15000\n", sys + "kernel/unprivileged_userns_clone": "1\n", sys + "kernel/apparmor_restrict_unprivileged_userns": "0\n"}},
		{"switched off", "kernel.unprivileged_userns_clone", "sysctl -w kernel.unprivileged_userns_clone=1", map[string]string{sys + "kernel/unprivileged_userns_clone": "0\n"}},
		{"none", "user.max_user_namespaces", "sysctl -w user.max_user_namespaces=15000", map[string]string{sys + "user/max_user_namespaces": "0\n"}},
		{"Ubuntu 24.04", "AppArmor restricts user namespaces (Ubuntu", "profile bwrap /opt/bwrap flags=(unconfined) { userns, }", map[string]string{sys + "kernel/apparmor_restrict_unprivileged_userns": "1\n"}},
		{"Ubuntu 24.04 with the profile", "its profile of bwrap is not in force", "systemctl reload apparmor", map[string]string{sys + "kernel/apparmor_restrict_unprivileged_userns": "1\n", "etc/apparmor.d/bwrap-userns-restrict": ""}},
		{"Docker", "inside of a container (/.dockerenv)", "--security-opt seccomp=unconfined", map[string]string{".dockerenv": ""}},
		{"podman", "inside of a container (/run/.containerenv)", "--security-opt seccomp=unconfined", map[string]string{"run/.containerenv": ""}},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			p := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		why, fix := ProbeNamespaces(root).Cause("/opt/bwrap", "bwrap: No permissions to create new namespace")
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) || (fix == "") != (c.fix == "") || !strings.Contains(fix, c.fix) {
			t.Errorf("%s: %q, %q", c.name, why, fix)
		}
	}
	if why, _ := (Namespaces{Container: "/.dockerenv"}).Cause("/opt/bwrap", "bwrap: Can't find source path"); why != "" {
		t.Errorf("a container is blamed for something else: %q", why)
	}
}
