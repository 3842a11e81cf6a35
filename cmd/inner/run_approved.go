package main

import (
	"fmt"
	"strings"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
)

// --approved sha256:HEX says that who starts inner has decided about a profile already, as
// the pod that inner export writes does. The digest takes the place of the trust store and
// of every question:
//
//  1. The profile is a file, named by its path, and its bytes have that digest; else 125.
//  2. It extends nothing: what it builds on would be other bytes.
//  3. No flag gives the box more than those bytes do.
//
// This opens nothing. A file named by its path is the caller's own word and needs no
// approval without the flag; the flag only refuses more. No shim and no config.toml can give
// it: a shim takes the words after the name of the program, and aliases of projects take
// profiles by name.

// approvedFlags are the flags of inner run that would give the box something that the
// approved bytes do not.
func approvedFlags() []string {
	return append(limitFlags(), "network", "workdir", "mount", "env", "entrypoint", "timeout", "sha256", "allow-remote")
}

// checkApproved says what is wrong with a command line that has --approved.
func checkApproved(f runFlags, changed func(flag string) bool) error {
	if !changed("approved") {
		return nil
	}
	if _, err := cli.ApprovedDigest(f.approved); err != nil {
		return err
	}
	if !strings.Contains(f.profile, "/") || strings.Contains(f.profile, "://") {
		return cli.Usagef("--approved goes with -p and the path of a file")
	}
	for _, flag := range approvedFlags() {
		if changed(flag) {
			return cli.Usagef("--%s and --approved contradict each other: exactly the approved profile runs", flag)
		}
	}
	return nil
}

// notApproved refuses the profile that [commands] of config.toml has instead.
func notApproved(p, other *profile.Profile) error {
	return &fault.Refusal{
		Code: 125, Kind: fault.KindNotTrusted, Msg: fmt.Sprintf("[commands] of config.toml has profile %q for this command, but %q is approved", other.Path, p.Path),
		Hint: "inner config edit",
	}
}
