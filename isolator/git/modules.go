package git

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/gitconfig"
)

// newModules makes repositories on the host for submodules that the box added: empty ones, whose refs, HEAD and index
// then cross as those of every other repository do. It comes before the commits that name them.
func (x *exchange) newModules(ctx context.Context) {
	found := 0
	_ = x.box.modules(func(rel string) error {
		if x.host.has(rel) {
			return nil
		}
		if found++; found > maxModules {
			return errTooMany
		}
		if err := x.newModule(ctx, rel); err != nil {
			x.say("the submodule %s that the box added stays with it: %v", plainText(strings.TrimPrefix(rel, "modules/"), 100), err)
			x.rep.Pending = true
		}
		return nil
	})
}

// newModule makes and crosses the repository of a submodule.
func (x *exchange) newModule(ctx context.Context, rel string) error {
	r, err := x.moduleOf(rel)
	if err != nil {
		return err
	}
	u, err := x.emptyModule(r, rel)
	if err != nil {
		return err
	}
	// It is recorded before it exists, so that a crash loses nothing.
	x.meta.Units = append(x.meta.Units, u)
	if err := x.save(); err != nil {
		return err
	}
	if err := x.host.rename(tempName(rel, x.meta.Run), rel); err != nil {
		return err
	}
	return x.crossUnit(ctx, u, x.o, x.rep)
}

// moduleOf reads the repository of a submodule that the host can have.
func (x *exchange) moduleOf(rel string) (*Repo, error) {
	name := strings.TrimPrefix(rel, "modules/")
	if refName("refs/heads/"+name) != "" || treePath(name) != "" {
		return nil, unfit("its name is not one for the host")
	}
	for dir := path.Dir(rel); dir != "modules"; dir = path.Dir(dir) {
		if x.host.has(dir + "/HEAD") {
			return nil, unfit("it lies in another submodule's repository")
		}
	}
	data, err := x.box.read(rel+"/config", maxConfig)
	if err != nil {
		return nil, unfit("it has no settings")
	}
	list, err := gitconfig.Parse(data)
	if err != nil {
		return nil, unfit("its settings cannot be read")
	}
	r := &Repo{Dir: filepath.Join(x.u.Common, rel), Common: filepath.Join(x.u.Common, rel), Pointer: true, config: list}
	if err := r.formats(); err != nil {
		return nil, err
	}
	r.Top = absolute(r.Common, r.setting("core.worktree"))
	if r.Digits != x.u.Digits || !slices.ContainsFunc(x.roots, func(root string) bool { return paths.Inside(root, r.Top) }) {
		return nil, unfit("its work tree is not the box's to write")
	}
	top, err := openFolder(r.Top)
	if err != nil {
		return nil, unfit("its work tree is not there")
	}
	defer top.close()
	line, err := top.line(".git")
	if target, ok := strings.CutPrefix(line, "gitdir: "); err != nil || !ok || absolute(r.Top, target) != r.Common {
		return nil, unfit("its .git does not lead to it")
	}
	return r, nil
}

// noBranch is the branch of HEAD in an empty repository until the box's HEAD crosses.
const noBranch = "refs/heads/inner-none"

// emptyModule makes an empty repository under a temporary name of inner's own.
func (x *exchange) emptyModule(r *Repo, rel string) (*unit, error) {
	config, err := moduleConfig(r)
	if err != nil {
		return nil, err
	}
	temp := tempName(rel, x.meta.Run)
	if x.host.has(temp) {
		if err := x.host.removeTree(temp); err != nil {
			return nil, err
		}
	}
	host := x.host.unshared() // as when git clones one
	for _, dir := range emptyFolders() {
		if err := host.mkdir(temp + "/" + dir); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(host.create(temp+"/config", config), host.create(temp+"/HEAD", []byte("ref: "+noBranch+"\n"))); err != nil {
		return nil, err
	}
	st, err := x.host.stat(temp)
	if err != nil {
		return nil, err
	}
	box, err := x.box.sub(rel)
	if err != nil {
		return nil, err
	}
	defer box.close()
	text, _ := box.read("config", maxConfig)
	return &unit{
		N: len(x.meta.Units), Common: r.Common, Dev: st.Dev, Ino: st.Ino, Box: x.u.Box + "/" + rel, Digits: r.Digits,
		Elsewhere: map[string]bool{}, Files: settingsOf(box), Config: string(text), Made: true,
		Views: []*view{{Top: r.Top, Head: "ref: " + noBranch, Index: "none", Box: "none", Merge: map[string]string{}, Busy: map[string]bool{}}},
	}, nil
}

// moduleConfig returns the settings that a new submodule gets.
func moduleConfig(r *Repo) ([]byte, error) {
	tree, err := filepath.Rel(r.Common, r.Top)
	if err != nil {
		return nil, err
	}
	config := []gitconfig.Entry{
		{Key: "core.repositoryformatversion", Value: "0"},
		{Key: "core.filemode", Value: "true"},
		{Key: "core.bare", Value: "false"},
		{Key: "core.logallrefupdates", Value: "true"},
		{Key: "core.worktree", Value: tree},
	}
	if r.Digits == 64 {
		config[0].Value = "1"
		config = append(config, gitconfig.Entry{Key: "extensions.objectformat", Value: "sha256"})
	}
	if url := r.setting("remote.origin.url"); plainURL(url) {
		config = append(config, gitconfig.Entry{Key: "remote.origin.url", Value: url}, gitconfig.Entry{Key: "remote.origin.fetch", Value: "+refs/heads/*:refs/remotes/origin/*"})
	}
	return gitconfig.File("", config), nil
}

// plainURL reports whether git fetches from an address without running a helper that the address names.
func plainURL(url string) bool {
	if url == "" || len(url) > 2000 || plainText(url, 2000) != url || url[0] == '-' || strings.Contains(url, "::") || strings.ContainsAny(url, "\"\\ ") {
		return false
	}
	scheme, _, ok := strings.Cut(url, "://")
	return !ok || slices.Contains([]string{"https", "http", "ssh", "git", "file"}, scheme)
}

// dropUnmade forgets repositories that inner could not make because it crashed: they are found again.
func (c *Copy) dropUnmade() {
	c.meta.Units = slices.DeleteFunc(c.meta.Units, func(u *unit) bool {
		var st unix.Stat_t
		return u.Made && unix.Lstat(u.Common, &st) != nil
	})
}

// mayEnter reports whether git outside may enter what lies at a path of a work tree: only a submodule whose
// repository inner made. What is harmless now, a later box can replace.
func (x *exchange) mayEnter(top, link string) bool {
	return slices.ContainsFunc(x.meta.Units, func(u *unit) bool { return u.Made && u.Views[0].Top == filepath.Join(top, link) })
}
