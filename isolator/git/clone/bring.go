package clone

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/git/share"
	"github.com/enr/inner/profile/gitconfig"
)

// Report is what came of it.
type Report struct {
	Moved []Move
	Lines []string // for the person
	Kept  bool     // something is left in the folder, and tried again
}

// Move is a ref, or HEAD, that was moved outside: from an old value to a new one, each "" for none.
type Move struct{ Name, Old, New string }

type bringing struct {
	*Clone
	Report
	gate      share.Objects
	from, box side           // at the start, and now
	trees     map[string]int // how many other work trees have a branch checked out
	tries     int
}

// private are the refs that do not come as others do.
var private = lazy.Regexp(`^refs/(stash$|(bisect|worktree|rewritten|replace)/)`)

const (
	nothing  = "0000000000000000000000000000000000000000"
	maxTries = 2000      // to move refs, and stashes
	maxFile  = 256 << 20 // bytes that are read, of a file or of folders of refs
)

// Bring moves outside what the box has moved. After an error all is kept.
func (c *Clone) Bring(gate share.Objects) (Report, error) {
	if c.was.Run == "" {
		return Report{}, nil
	}
	trees, err := c.git("", "worktree", "list", "--porcelain")
	box, lines, errBox := c.box()
	if err = errors.Join(err, errBox, c.look()); err != nil {
		return Report{Kept: true, Lines: lines}, err
	}
	b := &bringing{Clone: c, Report: Report{Lines: lines}, gate: gate, from: c.was.side, box: box, trees: map[string]int{}}
	for line := range strings.Lines(trees + "\n") {
		b.trees[strings.TrimPrefix(strings.TrimSpace(line), "branch ")]++
	}
	own := strings.TrimPrefix(c.now.Head, "ref: ")
	b.trees[own]--
	c.was = state{side{box.Head, maps.Clone(box.Refs)}, c.was.Run, false}
	var gone, list, mine []Move
	all := maps.Clone(box.Refs)
	maps.Copy(all, b.from.Refs)
	for name := range all {
		switch m := (Move{name, b.from.Refs[name], box.Refs[name]}); {
		case private().MatchString(name):
		case name == own:
			mine = []Move{m}
		case m.New == "":
			gone = append(gone, m)
		default:
			list = append(list, m)
		}
	}
	b.apply(append(gone, list...)) // what goes makes room for others
	if err := b.head(); err != nil {
		b.say("HEAD of the sandbox is %s: %v", box.Head, err)
		c.was.Head = b.from.Head
		if box.Head == box.tip() {
			b.aside(Move{"HEAD", "", box.Head}, "is detached")
		}
	}
	b.apply(mine)
	b.stash()
	b.settings()
	for _, name := range c.halfDone() {
		b.say("%s: it is half done in the sandbox, and goes on there in the next run", name)
		b.Kept = true
	}
	return b.Report, c.save()
}

// apply brings what refs need and moves them, all at once, or fewer where that is refused.
func (b *bringing) apply(list []Move) {
	var ids []string
	var in strings.Builder
	list = slices.DeleteFunc(list, func(m Move) bool {
		switch {
		case m.New == b.now.Refs[m.Name] || m.New == m.Old:
			return true
		case b.trees[m.Name] > 0 || "ref: "+m.Name == b.now.Head:
			b.aside(m, "is checked out")
			return true
		case m.New != "":
			ids = append(ids, m.New)
		}
		in.WriteString("update " + m.Name + "\x00" + m.New + "\x00" + cmp.Or(m.Old, nothing) + "\x00")
		return false
	})
	if len(list) == 0 {
		return
	}
	refused := b.gate.Bring(ids...)
	err := refused
	if err == nil {
		_, err = b.git(in.String(), "update-ref", "--no-deref", "-m", b.why(), "--stdin", "-z")
	}
	if b.tries++; err != nil && len(list) > 1 && b.tries < maxTries {
		b.apply(slices.Clone(list[:len(list)/2]))
		b.apply(slices.Clone(list[len(list)/2:]))
		return
	}
	for _, m := range list {
		switch {
		case err == nil:
			b.moved(m)
		case refused == nil && b.now.Refs[m.Name] != m.Old && !strings.HasPrefix(m.Name, "refs/inner/"):
			b.aside(m, "was moved outside meanwhile")
		default:
			b.say("%s of the sandbox waits: %v", m.Name, err)
			b.Kept, b.was.Refs[m.Name] = true, m.Old
		}
	}
}

