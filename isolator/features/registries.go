package features

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/registry"
	"github.com/enr/inner/profile/remote"
	"github.com/enr/inner/shims"
)

// The groups of network_allow and network_deny are what the package managers outside are set to. Those in the
// box are told the same, and which certificates are trusted.

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

// groupsOf are the groups of a list, each once.
func groupsOf(list []string) []string {
	var out []string
	for _, text := range list {
		if group, ok := strings.CutPrefix(text, "@"); ok && !slices.Contains(out, group) {
			out = append(out, group)
		}
	}
	return out
}

// askedGroups are the groups of both lists that have a client.
func askedGroups(run *Run) []string {
	var groups []string
	for _, group := range groupsOf(slices.Concat(run.Spec.NetworkAllow, run.Spec.NetworkDeny)) {
		if _, fixed := registry.Fixed(group); !fixed {
			groups = append(groups, group)
		}
	}
	return groups
}

// registries asks for the groups of both lists that have a client.
func registries(run *Run, dir func() (string, error)) (map[string]registry.Answer, error) {
	groups := askedGroups(run)
	if len(groups) == 0 {
		return nil, nil
	}
	list, err := book(run).Answers(context.Background(), groups, registryHost(run), dir)
	if list == nil {
		return nil, err
	}
	if err != nil {
		run.Warn("the answers of the package managers were not saved: %v", err)
	}
	out := map[string]registry.Answer{}
	for i, group := range groups {
		out[group] = list[i]
	}
	return out, nil
}

// book is where the answers of package managers are kept.
func book(run *Run) registry.Book {
	return registry.Book{Path: filepath.Join(run.InnerHome, "registries.json")}
}

// registryHost is where package managers are looked for and how they are run.
func registryHost(run *Run) registry.Host {
	dirs := slices.DeleteFunc(hostPath(run), func(d string) bool { return d == run.ShimDir() })
	return registry.Host{
		Home: run.Home, Path: strings.Join(dirs, ":"), Lookup: run.LookupEnv, Environ: run.Environ, Private: netproxy.Private,
		Program: func(name string) (string, error) {
			p, err := hostProgram(run, name, dirs)
			if errors.Is(err, shims.ErrNotFound) {
				err = fs.ErrNotExist
			}
			return p, err
		},
		Fetch: func(ctx context.Context, address string) ([]byte, []string, error) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			page, err := remote.GetPage(ctx, address)
			return page.Data, page.Hops, err
		},
	}
}
