package clone

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/program"
	"github.com/enr/inner/isolator/git/server"
)

const (
	nothing   = "0000000000000000000000000000000000000000"
	emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904" // of no files
	maxTries  = 2000                                       // to move refs, and stashes
	maxLines  = 20                                         // for the person: a box can make a hundred thousand refs
	maxRef    = 4096                                       // bytes of a file
	maxFile   = 256 << 20                                  // bytes of a larger one, or of folders of refs
)

type bringing struct {
	*Clone
	State
	tell    func(format string, args ...any)
	gate    *gate.Gate
	now     side   // outside
	trees   string // what the other work trees have checked out
	waiting side
	moved   []server.Moved
	tries   int
}

// Bring moves outside what the box has moved, and tells the person what they should know. What waits is a state then.
func (c *Clone) Bring(s State, say func(format string, args ...any)) (moved []server.Moved, err error) {
	b := &bringing{Clone: c, State: s, tell: say, waiting: side{}}
	b.Lines = nil
	if err := b.bring(); err != nil {
		b.say("nothing came: %v", err)
		return nil, b.Write()
	}
	if len(b.waiting) == 0 {
		return b.moved, s.Drop()
	}
	b.Box, b.Start = b.waiting, side{}
	for name := range b.waiting {
		b.Start[name] = s.Start[name]
	}
	return b.moved, b.Write()
}

func (b *bringing) bring() (err error) {
	if b.gate, err = gate.Open(b.Repository.Repository, b.tell); err != nil {
		return err
	}
	defer b.gate.Close()
	if b.now, err = read(b.Dir, b.Place()); err != nil {
		return err
	}
	trees, err := b.git("", "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	if b.Box == nil {
		if b.Box, err = read(b.Folder(), b.Place()); err != nil {
			b.Box = nil
			return err
		}
		half := func(name string) bool {
			return files.Exists(filepath.Join(b.Folder(), b.Place(), name)) && !b.busy(name)
		}
		if goesOn := b.Tree == "" && b.At == "" && slices.ContainsFunc(halfDone, half); !goesOn &&
			slices.ContainsFunc(slices.Concat(pending, halfDone), half) {
			b.say("a merge or the like is half done in the sandbox and does not go on: it begins anew")
		}
	}
	all := side{}
	maps.Copy(all, b.Start)
	maps.Copy(all, b.Box)
	own := strings.TrimPrefix(b.now["HEAD"], "ref: ")
	b.trees = strings.Replace("\n"+trees, "\nbranch "+own+"\n", "\n", 1)
	maps.DeleteFunc(all, func(name, _ string) bool { return name == "HEAD" || name == own })
	b.refs(slices.Sorted(maps.Keys(all))...)
	if err := b.head(); err != nil {
		b.say("HEAD of the sandbox is %s: %v", b.Box["HEAD"], err)
		if b.Box["HEAD"] == b.Box.tip() {
			b.aside("HEAD", "is detached", "merge")
		}
	}
	b.refs(own)
	return nil
}

// git runs the host's over the host's repository, without hooks and monitors.
func (b *bringing) git(in string, args ...string) (string, error) {
	cmd := program.Command(b.Git, append([]string{"-c", "submodule.recurse=false"}, args...)...)
	cmd.Env = append(cmd.Env, "GIT_DIR="+filepath.Join(b.Dir, b.Place()), "GIT_WORK_TREE="+b.Top)
	cmd.Stdin, cmd.SysProcAttr = strings.NewReader(in), &syscall.SysProcAttr{Setsid: true} // no signal of a terminal reaches it
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return string(out), err
}

func (b *bringing) why() string { return "inner: run " + b.State.Run }

// say tells the person, but not a hundred thousand things: a box can make as many refs.
func (b *bringing) say(format string, args ...any) {
	if len(b.Lines) == maxLines {
		format, args = "and more of that kind", nil
	}
	if len(b.Lines) <= maxLines {
		b.Lines = append(b.Lines, visible.Line(fmt.Sprintf(format, args...)))
		b.tell("git: %s", b.Lines[len(b.Lines)-1])
	}
}

func (b *bringing) waits(m server.Moved, err error) {
	b.say("%s of the sandbox waits: %v", m.Ref, err)
	b.waiting[m.Ref] = m.New
}

// headLine is what git writes to HEAD, and no command takes for an option.
var headLine = lazy.Regexp(`^(ref: refs/heads/.+|[0-9a-f]{40})$`)

