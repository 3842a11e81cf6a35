package launch

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/plan"
)

// Run by root, bwrap 0.8.0 takes away every capability and leaves the bounding set as
// it was, from which a program could get some back, should no_new_privs ever fail. To
// empty that set takes a capability, CAP_SETPCAP (capabilities(7)): the first process
// keeps it, and gives it away with the rest before the program starts.

// bounding are the words that let it, or none: a plain user's box has an empty set.
func bounding(p plan.Plan) []string {
	if os.Geteuid() != 0 || p.Map != nil || !box.Capable(unix.CAP_SETPCAP) {
		return nil
	}
	return []string{"--cap-add", "CAP_SETPCAP"}
}
