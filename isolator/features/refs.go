package features

// What the user's files and variables refer to by a link or by a name: settings of agents that are kept with dotfiles
// or in the Nix store, files that settings of git name, certificates of a company. A box gets a copy of it, and
// only where no box had a say in what that is.

import (
	"bytes"
	"encoding/pem"
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
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/gitconfig"
)

// trusting gives the box the certificates that variables name.
func trusting(run *Run) error {
	if run.authority != nil {
		run.trusted.give(run)
		return nil
	}
	for _, name := range certificateVariables() {
		if run.Mode.Made() && (run.Spec.Network != profile.NetOff || run.Spec.Env.InheritAll || run.Spec.Env.Inherits(name)) {
			run.trust(name, run.Getenv(name))
		}
	}
	return nil
}

// origin is what the clones of a run's agents are made of.
func (run *Run) origin() capability.Origin {
	o := origin(run.Caller, run.Spec)
	o.Follow = run.follow
	return o
}

// led returns where a path leads, unless a box may have made a link on the way: each belongs to the user or
// root, and lies in no folder that a box was ever given to write.
func (run *Run) led(path string) (real string, err error) {
	hops, real, err := files.Follow(path)
	if err == nil && (!filepath.IsAbs(path) || slices.ContainsFunc(hops, func(link files.Hop) bool { return !run.placed(link.Path) })) {
		err = errors.New("it is behind a link that a box may have made")
	}
	if err != nil {
		return "", err
	}
	return real, nil
}

// unled returns the real path of what the box sees as it is on the host; "" when a link leads there, but above
// the home. Nobody refers to it by a link of theirs: a box may have made that, and it may have come by inner
// changes apply.
func (run *Run) unled(path string) string {
	real, err := run.led(path)
	if rest, in := paths.Rest(run.Home, path); err != nil || real != path &&
		(!in || real != filepath.Join(files.Real(run.Home), rest)) {
		return ""
	}
	return real
}

// follow returns where a path leads, and whether it may be read for a box because the user refers to it: that
// holds for the links on the way and for the file itself, and it is not hidden.
func (run *Run) follow(path string) (real string, ok bool) {
	real, err := run.led(path)
	return real, err == nil && profile.Own(real) == nil && run.placed(real) && !run.hides(real) &&
		!paths.Below(real, files.Real(run.Home))
}

// read reads a file by its path without links; through none that comes meanwhile.
func read(real string, most int64) ([]byte, error) {
	root, err := os.Open("/")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return copytree.Read(int(root.Fd()), real[1:], most)
}

// placed reports whether the user or root gave a path without links but itself its name, and no box had a say in that.
func (run *Run) placed(at string) bool {
	fi, err := os.Lstat(at)
	dir, errDir := os.Stat(filepath.Dir(at))
	if err != nil || errDir != nil || own.FolderFault(dir) != "" || run.Context.BoxFolder(run.Spec, at) != "" {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Geteuid())
}

// unplanted returns where a file is that is read or run outside, unless a box may have made it, or a link on the way.
func (run *Run) unplanted(path string) (real string, err error) {
	if _, err = os.Lstat(path); err == nil {
		real, err = run.led(path)
	}
	if err == nil && !run.placed(real) {
		err = errors.New("a box may have written it")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", run.Short(path), err)
	}
	return real, nil
}

// hides reports whether no box of the run has what is at a real path.
func (run *Run) hides(real string) bool {
	return paths.Over(plan.Hidden(run.Spec, run.Facts, run.Assets), real) != ""
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
	at, err := run.copies(value, run.certificate)
	if err != nil {
		run.Spec.Env.Never = append(slices.Clip(run.Spec.Env.Never), name)
		run.Warn("%s: %s is not passed to the box: %v", name, run.Short(value), err)
		return
	}
	run.Assets.Env = append(run.Assets.Env, profile.KV{Key: name, Value: at})
}

