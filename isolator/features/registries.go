package features

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// Package managers in the box are told which registry those outside are set to, and which
// certificates they trust.

// tellReach tells the programs in the box what those outside are set to.
func tellReach(run *Run) error {
	if !run.Spec.Network.ByName() {
		return nil
	}
	for _, a := range run.Reach.Answers {
		run.Assets.Env = append(run.Assets.Env, a.Env...)
		if a.CA != "" {
			if err := certificates(run, a.CAVar, a.CA); err != nil {
				return err
			}
		}
		// In an isolated home its own file is not there, and no variable says this.
		if a.Config != "" && run.Spec.HidesHome() {
			name := strings.ReplaceAll(strings.TrimPrefix(a.ConfigAt, "."), "/", "-")
			file, err := run.Folder.File(name, []byte(a.Config), 0o444)
			if err != nil {
				return err
			}
			run.Assets.Binds = append(run.Assets.Binds, plan.Bind{
				Host: file, Box: filepath.Join(run.Home, a.ConfigAt), Reason: "the registry you use (network_allow)",
			})
		}
	}
	if len(run.Reach.Answers) > 0 {
		for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
			if v := run.Getenv(name); filepath.IsAbs(v) {
				if err := certificates(run, name, filepath.Clean(v)); err != nil {
					return err
				}
			}
		}
	}
	return sshByProxy(run)
}

// certificates sets a variable that names a file of certificates. Where the box
// would not see the file, it gets a copy.
func certificates(run *Run, variable, file string) error {
	hidden := slices.ContainsFunc([]string{run.Home, "/tmp", "/var/tmp", "/run"}, func(dir string) bool {
		return paths.Below(dir, file) || paths.Below(files.Real(dir), files.Real(file))
	})
	if hidden {
		data, err := files.Read(file, files.NoLinks, 4<<20)
		if err == nil && (!bytes.Contains(data, []byte("-----BEGIN CERTIFICATE-----")) || bytes.Contains(data, []byte("PRIVATE KEY"))) {
			err = errors.New("it is not a file of certificates")
		}
		if err != nil {
			run.Warn("%s: %s is not passed to the box: %v", variable, run.Short(file), err)
			return nil
		}
		name := "ca-" + strings.ToLower(variable) + ".pem"
		at, err := run.Folder.File(name, data, 0o444)
		if err != nil {
			return err
		}
		file = filepath.Join(paths.BoxDir, name)
		run.Assets.Binds = append(run.Assets.Binds, plan.Bind{Host: at, Box: file, Reason: "certificates you trust (" + variable + ")"})
	}
	run.Assets.Env = append(run.Assets.Env, profile.KV{Key: variable, Value: file})
	return nil
}
