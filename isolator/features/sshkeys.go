package features

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/logins"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitignore"
)

// askSSH looks for the user's agent, which the box does not see, and for the keys of its hosts, in which no box had
// a say: it would log in where it likes.
func askSSH(run *Run, k profile.Credential) (*logins.SSH, error) {
	rc := &run.Spec
	rc.Env.Never = append(slices.Clip(rc.Env.Never), k.Env)
	at := run.Getenv(k.Env)
	if at == "" {
		return nil, fmt.Errorf("the variable %s is not set", k.Env)
	}
	rc.Hide = append(slices.Clip(rc.Hide), gitignore.Escape(at))
	agent, err := run.unplanted(at)
	if err != nil {
		return nil, err
	}
	keys := &logins.SSH{Agent: agent, Hosts: k.Hosts}
	home := filepath.Join(run.Home, ".ssh/known_hosts")
	for _, file := range []string{home, home + "2", "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"} {
		real, err := run.unplanted(file)
		switch {
		case err == nil:
			keys.Known = append(keys.Known, real)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return keys, nil
}

// sshSocket is where the box's own socket is outside, in the folder of the run.
const sshSocket = "ssh-agent"

// listenSSH makes the socket that the box has for that of an agent, for inner-proxy to take connections of.
func listenSSH(run *Run) (*os.File, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: run.Folder.At(sshSocket)})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	return l.File()
}

// giveSSH gives the box the socket, and ssh in it the keys of the hosts, by a file that the settings for all users name.
func giveSSH(run *Run, known string) {
	run.Assets.Parts = append(run.Assets.Parts, plan.Part{
		Op:  plan.Op{Kind: plan.OpReadOnly, Source: run.Folder.At(sshSocket), Dest: paths.BoxSSHAgent, Reason: "keys of your agent, for the hosts of [credentials] ssh"},
		Env: []profile.KV{{Key: "SSH_AUTH_SOCK", Value: paths.BoxSSHAgent}},
	})
	const reason = "the hosts of [credentials] ssh"
	at := boxFile(run, paths.BoxKnownHosts, []byte(known), reason)
	settings := files.Real("/etc/ssh/ssh_config")
	if text, err := files.Read(settings, files.NoLinks, 1<<20); err == nil {
		text = fmt.Appendf(text, "\nMatch all\n\tGlobalKnownHostsFile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2 %s\n", at)
		run.Assets.Parts = append(run.Assets.Parts, systemFile(settings, text, reason))
	}
}
