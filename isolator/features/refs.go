package features

// What the user's files and variables refer to by a link or by a name: settings of agents that are kept with dotfiles
// or in the Nix store, files that settings of git name, certificates of a company, what a terminal can do. A box gets
// a copy of it, and only where no box had a say in what that is.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/own"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/gitconfig"
)

// references gives the box what variables name.
func references() Feature {
	make := func(run *Run) error {
		if !run.Mode.Made() {
			return nil
		}
		for _, name := range []string{
			"SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "CARGO_HTTP_CAINFO",
			"GIT_SSL_CAINFO", "AWS_CA_BUNDLE", "PIP_CERT", "DENO_CERT",
		} {
			if run.Spec.Network != profile.NetOff || run.Spec.Env.InheritAll || run.Spec.Env.Inherits(name) {
				run.trust(name, run.Getenv(name))
			}
		}
		return run.terminal()
	}
	return Feature{Name: "what variables refer to", Keys: []string{"env"}, Make: make}
}

// origin is what the clones of a run's agents are made of.
func (run *Run) origin() capability.Origin {
	o := origin(run.Caller, run.Spec)
	o.Follow = run.follow
	return o
}

// follow returns where a path leads, and whether it may be read for a box: the file and each link on the way belong to
// the user or root, lie in no folder that a box was ever given to write, and in nothing that is hidden.
func (run *Run) follow(path string) (real string, ok bool) {
	hops, real, err := files.Follow(path)
	if err != nil || profile.Own(real) != nil || run.hides(real) || paths.Below(real, files.Real(run.Home)) {
		return "", false
	}
	byRun := append(run.Spec.WritableFolders(), run.Spec.Project, run.Spec.Workdir)
	for _, at := range append(hops, files.Hop{Path: real}) {
		within := func(dir string) bool { return dir != "" && paths.Below(files.Real(dir), at.Path) }
		fi, err := os.Lstat(at.Path)
		dir, errDir := os.Stat(filepath.Dir(at.Path))
		if err != nil || errDir != nil || own.FolderFault(dir) != "" || slices.ContainsFunc(byRun, within) || run.Context.WrittenAt(at.Path) != "" {
			return "", false
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
			return "", false
		}
	}
	return real, true
}

// hides reports whether no box of the run has what is at a real path.
func (run *Run) hides(real string) bool {
	return slices.ContainsFunc(plan.Hidden(run.Spec, run.Facts, run.Assets), func(place string) bool { return paths.Below(place, real) })
}

// ofSystem reports whether every box has a path of the host.
func (run *Run) ofSystem(path string) bool {
	within := func(dir string) bool { return paths.Below(dir, path) && (dir != "/etc" || run.Spec.Etc != "minimal") }
	return slices.ContainsFunc(profile.SystemFolders(), within)
}

// trust sets a variable that names a file of certificates, or folders of them, to a copy of these. What holds
// anything else, and what is hidden, the box does not have, and not the variable either.
func (run *Run) trust(name, value string) {
	has := func(kv profile.KV) bool { return kv.Key == name }
	if value == "" || run.Spec.Env.Kept(name) || slices.ContainsFunc(run.Assets.Env, has) {
		return
	}
	at, err := run.certificates("ca-"+strings.ToLower(name), value)
	if err != nil {
		run.Spec.Env.Never = append(slices.Clip(run.Spec.Env.Never), name)
		run.Warn("%s: %s is not passed to the box: %v", name, run.Short(value), err)
		return
	}
	run.Assets.Env = append(run.Assets.Env, profile.KV{Key: name, Value: at})
}

// certificates returns where the box has files or folders of certificates, divided by colons.
func (run *Run) certificates(as, value string) (string, error) {
	list := filepath.SplitList(value)
	for i, p := range list {
		if !filepath.IsAbs(p) || run.ofSystem(filepath.Clean(p)) {
			continue
		}
		dest := fmt.Sprintf("%s/%s-%d", paths.BoxDir, as, i)
		entries, err := os.ReadDir(p)
		for _, e := range entries { // nobody looks for anything else there
			if data, err := run.certificate(filepath.Join(p, e.Name())); err == nil {
				boxFile(run, filepath.Join(dest, e.Name()), data, "certificates you trust")
			}
		}
		if errors.Is(err, syscall.ENOTDIR) {
			var data []byte
			dest = fmt.Sprintf("%s/%s.pem", paths.BoxDir, as)
			if data, err = run.certificate(p); err == nil {
				boxFile(run, dest, data, "certificates you trust")
			}
		}
		if list[i] = dest; err != nil {
			return "", err
		}
	}
	return strings.Join(list, ":"), nil
}

