package git

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/gitconfig"
)

// last does what waits until the box is gone: it brings worktrees that the box made and tracking
// settings of its branches, and lists the settings that stay with the box.
func (x *exchange) last(ctx context.Context) error {
	x.settings()
	if err := x.tracking(); err != nil {
		x.say("the tracking settings of new branches did not cross: %v", err)
	}
	for _, v := range x.views {
		if v.gone {
			if why := x.removeWorktree(ctx, v); why != "" {
				x.say("%s: the box removed this worktree, and it stays outside: %s", v.Top, why)
			}
		}
		if v.lost && v.indexChanged() {
			if err := x.keepIndex(ctx, v); err != nil {
				x.say("%s: the index of the box could not be kept: %v", v.Top, err)
				x.rep.Pending = true
			}
		}
	}
	return errors.Join(x.carryLFS(ctx), x.newWorktrees(ctx))
}

// removeWorktree removes the host's administration of a worktree that the box removed, and its .git file, which the
// box cannot remove. It returns why it did not, or "".
func (x *exchange) removeWorktree(ctx context.Context, v *viewState) string {
	switch {
	case v.hostHead != v.Head, v.hostChanged:
		return "it was changed outside"
	case x.host.has(v.file("locked")):
		return "it is locked"
	}
	parent, err := openFolder(filepath.Dir(v.Top))
	if err != nil {
		return err.Error()
	}
	defer parent.close()
	if name := filepath.Base(v.Top); parent.has(name) {
		if text, err := parent.read(name+"/.git", maxPointer); err != nil || strings.TrimSpace(string(text)) != "gitdir: "+x.u.Common+"/"+v.Rel {
			return "its .git does not lead to this repository"
		}
		if err := parent.remove(name + "/.git"); err != nil {
			return err.Error()
		}
		if parent.rmdir(name) != nil {
			x.say("%s: the box removed this worktree; files of it that are still there are plain files now", v.Top)
		}
	}
	if _, sym := symbolic(v.hostHead); !sym {
		keep := "update " + x.inner("refs/old/"+v.Rel) + "\x00" + v.hostHead + "\x00\x00"
		if err := x.plumb(func() error {
			return x.p.run(ctx, call{args: []string{"update-ref", "--stdin", "-z"}, in: strings.NewReader(keep)})
		}); err != nil {
			return err.Error()
		}
	}
	if err := x.host.removeTree(v.Rel); err != nil {
		return err.Error()
	}
	_ = x.host.rmdir("worktrees")
	return ""
}

// plumb calls do with x.p ready to run git.
func (x *exchange) plumb(do func() error) (err error) {
	if x.p == nil {
		if x.p, err = x.newPlumbing(x.u, x.host); err != nil {
			return err
		}
	} else if x.p.store, err = x.host.sub("objects"); err != nil {
		return err
	}
	defer x.p.store.close()
	return do()
}

// keepIndex keeps what the box had staged and the host's index did not take, as a commit on top of the box's HEAD
// if that has one.
func (x *exchange) keepIndex(ctx context.Context, v *viewState) error {
	head := resolve(v.boxHead, x.boxRefs.refs)
	out, err := v.boxIndex.taken(nil, 0, false)
	if err != nil {
		return err
	}
	known := x.hostIndexRead(v).gitlinks()
	out.entries = slices.DeleteFunc(out.entries, func(e indexEntry) bool {
		return e.stage() != 0 || e.mode == modeGitlink && !known[e.name] || e.extra&extraIntent != 0
	})
	const name = "index.kept"
	if err := x.state.replace(name, name+".new", out.format(x.u.Digits/2)); err != nil {
		return err
	}
	ref := x.inner("refs/" + v.file("index"))
	return x.plumb(func() error {
		// The tree is made in a store of inner's, and crosses checked as all others do.
		if x.seen.intake == nil {
			if x.seen.intake, err = x.newIntake(x.u); err != nil {
				return err
			}
		}
		in, further := x.seen.intake, []string{hostObjects()}
		if err := in.take(ctx, x.Copy, x.p, x.box, x.u.Digits); err != nil {
			return err
		}
		tree, err := x.p.text(ctx, call{args: []string{"write-tree"}, index: filepath.Join(x.state.path, name), store: in.path, further: further})
		if err != nil {
			return err
		}
		args := []string{"commit-tree", "-m", "What was staged in the box of run " + x.meta.Run}
		if head != "" {
			was, err := x.p.text(ctx, call{args: []string{"rev-parse", "--verify", head + "^{tree}"}, store: in.path, further: further})
			if err != nil || tree == was {
				return err
			}
			args = append(args, "-p", head)
		}
		commit, err := x.p.text(ctx, call{args: append(args, strings.TrimSpace(tree)), store: in.path, further: further})
		if err != nil {
			return err
		}
		if err := x.bring(ctx, []string{strings.TrimSpace(commit)}, x.have()); err != nil {
			return err
		}
		text := "update " + ref + "\x00" + strings.TrimSpace(commit) + "\x00\x00"
		if err := x.p.run(ctx, call{args: []string{"update-ref", "--stdin", "-z"}, in: strings.NewReader(text)}); err != nil {
			return err
		}
		x.say("%s: what was staged in the box is %s", v.Top, ref)
		return nil
	})
}