// copies returns where the box has files, or certificates in folders, divided by colons. What is not of the system it
// gets as it is read, once.
func (run *Run) copies(value string, read func(string) ([]byte, error)) (string, error) {
	list := filepath.SplitList(value)
	if run.copied == nil {
		run.copied = map[string]string{}
	}
	for i, p := range list {
		if !filepath.IsAbs(p) || run.ofSystem(p) {
			continue
		}
		if list[i] = run.copied[p]; list[i] != "" {
			continue
		}
		list[i] = fmt.Sprintf("%s/copy-%d-%s", paths.BoxDir, len(run.copied), filepath.Base(p))
		had := len(run.Assets.Parts)
		entries, err := os.ReadDir(p)
		for _, e := range entries { // no folder is named but one of certificates, and nobody looks for anything else in that
			if data, err := run.certificate(filepath.Join(p, e.Name())); err == nil {
				boxFile(run, filepath.Join(list[i], e.Name()), data, "your settings name it")
			}
		}
		if errors.Is(err, syscall.ENOTDIR) {
			var data []byte
			if data, err = read(p); err == nil {
				boxFile(run, list[i], data, "your settings name it")
			}
		}
		if err == nil && len(run.Assets.Parts) == had {
			err = errors.New("there are no certificates in it")
		}
		if err != nil {
			return "", err
		}
		run.copied[p] = list[i]
	}
	return strings.Join(list, ":"), nil
}

// certificate reads the certificates in a file. Of one that is hidden because it is called as those with keys are
// (~/*.pem), what is in it decides. A box may write the file, and make no link to another.
func (run *Run) certificate(path string) ([]byte, error) {
	real, err := run.led(path)
	hide := run.Facts.Hide
	if hide != nil && slices.ContainsFunc(hide.Paths,
		func(p string) bool { return files.Real(p) == real }) || run.hides(filepath.Dir(real)) {
		err = errors.New("it is hidden")
	}
	if err != nil {
		return nil, err
	}
	data, err := read(real, 4<<20)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "CERTIFICATE") {
			block.Headers = nil
			err = errors.Join(err, pem.Encode(&out, block))
		}
	}
	if out.Len() == 0 || bytes.Contains(data, []byte("PRIVATE KEY")) {
		err = errors.New("it is not a file of certificates")
	}
	return out.Bytes(), err
}

// theirs reads a file that is followed.
func (run *Run) theirs(path string) ([]byte, error) {
	real, ok := run.follow(path)
	if !ok {
		return nil, errors.New("a box may have had a say in it, or it is hidden")
	}
	return read(real, 1<<20)
}

// named are the user's settings of git, with the names that the files in them have in the box: copies, where it would
// not see them. Where it gets none, the setting is left out.
func (run *Run) named(list []gitconfig.Entry) (out []gitconfig.Entry) {
	seen := func(p string) bool {
		return !filepath.IsAbs(p) || !files.Exists(p) || run.ofSystem(p) ||
			paths.Below(run.Spec.Workdir, p) || seenIn(run.Spec)(p)
	}
	dir := filepath.Dir(gitconfig.UserFiles(run.Home, run.Getenv("XDG_CONFIG_HOME"))[1])
	for _, kv := range []profile.KV{{Key: "core.excludesfile", Value: "ignore"}, {Key: "core.attributesfile", Value: "attributes"}} {
		p := filepath.Join(dir, kv.Value) // counts where no setting names another
		list = slices.Insert(slices.Clip(list), 0, gitconfig.Entry{Key: kv.Key, Value: p, File: p})
	}
	for _, e := range list {
		section, _, name := e.Parts()
		read, p := run.theirs, gitconfig.Pathname(e.Value, "", run.Home)
		switch section + "." + name {
		case "http.sslcainfo", "http.sslcapath":
			read = run.certificate
		case "core.excludesfile", "core.attributesfile", "commit.template", "mailmap.file", "gpg.allowedsignersfile":
		default:
			p = "" // it names no file
		}
		if e.File != "" && !seen(p) { // not set by the profile
			_, err := run.theirs(e.File)
			if err == nil {
				e.Value, err = run.copies(p, read)
			}
			if err != nil {
				run.LeftOut = append(run.LeftOut, e.Key)
				continue
			}
		} else if p != "" && e.File == p {
			continue // by no setting, and not there, or there by its own name
		}
		out = append(out, e)
	}
	return out
}
