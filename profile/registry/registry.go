// Package registry says which hosts a group of network_allow stands for:
// where the public registries of packages are, and where git and agents fetch from.
//
//	registry.Public("npm")                                          // two hosts
//	registry.Hosts("npm", map[string][]string{"npm": {"a.corp"}})   // "a.corp"
package registry

import "slices"

// Hosts returns the hosts of a group, as hosts.Parse reads them: those of [groups] in the user's config.toml, in
// which the name of the group stands for the public ones, else the public ones.
func Hosts(group string, own map[string][]string) []string {
	members, said := own[group]
	if !said {
		return Public(group)
	}
	if i := slices.Index(members, "@"+group); i >= 0 {
		return slices.Concat(members[:i], Public(group), members[i+1:])
	}
	return members
}

// Public returns the hosts of a group, as hosts.Parse reads them; none for what is no group. None of them
// keeps what anybody has uploaded for everybody, but for packages and repositories themselves, and
// none has port 22, which a profile has to name (github.com:22).
func Public(group string) []string {
	return map[string][]string{
		"github": {
			"github.com", "api.github.com", "codeload.github.com", "gist.github.com",
			"raw.githubusercontent.com", "gist.githubusercontent.com", "media.githubusercontent.com",
			"objects.githubusercontent.com", "release-assets.githubusercontent.com",
		},
		"gitlab": {"gitlab.com"},
		// Yarn asks its own name of the same registry (yarn 1, and the later ones).
		"npm":  {"registry.npmjs.org", "registry.yarnpkg.com"},
		"pypi": {"pypi.org", "files.pythonhosted.org"},
		// What go asks unless GOPROXY and GOSUMDB say otherwise (go help goproxy).
		"go": {"proxy.golang.org", "sum.golang.org"},
		// The index, the crates that it names, and the commands that ask the site itself.
		"crates": {"index.crates.io", "static.crates.io", "crates.io"},
		// The first is the repository of Maven's own super POM; other tools have the second.
		"maven": {"repo.maven.apache.org", "repo1.maven.org"},
		// Debian and Ubuntu, whose installers choose a mirror of a country below archive.ubuntu.com.
		"debian": {
			"deb.debian.org", "security.debian.org",
			"archive.ubuntu.com", "*.archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com",
		},
	}[group]
}
