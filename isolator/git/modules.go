package git

import (
	"context"
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
		if why := x.newModule(ctx, rel); why != "" {
			x.say("the submodule %s that the box added stays with it: %s", plainText(strings.TrimPrefix(rel, "modules/"), 100), why)
			x.rep.Pending = true
		}
		return nil
	})
}

// newModule makes and crosses the repository of a submodule. It returns why it does not cross, or "".
func (x *exchange) newModule(ctx context.Context, rel string) string {
	name := strings.TrimPrefix(rel, "modules/")
	if refName("refs/heads/"+name) != "" || treePath(name) != "" {
		return "its name is not one for the host"
	}
	for dir := path.Dir(rel); dir != "modules"; dir = path.Dir(dir) {
		if x.host.has(dir + "/HEAD") {
			return "it lies in another submodule's repository"
		}
	}
	data, err := x.box.read(rel+"/config", maxConfig)
	if err != nil {
		return "it has no settings"
	}
	list, err := gitconfig.Parse(data)
	if err != nil {
		return "its settings cannot be read"
	}
	r := &Repo{Dir: filepath.Join(x.u.Common, rel), Common: filepath.Join(x.u.Common, rel), Pointer: true, config: list}
	if err := r.formats(); err != nil {
		return err.Error()
	}
	r.Top = absolute(r.Common, r.setting("core.worktree"))
	if r.Digits != x.u.Digits || !slices.ContainsFunc(x.roots, func(root string) bool { return paths.Inside(root, r.Top) }) {
		return "its work tree is not the box's to write"
	}
	top, err := openFolder(r.Top)
	if err != nil {
		return "its work tree is not there"
	}
	defer top.close()
	text, err := top.read(".git", maxPointer)
	if target, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), "gitdir: "); err != nil || !ok || absolute(r.Top, target) != r.Common {
		return "its .git does not lead to it"
	}
	u, err := x.emptyModule(r, rel)
	if err != nil {
		return err.Error()
	}
	// It is recorded before it exists, so that a crash loses nothing.
	x.meta.Units = append(x.meta.Units, u)
	temp := tempName(rel, x.meta.Run)
	if err = x.save(); err == nil {
		err = x.host.rename(temp, rel)
	}
	if err == nil {
		err = x.crossUnit(ctx, u, x.o, x.rep)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// noBranch is the branch of HEAD in an empty repository until the box's HEAD crosses.
const noBranch = "refs/heads/inner-none"

// emptyModule makes an empty repository under a temporary name of inner's own.
func (x *exchange) emptyModule(r *Repo, rel string) (*unit, error) {
	temp := tempName(rel, x.meta.Run)
	host := x.host.unshared() // as when git clones one
	if x.host.has(temp) {
		if err := x.host.removeTree(temp); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{"objects/pack", "objects/info", "refs/heads", "refs/tags", "info", "hooks"} {
		if err := host.mkdir(temp + "/" + dir); err != nil {
			return nil, err
		}
	}
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
	if err := host.create(temp+"/config", gitconfig.File("", config)); err != nil {
		return nil, err
	}
	if err := host.create(temp+"/HEAD", []byte("ref: "+noBranch+"\n")); err != nil {
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

// mayEnter reports whether git outside may enter what lies at a path of a work tree: a submodule whose
// repository inner made, or what the caller knows to be harmless.
func (x *exchange) mayEnter(top, link string) bool {
	made := slices.ContainsFunc(x.meta.Units, func(u *unit) bool { return u.Made && u.Views[0].Top == filepath.Join(top, link) })
	return made || x.o.Gitlink != nil && x.o.Gitlink(top, link)
}
