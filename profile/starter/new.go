package starter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/profile/builtin"
)

// template is a new profile; NAME stands for its name.
const template = `# What a program may see and do. The manual has every key; inner profile validate
# checks them, and inner profile show --explain says what they amount to.
schema_version = "1"
name           = NAME
description    = ""
# extends      = "shell"        # begin with another profile

[sandbox]
network = false
# allow  = ["ssh-keys"]         # what is hidden otherwise
# home   = "isolated"           # only what is listed of the home folder
# home_allow = ["~/.local/bin"]

[mounts]
# The working folder is writable without being listed.
# "~/projects/other" = "ro"
# "~/projects/third" = { dest = "/tmp/third", mode = "safe-rw" }

[env]
inherit = ["TERM", "COLORTERM", "LANG", "LC_*", "HOME", "USER", "LOGNAME", "SHELL", "PATH"]
# set   = { CI = "true" }

[entrypoint]
cmd = "bash"
# args = ["-c", "make test"]

# [output]
# timeout_seconds = 1800
`

// New is the text of a new profile: for an agent that inner knows it begins with the built-in
// one, for a program that is installed it runs that.
func New(name string, installed bool) []byte {
	text := strings.Replace(template, "= NAME", fmt.Sprintf("= %q", name), 1)
	base := name + "-interactive"
	if slices.Contains(builtin.Names(), base) {
		return fmt.Appendf(nil, `# What is here goes before what the built-in profile says: inner profile show --resolved %s
# shows both. The manual has every key; inner profile validate checks them.
schema_version = "1"
name           = %q
description    = ""
extends        = %q

# [sandbox]
# network_allow = ["example.com"]   # beside the agent's own hosts

# [mounts]
# "~/projects/other" = "ro"
`, name, name, base)
	}
	if installed {
		text = strings.Replace(text, `cmd = "bash"`, fmt.Sprintf("cmd = %q", name), 1)
		text = strings.Replace(text, `# args = ["-c", "make test"]`, `# args = ["--help"]`, 1)
	}
	return []byte(text)
}
