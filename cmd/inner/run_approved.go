package main

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/settings"
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
	return []string{
		"network", "workdir", "mount", "env", "entrypoint", "timeout", "sha256", "allow-remote",
		"limit-memory", "limit-cpu", "limit-pids", "limit-files", "limit-file-size", "limit-disk",
	}
}

// checkApproved says what is wrong with a command line that has --approved.
func checkApproved(f runFlags, changed func(flag string) bool) error {
	if !changed("approved") {
		return nil
	}
	if _, err := approvedDigest(f.approved); err != nil {
		return err
	}
	if !strings.Contains(f.profile, "/") || strings.Contains(f.profile, "://") {
		return usagef("--approved goes with -p and the path of a file")
	}
	for _, flag := range approvedFlags() {
		if changed(flag) {
			return usagef("--%s and --approved contradict each other: exactly the approved profile runs", flag)
		}
	}
	return nil
}

// approvedDigest reads sha256:HEX, and returns the digest in lower case.
func approvedDigest(text string) (string, error) {
	sum, ok := strings.CutPrefix(text, "sha256:")
	if data, err := hex.DecodeString(sum); !ok || err != nil || len(data) != 32 {
		return "", usagef("--approved %q is not sha256: and 64 hexadecimal digits", text)
	}
	return strings.ToLower(sum), nil
}

// chooseApproved loads the profile that the digest names, and no other.
func (a *app) chooseApproved(f runFlags, pl settings.Place) (*profile.Profile, error) {
	want, err := approvedDigest(f.approved)
	if err != nil {
		return nil, err
	}
	p, err := a.Load(f.profile, pl)
	if err != nil {
		return nil, err
	}
	if got := p.Files[0].Digest; got != want {
		return nil, &fault.Refusal{
			Code: 125, Kind: fault.KindNotTrusted, Msg: fmt.Sprintf("profile %q has the sha256 %s, but %s is approved", p.Path, got, want),
			Hint: "export it again, and have the new digest approved",
		}
	}
	if len(p.Files) > 1 {
		return nil, &fault.Refusal{
			Code: 125, Kind: fault.KindNotTrusted, Msg: fmt.Sprintf("profile %q extends %q, whose bytes were not approved", p.Path, p.Files[1].Path),
			Hint: "inner profile show --resolved prints it as one file",
		}
	}
	return p, nil
}

// notApproved refuses the profile that [commands] of config.toml has instead.
func notApproved(p, other *profile.Profile) error {
	return &fault.Refusal{
		Code: 125, Kind: fault.KindNotTrusted, Msg: fmt.Sprintf("[commands] of config.toml has profile %q for this command, but %q is approved", other.Path, p.Path),
		Hint: "inner config edit",
	}
}
