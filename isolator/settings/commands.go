package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
)

// Commands is [commands] in force at a place: that of the project's config.toml when it is
// allowed, on top of the user's. Either can say that no other command is run.
func (s *Settings) Commands(pl Place) (config.Commands, error) {
	var all config.Commands
	own, users, err := s.InForce(pl)
	if err != nil {
		return all, err
	}
	for _, c := range []*config.Commands{own.Commands, users.Commands} {
		if c == nil {
			continue
		}
		for _, kv := range c.Profiles {
			if c.For(strings.Fields(kv.Key)) != "" && all.For(strings.Fields(kv.Key)) == "" {
				all.Profiles = append(all.Profiles, kv)
			}
		}
		all.Only = all.Only || c.Only
	}
	return all, nil
}

// Commanded returns the profile that a table has for a command, "" for the one that it
// would have without: of its arguments, or, where line is not "", of that command line. A
// shell that is only given a command line is taken for that.
func Commanded(c config.Commands, argv []string, line string) (string, error) {
	if len(c.Profiles) == 0 && !c.Only {
		return "", nil
	}
	if line == "" && len(argv) == 3 && argv[1] == "-c" && shell(argv[0]) {
		line = argv[2]
	}
	words := argv
	if line != "" {
		words, _ = config.Simple(line)
	}
	name := c.For(words)
	if name == "" && c.Only {
		what := line
		if what == "" {
			what = strings.Join(argv, " ")
		}
		return "", &fault.Refusal{Code: 126, Kind: fault.KindNotTrusted, Msg: fmt.Sprintf("[commands] of config.toml has no entry for %q, and says that no other command is run (only = true)", what), Hint: "inner config edit"}
	}
	return name, nil
}

// Gives reports whether whoever has a role takes a profile of [commands]: only where it grants nothing,
// but for [sandbox] keep, that the profile of the role does not. Otherwise that one is taken, or, where
// no other command is to run, an error.
func Gives(c config.Commands, role string, own, other profile.RunConfig) (bool, error) {
	if role == "" {
		return true, nil
	}
	if other.WorkdirMode == profile.Keep {
		other.WorkdirMode = profile.RO // what is kept lies in what it reads
	}
	other.Mounts = slices.DeleteFunc(slices.Clone(other.Mounts),
		func(m profile.Mount) bool { return m.Key == "sandbox.keep" })
	other.Keep = nil
	more := profile.Narrower(other, own)
	if len(more) > 0 && c.Only {
		return false, &fault.Refusal{
			Code: 126, Kind: fault.KindNotTrusted, Hint: "inner doctor --roles",
			Msg: fmt.Sprintf("[commands] of config.toml has the profile %q for this, which grants more than the role %q has: %s", other.Name, role, more[0].Text),
		}
	}
	return len(more) == 0, nil
}

// shell reports whether a program is a shell, and no other of that name: where boxes can
// write, any program may be called so.
func shell(program string) bool {
	dir, name := filepath.Split(program)
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish"}, name) &&
		slices.Contains([]string{"", "/bin/", "/usr/bin/", "/usr/local/bin/"}, dir)
}