// settings lists what the box changed in its configuration, hooks and info.
func (x *exchange) settings() {
	now := settingsOf(x.box)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if x.u.Files[name] != now[name] {
			x.setting(plainText(name, 200))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.u.Files)) {
		if now[name] == "" {
			x.setting(plainText(name, 200) + " (removed)")
		}
	}
	was, is := x.configs()
	for _, e := range is {
		if !slices.Contains(was, e) && !strings.HasPrefix(e.Key, "branch.") {
			x.setting(plainText(e.Key, 200))
		}
	}
	for _, e := range was {
		if !slices.ContainsFunc(is, func(i gitconfig.Entry) bool { return i.Key == e.Key }) && !strings.HasPrefix(e.Key, "branch.") {
			x.setting(plainText(e.Key, 200) + " (removed)")
		}
	}
}

// configs returns the settings that the box got and those that it has now.
func (x *exchange) configs() (was, is []gitconfig.Entry) {
	was, _ = gitconfig.Parse([]byte(x.u.Config)) // of inner's own
	data, err := x.box.read("config", maxConfig)
	if err != nil {
		return was, was
	}
	is, _ = gitconfig.Parse(data) // what stands before a fault counts for git, too
	return was, is
}

// tracking writes branch.NAME.remote and .merge of branches that are new to the host's configuration,
// where the values are plain names.
func (x *exchange) tracking() error {
	_, is := x.configs()
	data, err := x.host.read("config", maxConfig)
	if err != nil {
		return err
	}
	host, err := gitconfig.Parse(data)
	if err != nil {
		return err
	}
	text := x.newTracking(host, is)
	if text == "" {
		return nil
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		text = "\n" + text
	}
	st, err := x.host.stat("config")
	if err != nil {
		return err
	}
	return x.host.locked("config", x.meta.Run, append(data, text...), 0o600, func() error {
		again, err := x.host.read("config", maxConfig)
		if err == nil && string(again) != string(data) {
			err = ErrLocked
		}
		return errors.Join(err, x.host.chmod("config.lock", st.Mode)) // git keeps its mode, too
	})
}

// newTracking is what the host's configuration lacks of the box's branches that crossed.
func (x *exchange) newTracking(host, box []gitconfig.Entry) string {
	remotes, known := map[string]bool{".": true}, map[string]bool{}
	for _, e := range host {
		section, rest, _ := strings.Cut(e.Key, ".")
		if i := strings.LastIndexByte(rest, '.'); i > 0 && section == "remote" {
			remotes[rest[:i]] = true
		} else if i > 0 && section == "branch" {
			known[rest[:i]] = true
		}
	}
	remote, merge := map[string]string{}, map[string]string{}
	for _, e := range box {
		name, ok := strings.CutPrefix(e.Key, "branch.")
		if branch, found := strings.CutSuffix(name, ".remote"); ok && found && remotes[e.Value] {
			remote[branch] = e.Value
		}
		if branch, found := strings.CutSuffix(name, ".merge"); ok && found && hasPrefix(e.Value, "refs/heads") && refName(e.Value) == "" {
			merge[branch] = e.Value
		}
	}
	text := ""
	for _, branch := range slices.Sorted(maps.Keys(merge)) {
		full := "refs/heads/" + branch
		if known[branch] || remote[branch] == "" || refName(full) != "" || x.hostRefs[full] == "" || strings.ContainsAny(remote[branch], "\"\\\n\r\x00") {
			continue
		}
		text += "[branch \"" + branch + "\"]\n\tremote = " + quoted(remote[branch]) + "\n\tmerge = " + quoted(merge[branch]) + "\n"
	}
	return text
}

// quoted quotes a value as git does: one that would begin a comment, or lose spaces at its ends (config.c, write_pair).
func quoted(value string) string {
	if strings.ContainsAny(value, "#;") || strings.TrimSpace(value) != value {
		return `"` + value + `"`
	}
	return value
}

// newWorktrees writes the host's administration of worktrees that the box made below folders it can
// write, from their checked HEAD and index.
func (x *exchange) newWorktrees(ctx context.Context) error {
	list, err := x.box.list("worktrees", maxWorktrees)
	if err != nil {
		return nil // none
	}
	stays := func(rel, why string) {
		x.say("the worktree %s that the box made stays with it: %s", plainText(strings.TrimPrefix(rel, "worktrees/"), 100), why)
	}
	var made []*viewState
	for _, e := range list {
		rel := "worktrees/" + e.Name()
		if !e.IsDir() || x.host.has(rel) {
			continue
		}
		if v, why := x.newWorktree(e.Name(), rel); why != "" {
			stays(rel, why)
		} else {
			made = append(made, v)
		}
	}
	if len(made) == 0 {
		return nil
	}
	if err := x.worktreeObjects(ctx, made); err != nil {
		return err
	}
	for _, v := range made {
		if v.stays == "" {
			v.stays = x.writeWorktree(v)
		} else {
			x.rep.Pending = true // the copy has it
		}
		if v.stays != "" {
			stays(v.Rel, v.stays)
		}
	}
	return nil
}

