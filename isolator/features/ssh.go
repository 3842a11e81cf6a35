package features

import (
	"os"

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
	if system, err := files.Read(files.Real(hostSSH), files.NoLinks, 1<<20); err == nil {
		run.Assets.Parts = append(run.Assets.Parts, systemFile(files.Real(hostSSH), append(text, system...), "ssh goes through the proxy"))
	} else {
		boxFile(run, paths.BoxSSH, text, "ssh goes through the proxy", profile.KV{Key: "GIT_SSH_COMMAND", Value: "ssh -F " + paths.BoxSSH})
	}
	run.Assets.Binds = append(run.Assets.Binds, plan.Bind{Host: self, Box: paths.BoxConnect, Reason: "how ssh gets to the proxy"})
	return nil
}