// aside brings a value under a name of this run, with the words to merge it.
func (b *bringing) aside(m Move, why string) {
	name := b.inner(m.Name)
	if m.New == "" {
		b.say("%s is gone in the sandbox and stays outside: it %s", m.Name, why)
		return
	}
	if b.apply([]Move{{name, b.now.Refs[name], m.New}}); b.now.Refs[name] != m.New {
		b.was.Refs[m.Name] = m.Old
		return
	}
	b.say("%s %s; what the sandbox has comes with: git merge %s", m.Name, why, quote.POSIX(name))
}

// inner is the name aside. One of an earlier run keeps it.
func (c *Clone) inner(name string) string {
	if strings.HasPrefix(name, "refs/inner/") {
		return name
	}
	return "refs/inner/" + c.was.Run + "/" + strings.TrimPrefix(name, "refs/")
}

// refused are the refs that were refused in the run before, under their names aside.
func (c *Clone) refused() map[string]string {
	out := map[string]string{}
	box, _, _ := c.box()
	for name, value := range box.Refs {
		if c.was.Refs[name] != value && !private().MatchString(name) {
			out[c.inner(name)] = value
		}
	}
	if c.was.Head != box.Head && box.Head == box.tip() {
		out[c.inner("HEAD")] = box.Head
	}
	return out
}

func (b *bringing) why() string { return "inner: run " + b.was.Run }

func (b *bringing) say(format string, args ...any) {
	b.Lines = append(b.Lines, visible.Line(fmt.Sprintf(format, args...)))
}

func (b *bringing) moved(m Move) { b.Moved, b.now.Refs[m.Name] = append(b.Moved, m), m.New }

// head moves HEAD, or its branch, after the entries of its commit in the index.
func (b *bringing) head() error {
	old, tip := b.from.tip(), b.box.tip()
	name, symbolic := strings.CutPrefix(b.box.Head, "ref: ")
	args := []string{"update-ref", "--no-deref", "-m", b.why(), "HEAD", tip, cmp.Or(old, nothing)}
	switch same := b.box.Head == b.now.Head; {
	case b.box.at() == b.from.at() || b.box.at() == b.now.at():
		return nil
	case b.now.at() != b.from.at():
		return errors.New("HEAD was moved outside meanwhile")
	case slices.ContainsFunc(unfinished, func(name string) bool { return files.Exists(filepath.Join(b.GitDir, name)) }):
		return errors.New("a merge or the like is half done outside")
	case symbolic && tip == "" && same:
		return errors.New("its branch is gone")
	case symbolic && same:
		args[4] = name
	case symbolic && (b.trees[name] > 0 || b.now.Refs[name] != tip):
		return errors.New("that branch is checked out, or another one, outside")
	case symbolic:
		args = []string{"symbolic-ref", "-m", b.why(), "HEAD", name}
	}
	if err := b.gate.Bring(cmp.Or(tip, nothing)); err != nil {
		return err
	}
	if err := b.index(old, tip); err != nil {
		return err
	}
	if _, err := b.git("", args...); err != nil {
		return errors.Join(err, b.index(tip, old))
	}
	b.moved(Move{args[4], old, tip})
	b.now.Head = b.box.Head
	return nil
}