// newWorktree reads a worktree of the box, and returns why it does not cross, or "".
func (x *exchange) newWorktree(name, rel string) (*viewState, string) {
	if refName("refs/heads/"+name) != "" || strings.Contains(name, "/") {
		return nil, "its name is not one for the host"
	}
	back, err := x.box.read(rel+"/gitdir", maxPointer)
	pointer := strings.TrimSuffix(string(back), "\n")
	if err != nil || !filepath.IsAbs(pointer) || filepath.Clean(pointer) != pointer || filepath.Base(pointer) != ".git" || strings.ContainsAny(pointer, "\n\x00") {
		return nil, "it does not say where it is"
	}
	top := filepath.Dir(pointer)
	inside := slices.ContainsFunc(x.roots, func(root string) bool { return paths.Inside(root, top) })
	if !inside {
		return nil, "it is outside of what a box changes here, but commits on its branch cross"
	}
	d, err := openFolder(top)
	if err != nil {
		return nil, "its folder is not there"
	}
	defer d.close()
	want := "gitdir: " + x.u.Common + "/" + rel
	if text, err := d.read(".git", maxPointer); err != nil || strings.TrimSuffix(string(text), "\n") != want {
		return nil, "its .git does not lead to this repository"
	}
	for _, m := range x.moves {
		if m.held {
			return nil, "a branch is held back"
		}
	}
	v := &viewState{view: &view{Rel: rel, Top: top, Index: "none", Merge: map[string]string{}}, u: x.u}
	data, err := x.box.read(rel+"/HEAD", maxLoose)
	v.boxHead = headValue(data, x.u.Digits)
	if err != nil || v.boxHead == "" {
		return nil, "its HEAD says nothing that git understands"
	}
	if err := x.boxIndexOf(v); err != nil {
		return nil, err.Error()
	}
	links := v.boxIndex.gitlinks()
	for _, old := range x.views {
		for path := range x.hostIndexRead(old).gitlinks() {
			delete(links, path)
		}
	}
	if len(links) > 0 {
		return nil, "its index has another repository"
	}
	return v, ""
}

// worktreeObjects brings what the HEADs and indexes of new worktrees need.
func (x *exchange) worktreeObjects(ctx context.Context, made []*viewState) error {
	views, moves := x.views, x.moves
	defer func() { x.views, x.moves = views, moves }()
	x.views, x.moves = made, nil
	return x.plumb(func() error { return x.carryObjects(ctx) })
}

// writeWorktree makes the host's folder of a worktree, and returns why it could not, or "". The file
// gitdir comes last: without it git does not take the folder for a worktree.
func (x *exchange) writeWorktree(v *viewState) string {
	if name, sym := symbolic(v.boxHead); sym {
		if !hasPrefix(name, "refs/heads") || refName(name) != "" && x.base.refs[name] == "" || x.hostRefs[name] == "" || x.hostRefs[name] != x.boxRefs.refs[name] {
			return "its branch did not cross"
		}
		for _, other := range x.views {
			if other.hostHead == v.boxHead {
				return "its branch is checked out elsewhere"
			}
		}
	}
	plain := x.host.unshared()
	if err := errors.Join(x.host.mkdir("worktrees"), plain.mkdir(v.Rel)); err != nil {
		return err.Error()
	}
	put := func(d *folder, name string, data []byte) error { return d.create(v.file(name), data) }
	err := put(plain, "commondir", []byte("../..\n"))
	if err == nil {
		err = put(x.host, "HEAD", []byte(v.boxHead+"\n"))
	}
	if err == nil && v.boxIndex != nil {
		var out *index
		if out, err = v.boxIndex.taken(nil, 0, false); err == nil {
			err = put(x.host, "index", out.format(x.u.Digits/2))
		}
	}
	if err == nil {
		err = x.logHead(v, "", resolve(v.boxHead, x.hostRefs))
	}
	if text, lerr := x.box.read(v.file("locked"), maxPointer); err == nil && lerr == nil {
		err = put(plain, "locked", []byte(plainText(strings.TrimSpace(string(text)), 200)+"\n"))
	}
	if err == nil {
		err = put(plain, "gitdir", []byte(v.Top+"/.git\n"))
	}
	if err != nil {
		_ = x.host.removeTree(v.Rel)
		_ = x.host.rmdir("worktrees")
		return err.Error()
	}
	return ""
}
