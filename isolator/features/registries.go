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

// tellReach tells the programs in the box which certificates those outside trust, where packages may be
// fetched, and ssh its way out.
func tellReach(run *Run) error {
	if !run.Spec.Network.ByName() {
		return nil
	}
	if slices.ContainsFunc(run.Spec.NetworkAllow, func(text string) bool { return strings.HasPrefix(text, "@") }) {
		for _, name := range []string{
			"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
			"npm_config_cafile", "PIP_CERT", "CARGO_HTTP_CAINFO",
		} {
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
