package features

import (
	"os"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/profile"
)

// names reports whether a box reaches hosts by their names, also for programs that know no proxy: the network
// of the box has to be that of a user namespace which is ours.
func names(run *Run) bool {
	return run.Spec.Network.ByName() && run.Facts.Engine == nil &&
		run.Mode != Pasted && !host.Privileged(run.Facts.Bwrap)
}

// loopbackNames are the lines of a box's /etc/hosts, and the names in them: those that lead to the loopback,
// which is the box's own there, and no others. The file of this computer will do where it has these alone.
func loopbackNames() (lines string, names []string, same bool) {
	lines = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	text, _ := files.Read(files.Real("/etc/hosts"), files.NoLinks, 1<<20)
	same = true
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		if !slices.Contains([]string{"127.0.0.1", "127.0.1.1", "::1"}, f[0]) {
			same = same && strings.HasPrefix(f[1], "ip6-") // of each Debian: names of no host
			continue
		}
		lines += strings.Join(f, " ") + "\n"
		names = append(names, f[1:]...)
	}
	same = same && slices.Contains(names, "localhost")
	if own, err := os.Hostname(); err == nil && !slices.Contains(names, own) {
		lines, names, same = lines+"127.0.0.1 "+own+"\n", append(names, own), false
	}
	return lines, names, same
}

// nameFiles has the programs of the box ask its resolver, and nobody else, for names: this computer's own lists lead to
// addresses that are none of the box.
func nameFiles(run *Run) {
	if !names(run) {
		return
	}
	at := netproxy.Resolver().Addr().String()
	add := func(path, text, reason string) {
		if run.Spec.Etc != "minimal" {
			if path = files.Real(path); !files.Exists(path) {
				return // there is no place for it, and programs that look there find names by the proxy alone
			}
		}
		if slices.ContainsFunc(run.Spec.Mounts, func(m profile.Mount) bool { return m.Dest == path }) {
			run.Warn("%s is what [mounts] says: programs that ask no proxy may not find the hosts of network_allow",
				path)
		}
		run.Assets.Parts = append(run.Assets.Parts, systemFile(path, []byte(text), reason))
	}
	// Without a search list glibc would append the domain of the host name (resolv.conf(5)). The resolver is at hand and
	// waits for that of this computer: it is given time.
	add("/etc/resolv.conf", "nameserver "+at+"\nsearch .\noptions timeout:6 attempts:2\n",
		"names are asked for at "+at+" of the box")
	if own, _, same := loopbackNames(); !same || run.Spec.Etc == "minimal" { // a mount less
		add("/etc/hosts", own, "every other name is asked for")
	}
	const order = "hosts: files dns"
	text, err := files.Read(files.Real("/etc/nsswitch.conf"), files.NoLinks, 1<<20)
	switch {
	case err != nil && run.Spec.Etc == "minimal":
		add("/etc/nsswitch.conf", order+"\n", "no service of this computer is asked for names")
	case err == nil:
		lines, same := strings.Split(string(text), "\n"), false
		for i, line := range lines {
			if words := strings.Fields(line); len(words) > 0 && words[0] == "hosts:" {
				lines[i], same = order, same || strings.Join(words, " ") == order
			}
		}
		if !same || run.Spec.Etc == "minimal" {
			add("/etc/nsswitch.conf", strings.Join(lines, "\n"), "no service of this computer is asked for names")
		}
	}
}
