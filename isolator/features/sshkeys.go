package features

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
)

// sshSocket is where the socket that the box has is outside, in the folder of the run.
const sshSocket = "ssh-agent"

// knownHosts are the files that say which keys hosts have. A box that had a say in one would log in where it likes.
func knownHosts(run *Run) (list []string, err error) {
	home := filepath.Join(run.Home, ".ssh/known_hosts")
	for _, file := range []string{home, home + "2", "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"} {
		if real, errOf := run.unplanted(file); errOf == nil {
			list = append(list, real)
		} else if !errors.Is(errOf, fs.ErrNotExist) {
			err = errOf
		}
	}
	return list, err
}

// giveSSH gives the box the socket, and ssh in it the keys of the hosts, by a file that the settings for all
// users name.
func giveSSH(run *Run, socket, known string) {
	const reason = "keys of your agent, for the hosts of [credentials] ssh"
	run.Assets.Parts = append(run.Assets.Parts,
		plan.Part{Op: plan.Op{Kind: plan.OpReadOnly, Source: run.Folder.At(sshSocket), Dest: socket, Reason: reason}})
	at := boxFile(run, paths.BoxKnownHosts, []byte(known), reason)
	settings := files.Real("/etc/ssh/ssh_config")
	if text, err := files.Read(settings, files.NoLinks, 1<<20); err == nil {
		text = fmt.Appendf(text, "\nMatch all\n\tGlobalKnownHostsFile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2 %s\n", at)
		run.Assets.Parts = append(run.Assets.Parts, systemFile(settings, text, reason))
	}
}