// certificate reads a file of certificates, and nothing else. Of a file that is hidden because it is called as those
// with keys are (~/*.pem), what is in it decides.
func (run *Run) certificate(path string) ([]byte, error) {
	real, hide := files.Real(path), run.Facts.Hide
	byProfile := hide != nil && slices.ContainsFunc(hide.Paths, func(p string) bool { return files.Real(p) == real })
	if byProfile || run.hides(filepath.Dir(real)) {
		return nil, errors.New("it is hidden")
	}
	data, err := files.Read(real, files.NoLinks, 4<<20)
	switch {
	case err != nil:
		return nil, err
	case !bytes.Contains(data, []byte("CERTIFICATE-----")) || bytes.Contains(data, []byte("PRIVATE KEY")):
		return nil, errors.New("it is not a file of certificates")
	}
	return data, nil
}

// named are the user's settings of git, with the names that the files in them have in the box: copies, where it would not
// see them. Where it gets none, the setting is left out.
func (run *Run) named(list []gitconfig.Entry) (out []gitconfig.Entry) {
	seen := func(p string) bool {
		return !filepath.IsAbs(p) || !files.Exists(p) || run.ofSystem(p) || paths.Below(run.Spec.Workdir, p) || seenIn(run.Spec)(p)
	}
	dir := filepath.Dir(gitconfig.UserFiles(run.Home, run.Getenv("XDG_CONFIG_HOME"))[1])
	for _, kv := range []profile.KV{{Key: "core.excludesfile", Value: "ignore"}, {Key: "core.attributesfile", Value: "attributes"}} {
		if p := filepath.Join(dir, kv.Value); !seen(p) { // counts where no setting names another
			list = slices.Insert(list, 0, gitconfig.Entry{Key: kv.Key, Value: p, File: p})
		}
	}
	for i, e := range list {
		section, _, name := e.Parts()
		p := gitconfig.Pathname(e.Value, "", run.Home)
		ok := true
		switch as := fmt.Sprintf("git-%d-%s", i, name); section + "." + name {
		case "core.excludesfile", "core.attributesfile", "commit.template", "mailmap.file", "gpg.allowedsignersfile":
			if e.File == "" || seen(p) { // set by the profile, or there
				break
			}
			if _, ok = run.follow(e.File); ok {
				p, ok = run.follow(p)
			}
			if data, err := files.Read(p, files.NoLinks, 1<<20); ok && err == nil {
				e.Value = boxFile(run, filepath.Join(paths.BoxDir, as), data, "your git settings name it")
			}
		case "http.sslcainfo", "http.sslcapath":
			if !seen(p) {
				at, err := run.certificates(as, p)
				e.Value, ok = at, err == nil
			}
		}
		if ok {
			out = append(out, e)
		} else {
			run.LeftOut = append(run.LeftOut, e.Key)
		}
	}
	return out
}

// terminal gives the box what the user's own folders say of the terminal. Those that the box has anyway are named
// by the variables, see plan's pathNames.
func (run *Run) terminal() error {
	term := run.Getenv("TERM")
	if term == "" || filepath.Base(term) != term {
		return nil
	}
	for _, dir := range filepath.SplitList(run.Getenv("TERMINFO") + ":" + run.Getenv("TERMINFO_DIRS")) {
		for _, sub := range []string{term[:1], fmt.Sprintf("%x", term[0])} {
			real, ok := run.follow(filepath.Join(dir, sub, term))
			data, err := files.Read(real, files.NoLinks, 64<<10)
			if ok && err == nil && (bytes.HasPrefix(data, []byte{0x1a, 1}) || bytes.HasPrefix(data, []byte{0x1e, 2})) { // term(5)
				folder := filepath.Join(paths.BoxDir, "terminfo")
				boxFile(run, filepath.Join(folder, sub, term), data, "your terminal", profile.KV{Key: "TERMINFO", Value: folder})
				return nil
			}
		}
	}
	return nil
}
