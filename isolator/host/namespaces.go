package host

import (
	"os"
	"path/filepath"
	"strings"
)

// Namespaces is what decides on this host whether a plain user can make a user
// namespace. Values are as the kernel writes them, "" where it has no such file.
type Namespaces struct {
	Clone     string `json:"unprivileged_userns_clone,omitempty"`             // Debian's switch
	Max       string `json:"max_user_namespaces,omitempty"`                   // user_namespaces(7)
	AppArmor  string `json:"apparmor_restrict_unprivileged_userns,omitempty"` // Ubuntu 23.10 and later
	Profile   bool   `json:"apparmor_bwrap_profile,omitempty"`                // AppArmor has a profile for bwrap
	Container string `json:"container,omitempty"`                             // the file that gives one away
}

// ProbeNamespaces looks below root, which is "/" but in tests.
func ProbeNamespaces(root string) Namespaces {
	sysctl := func(name string) string {
		data, _ := os.ReadFile(filepath.Join(root, "proc/sys", name))
		return strings.TrimSpace(string(data))
	}
	n := Namespaces{
		Clone: sysctl("kernel/unprivileged_userns_clone"), Max: sysctl("user/max_user_namespaces"),
		AppArmor: sysctl("kernel/apparmor_restrict_unprivileged_userns"),
	}
	// What is loaded only root can list; what is there is loaded at start.
	for _, name := range []string{"bwrap", "bwrap-userns-restrict", "usr.bin.bwrap"} {
		if _, err := os.Stat(filepath.Join(root, "etc/apparmor.d", name)); err == nil {
			n.Profile = true
		}
	}
	for _, name := range []string{".dockerenv", "run/.containerenv"} {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			n.Container = "/" + name
		}
	}
	return n
}

// Cause says why bwrap can make no user namespace here, and one thing to type;
// nothing when nothing is known. said is what bwrap said.
func (n Namespaces) Cause(bwrap, said string) (why, fix string) {
	switch {
	case n.Clone == "0":
		return "user namespaces are switched off for plain users (kernel.unprivileged_userns_clone)", "sudo sysctl -w kernel.unprivileged_userns_clone=1"
	case n.Max == "0":
		return "the number of user namespaces is limited to 0 (user.max_user_namespaces)", "sudo sysctl -w user.max_user_namespaces=15000"
	case n.AppArmor == "1" && n.Profile:
		return "AppArmor restricts user namespaces, and its profile of bwrap is not in force", "sudo systemctl reload apparmor"
	case n.AppArmor == "1":
		return "AppArmor restricts user namespaces (Ubuntu 23.10 and later), and has no profile that lets bwrap make them",
			`printf '%s\n' 'abi <abi/4.0>,' 'include <tunables/global>' 'profile bwrap ` + bwrap + ` flags=(unconfined) { userns, }' | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`
	case n.Container != "" && strings.Contains(said, "namespace"):
		return "this is the inside of a container (" + n.Container + "), which forbids user namespaces",
			"start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined"
	}
	return "", ""
}
