package plan

import (
	"fmt"
	"path/filepath"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
)

// homeFolder makes an isolated home, shows the box's own, or hides a part of the host's, and binds back
// into it what the profile and the program need.
func (b *builder) homeFolder() error {
	if !b.rc.HidesHome() {
		return b.dots()
	}
	b.because("sandbox.home")
	if err := b.emptyHomes(fmt.Sprintf("(sandbox.home = %q)", b.rc.Home)); err != nil {
		return err
	}
	return b.listedInHome()
}

// listedInHome shows what the profile and the program need of a home of which not all is shown.
func (b *builder) listedInHome() error {
	b.because("sandbox.home_allow")
	for _, p := range b.rc.HomeAllow {
		if rel, in := paths.Rest(b.f.Home, p); in && b.rc.Home == "own" && Versions()[rel] != "" &&
			b.notSecret(b.canon(p), "", "") == nil {
			b.bind("versions of programs that your tools have fetched", b.canon(p),
				filepath.Join(paths.BoxVersions, rel), false)
			for _, version := range b.f.Match(p, Versions()[rel], "") {
				if at, _ := paths.Rest(b.f.Home, version); b.kind(version) == host.Dir {
					b.plan.HomeLinks = append(b.plan.HomeLinks, host.Hop{Path: at, Target: filepath.Join(paths.BoxVersions, at)})
				}
			}
			continue
		}
		if err := b.showInHome(p, "readable in the home (home_allow)"); err != nil {
			return err
		}
	}
	b.because("entrypoint.cmd")
	for _, p := range b.packageFolders() {
		if !paths.Inside(b.home, p) {
			continue
		}
		if err := b.showInHome(p, "the program itself"); err != nil {
			return err
		}
	}
	return nil
}

// Versions are folders of a home in which tools keep a folder for each version of a program that they fetched,
// and where in them. A home of the box's own has links to those (package features): the folder around them is
// its own, so that the box fetches others, and many versions are one mount.
func Versions() map[string]string {
	return map[string]string{
		".cache/ms-playwright": "[^.]*", ".cache/Cypress": "*", ".cache/puppeteer": "*/*", ".cache/electron": "*", ".cache/node-gyp": "*",
		".cache/node/corepack": "v1/*/*", ".cache/pre-commit": "repo*", ".gradle/wrapper/dists": "*", ".gradle/jdks": "*",
	}
}

// emptyHomes covers the home, and that of the password file, when $HOME is another.
func (b *builder) emptyHomes(how string) error {
	for _, other := range b.homes() {
		if l, _ := b.at(other); other != b.home && l.bound() && b.kind(other) == host.Dir {
			b.tmpfs("the home of the password file is empty, too", 0o700, other)
		}
	}
	if b.rc.Home == "own" {
		if err := b.ownHome("the home of the box's own " + how); err != nil {
			return err
		}
	} else {
		b.tmpfs("an empty home "+how, 0o700, b.home)
	}
	if l, _ := b.at(b.f.Home); b.f.Home != b.home && !l.bound() {
		b.symlink("the name of the home, which is a link", b.home, b.f.Home)
	}
	return nil
}

// showInHome shows a folder or file of the home, read-only.
func (b *builder) showInHome(p, reason string) error {
	real := b.canon(p)
	if !b.kind(p).Seen() {
		return nil
	}
	if paths.Below(real, b.home) {
		return fault.Refuse(125, "name the folders below it instead",
			"profile %q: home_allow %q covers the whole home", b.rc.Name, p)
	}
	if err := b.notSecret(real, "", "home_allow "+quote(p)); err != nil {
		return err
	}
	b.show(reason, p)
	return nil
}

// linkFree returns p with the links of its parent resolved, not its own.
func (b *builder) linkFree(p string) string {
	return filepath.Join(b.canon(filepath.Dir(p)), filepath.Base(p))
}

// notSecret refuses to show something that the table hides, or a part of it,
// unless the profile allows the key, or a mount that of this one file.
func (b *builder) notSecret(real, alone, what string) error {
	for _, h := range b.hidden() {
		switch {
		case h.key == hideKey, h.is(real, alone):
		case b.holdsHome(h.path):
			return b.refuseHome(h)
		case paths.Below(h.real, real):
			return fault.Refuse(125, fmt.Sprintf("allow = [%q] under [sandbox] grants it on purpose", h.key),
				"profile %q: %s is hidden as %s (%s)", b.rc.Name, what, h.key, h.what)
		}
	}
	for _, own := range append(b.f.InnerHomes(), b.f.StageBase) {
		if own != "" && paths.Below(b.canon(own), real) {
			return fault.Refuse(125, "", "profile %q: %s lies in inner's own folder", b.rc.Name, what)
		}
	}
	return nil
}
