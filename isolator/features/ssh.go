package features

import (
	"os"
	"path/filepath"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

const hostSSH = "/etc/ssh/ssh_config"

// sshByProxy puts inner into the box for ssh, and says so in the settings of the
// system, which ssh reads after the user's own: the first value counts
// (ssh_config(5)).
func sshByProxy(run *Run) error {
	self := run.Self()
	if fi, err := os.Stat(self); err != nil || !fi.Mode().IsRegular() {
		return nil // it was replaced while it ran: ssh has no way out then
	}
	text := []byte("# There is no network but the proxy of the box.\nHost *\n    ProxyCommand " + paths.BoxConnect + " %h %p\n\n")
	bind := func(host, box, reason string) {
		run.Assets.Binds = append(run.Assets.Binds, plan.Bind{Host: host, Box: box, Reason: reason})
	}
	at := paths.BoxSSH
	if system, err := files.Read(files.Real(hostSSH), files.NoLinks, 1<<20); err == nil {
		at, text = hostSSH, append(text, system...)
	} else {
		run.Assets.Env = append(run.Assets.Env, profile.KV{Key: "GIT_SSH_COMMAND", Value: "ssh -F " + paths.BoxSSH})
	}
	file, err := run.Folder.File(filepath.Base(paths.BoxSSH), text, 0o444)
	if err != nil {
		return err
	}
	bind(self, paths.BoxConnect, "how ssh gets to the proxy")
	bind(file, at, "ssh goes through the proxy")
	return nil
}
