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
			if err := x.removeWorktree(ctx, v); err != nil {
				x.say("%s: the box removed this worktree, and it stays outside: %v", v.Top, err)
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
// box cannot remove.
func (x *exchange) removeWorktree(ctx context.Context, v *viewState) error {
	switch {
	case v.hostHead != v.Head, v.hostChanged:
		return unfit("it was changed outside")
	case x.host.has(v.file("locked")):
		return unfit("it is locked")
	}
	if err := x.removePointer(v); err != nil {
		return err
	}
	if !isSymbolic(v.hostHead) {
		kept := map[string]string{x.inner("refs/old/" + v.Rel): v.hostHead}
		if err := x.plumb(func() error { return x.keep(ctx, kept) }); err != nil {
			return err
		}
	}
	return x.dropWorktree(v.Rel)
}

// removePointer removes the .git file of a worktree, and its folder if nothing else is in it.
func (x *exchange) removePointer(v *viewState) error {
	parent, err := openFolder(filepath.Dir(v.Top))
	if err != nil {
		return err
	}
	defer parent.close()
	name := filepath.Base(v.Top)
	if !parent.has(name) {
		return nil
	}
	if line, err := parent.line(name + "/.git"); err != nil || line != "gitdir: "+x.u.Common+"/"+v.Rel {
		return unfit("its .git does not lead to this repository")
	}
	if err := parent.remove(name + "/.git"); err != nil {
		return err
	}
	if parent.rmdir(name) != nil {
		x.say("%s: the box removed this worktree; files of it that are still there are plain files now", v.Top)
	}
	return nil
}

// dropWorktree removes the host's folder of a worktree.
func (x *exchange) dropWorktree(rel string) error {
	err := x.host.removeTree(rel)
	_ = x.host.rmdir("worktrees") // if it was the last one
	return err
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
	out, err := v.boxIndex.taken(nil, 0, false)
	if err != nil {
		return err
	}
	known := v.hostIndex().gitlinks()
	out.entries = slices.DeleteFunc(out.entries, func(e indexEntry) bool {
		return e.stage() != 0 || e.mode == modeGitlink && !known[e.name] || e.extra&extraIntent != 0
	})
	if err := x.state.replace(keptIndex, keptIndex+".new", out.format(x.u.Digits/2)); err != nil {
		return err
	}
	return x.plumb(func() error {
		// The tree is made in a store of inner's, and crosses checked as all others do.
		if err := x.take(ctx); err != nil {
			return err
		}
		commit, err := x.commitIndex(ctx, resolve(v.boxHead, x.boxRefs.refs))
		if err != nil || commit == "" {
			return err
		}
		if err := x.bring(ctx, []string{commit}, x.have()); err != nil {
			return err
		}
		ref := x.inner("refs/" + v.file("index"))
		if err := x.keep(ctx, map[string]string{ref: commit}); err != nil {
			return err
		}
		x.say("%s: what was staged in the box is %s", v.Top, ref)
		return nil
	})
}

// keptIndex is the file in the state folder of what keepIndex makes a commit of.
const keptIndex = "index.kept"

// commitIndex makes a commit of keptIndex in the store of inner's, unless head has the same files.
func (x *exchange) commitIndex(ctx context.Context, head string) (commit string, err error) {
	git := func(index string, args ...string) (string, error) {
		text, err := x.p.text(ctx, call{args: args, index: index, store: x.seen.intake.path, further: []string{hostObjects()}})
		return strings.TrimSpace(text), err
	}
	tree, err := git(filepath.Join(x.state.path, keptIndex), "write-tree")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", "-m", "What was staged in the box of run " + x.meta.Run}
	if head != "" {
		was, err := git("", "rev-parse", "--verify", head+"^{tree}")
		if err != nil || tree == was {
			return "", err
		}
		args = append(args, "-p", head)
	}
	return git("", append(args, tree)...)
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
		switch section, sub, _ := e.Parts(); section {
		case "remote":
			remotes[sub] = true
		case "branch":
			known[sub] = true
		}
	}
	remote, merge := map[string]string{}, map[string]string{}
	for _, e := range box {
		section, branch, name := e.Parts()
		switch {
		case section != "branch":
		case name == "remote" && remotes[e.Value]:
			remote[branch] = e.Value
		case name == "merge" && hasPrefix(e.Value, "refs/heads") && refName(e.Value) == "":
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
		if v, err := x.newWorktree(e.Name(), rel); err != nil {
			stays(rel, err.Error())
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
		if v.stays != "" {
			x.rep.Pending = true // the copy has it
			stays(v.Rel, v.stays)
		} else if err := x.writeWorktree(v); err != nil {
			stays(v.Rel, err.Error())
		}
	}
	return nil
}

// newWorktree reads a worktree of the box that can cross.
func (x *exchange) newWorktree(name, rel string) (*viewState, error) {
	if refName("refs/heads/"+name) != "" || strings.Contains(name, "/") {
		return nil, unfit("its name is not one for the host")
	}
	top, err := x.worktreeTop(rel)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(x.moves, func(m *move) bool { return m.held }) {
		return nil, unfit("a branch is held back")
	}
	v := x.newView(&view{Rel: rel, Top: top, Index: "none", Merge: map[string]string{}})
	if v.boxHead, err = x.box.head(v.file("HEAD"), x.u.Digits); err != nil || v.boxHead == "" {
		return nil, unfit("its HEAD says nothing that git understands")
	}
	if err := x.findBoxIndex(v); err != nil {
		return nil, err
	}
	links := v.boxIndex.gitlinks()
	for _, old := range x.views {
		for path := range old.hostIndex().gitlinks() {
			delete(links, path)
		}
	}
	if len(links) > 0 {
		return nil, unfit("its index has another repository")
	}
	return v, nil
}

// worktreeTop returns where a worktree of the box is, if its .git leads back.
func (x *exchange) worktreeTop(rel string) (top string, err error) {
	data, err := x.box.read(rel+"/gitdir", maxPointer)
	pointer := strings.TrimSuffix(string(data), "\n")
	if err != nil || !filepath.IsAbs(pointer) || filepath.Clean(pointer) != pointer || filepath.Base(pointer) != ".git" || strings.ContainsAny(pointer, "\n\x00") {
		return "", unfit("it does not say where it is")
	}
	top = filepath.Dir(pointer)
	if !slices.ContainsFunc(x.roots, func(root string) bool { return paths.Inside(root, top) }) {
		return "", unfit("it is outside of what a box changes here, but commits on its branch cross")
	}
	d, err := openFolder(top)
	if err != nil {
		return "", unfit("its folder is not there")
	}
	defer d.close()
	if line, err := d.line(".git"); err != nil || line != "gitdir: "+x.u.Common+"/"+rel {
		return "", unfit("its .git does not lead to this repository")
	}
	return top, nil
}

// worktreeObjects brings what the HEADs and indexes of new worktrees need.
func (x *exchange) worktreeObjects(ctx context.Context, made []*viewState) error {
	views, moves := x.views, x.moves
	defer func() { x.views, x.moves = views, moves }()
	x.views, x.moves = made, nil
	return x.plumb(func() error { return x.carryObjects(ctx) })
}

// writeWorktree makes the host's folder of a worktree, or leaves none.
func (x *exchange) writeWorktree(v *viewState) error {
	if err := x.mayCheckOut(v.boxHead); err != nil {
		return err
	}
	err := x.putWorktree(v)
	if err != nil {
		_ = x.dropWorktree(v.Rel)
	}
	return err
}

// mayCheckOut returns an error if a new worktree cannot have that HEAD on the host.
func (x *exchange) mayCheckOut(head string) error {
	name, sym := symbolic(head)
	switch {
	case !sym:
		return nil
	case !hasPrefix(name, "refs/heads"), refName(name) != "" && x.base.refs[name] == "", x.hostRefs[name] == "", x.hostRefs[name] != x.boxRefs.refs[name]:
		return unfit("its branch did not cross")
	case slices.ContainsFunc(x.views, func(other *viewState) bool { return other.hostHead == head }):
		return unfit("its branch is checked out elsewhere")
	}
	return nil
}

// putWorktree writes the files of a worktree. The file gitdir comes last: without it git does not take the folder for a
// worktree.
func (x *exchange) putWorktree(v *viewState) error {
	plain := x.host.unshared()
	err := errors.Join(x.host.mkdir("worktrees"), plain.mkdir(v.Rel),
		plain.create(v.file("commondir"), []byte("../..\n")), x.host.create(v.file("HEAD"), []byte(v.boxHead+"\n")))
	if err != nil {
		return err
	}
	if v.boxIndex != nil {
		out, err := v.boxIndex.taken(nil, 0, false)
		if err != nil {
			return err
		}
		if err := x.host.create(v.file("index"), out.format(x.u.Digits/2)); err != nil {
			return err
		}
	}
	if err := x.logHead(v, "", resolve(v.boxHead, x.hostRefs)); err != nil {
		return err
	}
	if text, err := x.box.read(v.file("locked"), maxPointer); err == nil {
		if err := plain.create(v.file("locked"), []byte(plainText(strings.TrimSpace(string(text)), 200)+"\n")); err != nil {
			return err
		}
	}
	return plain.create(v.file("gitdir"), []byte(v.Top+"/.git\n"))
}