// refs moves refs, or what the box has of them comes aside.
func (b *bringing) refs(names ...string) {
	var list []server.Moved
	for _, name := range names {
		m, now := server.Moved{Repo: b.Dir, Ref: name, Old: b.Start[name], New: b.Box[name]}, b.now[name]
		stash := strings.HasPrefix(name, "stash/")
		switch {
		case m.New == m.Old || m.New == now || strings.HasPrefix(m.New, "ref: ") || strings.HasPrefix(name, "refs/replace/"):
		case name == "refs/stash" || stash && m.New == "": // what it has dropped stays
		case stash:
			b.aside(name, "was made", "stash apply")
		case !gate.GoodRef(name) || m.New != "" && !headLine().MatchString(m.New) || m.New == nothing:
			b.waits(m, errors.New("it is not what git writes"))
		case now != m.Old:
			b.aside(name, b.outside(), "merge")
		case "ref: "+name == b.now["HEAD"] || strings.Contains(b.trees, "\nbranch "+name+"\n"):
			b.aside(name, "is checked out", "merge")
		default:
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(x, y server.Moved) int { return min(len(x.New), 1) - min(len(y.New), 1) }) // what goes makes room
	b.apply(list)
}

// outside says why a ref does not move.
func (b *bringing) outside() string {
	if len(b.Start) == 0 {
		return "may have moved outside meanwhile: an earlier version of inner did not note where it was"
	}
	return "was moved outside meanwhile"
}

// apply brings what refs need and moves them, all at once, or fewer where that is refused.
func (b *bringing) apply(list []server.Moved) {
	if len(list) == 0 {
		return
	}
	var ids []string
	var in strings.Builder
	for _, m := range list {
		ids = append(ids, cmp.Or(m.New, nothing))
		in.WriteString("update " + m.Ref + "\x00" + m.New + "\x00" + cmp.Or(m.Old, nothing) + "\x00")
	}
	err := b.gate.Bring(ids...)
	if err == nil {
		_, err = b.git(in.String(), "update-ref", "--no-deref", "-m", b.why(), "--stdin", "-z")
	}
	if b.tries++; err != nil && len(list) > 1 && b.tries < maxTries {
		b.apply(list[:len(list)/2])
		b.apply(list[len(list)/2:])
		return
	}
	for _, m := range list {
		if err != nil {
			b.waits(m, err)
		} else {
			b.moved, b.now[m.Ref] = append(b.moved, m), m.New
		}
	}
}

// aside brings what the box has of a ref under a name of this run, with the words to have it.
func (b *bringing) aside(name, why, words string) {
	to, value := "refs/inner/"+b.State.Run+"/"+strings.TrimPrefix(name, "refs/"), b.Box[name]
	if value == "" {
		b.say("%s is gone in the sandbox and stays outside: it %s", name, why)
		return
	}
	if b.apply([]server.Moved{{Repo: b.Dir, Ref: to, Old: b.now[to], New: value}}); b.now[to] == value {
		b.say("%s %s; what the sandbox has comes with: git %s %s", name, why, words, quote.POSIX(to))
	}
}

// head moves HEAD, or its branch, after the entries of its commit in the index.
func (b *bringing) head() error {
	old, tip := b.Start.tip(), b.Box.tip()
	name, symbolic := strings.CutPrefix(b.Box["HEAD"], "ref: ")
	args := []string{"update-ref", "--no-deref", "-m", b.why(), "HEAD", tip, cmp.Or(old, nothing)}
	switch {
	case b.Box.at() == b.Start.at() || b.Box.at() == b.now.at() || b.Box["HEAD"] == "":
		return nil
	case !headLine().MatchString(b.Box["HEAD"]) || symbolic && !gate.GoodRef(name):
		return errors.New("it is not what git writes")
	case b.now.at() != b.Start.at():
		return errors.New("HEAD " + b.outside())
	case slices.ContainsFunc(slices.Concat(pending, halfDone), b.busy):
		return errors.New("a merge or the like is half done outside")
	case b.Box["HEAD"] == b.now["HEAD"]:
		args[4] = name
	case symbolic && (b.now[name] != tip || strings.Contains(b.trees, "\nbranch "+name+"\n")):
		return errors.New("that branch is checked out, or another one, outside")
	case symbolic:
		args = []string{"symbolic-ref", "-m", b.why(), "HEAD", name}
	}
	if err := b.gate.Bring(cmp.Or(tip, nothing)); err != nil {
		return err
	}
	if err := b.entries(old, tip); err != nil {
		return err
	}
	if _, err := b.git("", args...); err != nil {
		return errors.Join(err, b.entries(tip, old))
	}
	moved := server.Moved{Repo: b.Dir, Ref: name, Old: old, New: tip}
	if b.now["HEAD"] != b.Box["HEAD"] {
		moved = server.Moved{Repo: b.Dir, Ref: filepath.Join(b.Place(), "HEAD"), Old: b.now["HEAD"], New: b.Box["HEAD"]}
	}
	b.moved = append(b.moved, moved)
	b.now[name], b.now["HEAD"] = tip, b.Box["HEAD"]
	b.gate.SettleBetween(old, tip)
	return nil
}

// busy reports whether the person's git has such a file.
func (b *bringing) busy(name string) bool { return files.Exists(filepath.Join(b.Dir, b.Place(), name)) }

// entries makes those of one commit in the index those of another, which git refuses where the person has staged
// something else. It waits a moment for another git.
func (b *bringing) entries(old, tip string) error {
	for i := 0; i < 50 && b.busy("index.lock"); i++ {
		time.Sleep(20 * time.Millisecond)
	}
	if old == "" || tip == "" { // git has it always, but not for git fsck
		_, _ = b.git("", "hash-object", "-w", "-t", "tree", "--stdin")
	}
	_, err := b.git("", "read-tree", "-i", "-m", cmp.Or(old, emptyTree), cmp.Or(tip, emptyTree))
	return err
}