// index moves the entries of one commit to those of another, which git refuses where the person has staged
// something else. It waits a moment for another git.
func (b *bringing) index(old, tip string) (err error) {
	empty := ""
	if old == "" || tip == "" {
		empty, _ = b.git("", "hash-object", "-t", "tree", "-w", "--stdin")
	}
	for range 50 {
		_, err = b.git("", "read-tree", "-i", "-m", cmp.Or(old, empty), cmp.Or(tip, empty))
		if err == nil || !files.Exists(filepath.Join(b.GitDir, "index.lock")) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// stash stores what the box has stashed. What it has dropped stays.
func (b *bringing) stash() {
	log, _ := b.inside("logs/refs/stash")
	had, _ := files.Read(filepath.Join(b.Common, "logs/refs/stash"), files.NoLinks, maxFile)
	for _, m := range stashLine().FindAllSubmatch(log, maxTries) {
		id := string(m[1])
		if bytes.Contains(had, m[1]) {
			continue
		}
		err := b.gate.Bring(id)
		if err == nil {
			_, err = b.git("", "stash", "store", "-m", visible.Line(string(m[2])), id)
		}
		if err != nil {
			b.say("stash %s of the sandbox waits: %v", id, err)
			b.Kept = true
		}
	}
}

var stashLine = lazy.Regexp(`(?m)^[0-9a-f]{40} ([0-9a-f]{40}) .*\t(.*)$`)

// settings passes those of branches that mean nothing else.
func (b *bringing) settings() {
	text, _ := b.inside("config")
	list, _ := gitconfig.Parse(text)
	for _, e := range list {
		if old, had := gitconfig.Last(b.Settings, e.Key); (!had || old.Value != e.Value) && share.BranchPasses(e, b.Settings) {
			if err := b.Branch(e.Key, &e.Value); err != nil {
				b.say("%s stays in the sandbox: %v", e.Key, err)
			}
		}
	}
}

// look reads what is outside.
func (c *Clone) look() error {
	out, err := c.git("", "for-each-ref", "--format=%(objectname) %(refname) %(symref)")
	c.now.Refs = map[string]string{}
	for line := range strings.Lines(out + "\n") {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), " "); len(f) == 3 && f[2] == "" {
			c.now.Refs[f[1]] = f[0]
		}
	}
	head, detached := c.git("", "symbolic-ref", "-q", "HEAD")
	if c.now.Head = "ref: " + head; detached != nil {
		c.now.Head, detached = c.git("", "rev-parse", "HEAD")
	}
	return errors.Join(err, detached)
}

// git runs the host's over the host's repository, without hooks and monitors.
func (c *Clone) git(in string, args ...string) (string, error) {
	cmd := exec.Command(c.Git, append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false"}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.SysProcAttr = c.Folder, strings.NewReader(in), &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(slices.Clone(c.Env), "LC_ALL=C", "GIT_DIR="+c.GitDir, "GIT_WORK_TREE="+c.Top)
	out, err := cmd.Output()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		err = fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// inside reads a plain file of the box. The root keeps a link from leading out.
func (c *Clone) inside(name string) ([]byte, error) {
	f, err := c.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, errors.Join(err, errors.New("not a plain file, or too large"))
	}
	return io.ReadAll(f)
}

var headLine = lazy.Regexp(`^(ref: refs/heads/[^\x00-\x20~^:?*\[\\-][^\x00-\x20~^:?*\[\\]*|[0-9a-f]{40})\n$`)

// isRef reports whether git writes such a ref with the name of an object, not that of nothing.
func isRef(name, id string) bool {
	return strings.HasPrefix(name, "refs/") && !strings.Contains(name, "/-") && !strings.Contains(name, "\x00") &&
		len(id) == 40 && id != nothing && strings.Trim(id, "0123456789abcdef") == ""
}

// box reads what the box has. What is not git's counts as it was, and a line names it.
func (c *Clone) box() (s side, lines []string, err error) {
	odd := func(name string) {
		lines = append(lines, fmt.Sprintf("%q in the sandbox is not what git writes", name))
	}
	s.Head = c.was.Head
	if head, _ := c.inside(filepath.Join(c.rel, "HEAD")); headLine().Match(head) {
		s.Head = strings.TrimSuffix(string(head), "\n")
	} else {
		odd("HEAD")
	}
	packed, err := c.inside("packed-refs")
	if s.Refs = packedRefs(string(packed)); err != nil || s.Refs == nil {
		s.Refs = map[string]string{}
		maps.Copy(s.Refs, c.was.Refs)
		odd("packed-refs")
	}
	seen := int64(0)
	err = fs.WalkDir(c.root.FS(), "refs", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name == "refs" && !errors.Is(err, fs.ErrNotExist):
			return err
		case err != nil:
			odd(name)
		case e.IsDir(): // it is read as a whole
			info, err := e.Info()
			if seen += info.Size(); err != nil || seen > maxFile {
				return errors.Join(err, errors.New("more refs in the sandbox than inner reads"))
			}
		case !strings.HasSuffix(name, ".lock"):
			text, _ := c.inside(name)
			if id := strings.TrimSuffix(string(text), "\n"); isRef(name, id) {
				s.Refs[name] = id
			} else if !strings.HasPrefix(id, "ref: ") {
				odd(name)
			}
		}
		return nil
	})
	return s, lines, err
}

// packedRefs reads a file of refs, and returns nil if it is not git's.
func packedRefs(text string) map[string]string {
	refs := map[string]string{}
	for line := range strings.Lines(text) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case line[0] == '#' || line[0] == '^':
		case !isRef(name, id):
			return nil
		default:
			refs[name] = id
		}
	}
	return refs
}
