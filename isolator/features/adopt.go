package features

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/repos"
)

// Adoption brings what a box made into a folder of the host: nothing of it runs or is obeyed there. It is
// searched in a folder that no living box sees, and moved from there by way of the open folder. All of it is
// copied first: another box may have a file open for writing that the box made.
type Adoption struct {
	From string       // a private folder of INNER_HOME; all that is in it is brought
	To   *os.File     // the folder of the host
	At   string       // its path, for who reads
	Over func() error // nil when what has a name there stays; else whether it may be replaced
}

// Bring brings it, says what was switched off or moved aside, and returns where everything is. What cannot be
// searched as a whole is not brought.
func (a Adoption) Bring(ctx context.Context, c *caller.Caller) (brought []string, err error) {
	own := a.From + ".own"
	if err := copytree.Remove(own); err != nil { // of an inner that was killed
		return nil, err
	}
	defer func() { err = errors.Join(err, copytree.Remove(own)) }()
	copied, err := copytree.Copy(ctx, a.From, own, copytree.Options{})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(copied.Left, copytree.Left.Lost); i >= 0 {
		return nil, fmt.Errorf("%q in it cannot be copied: %s", copied.Left[i].Path, copied.Left[i].Why)
	}
	from := []string{files.Real(own)}
	s := repos.Search{Homes: c.Homes(), Limit: time.Minute, Hooks: host.EverywhereHooks(c.Getenv)}
	s.Roots, s.Obeyed = from, from
	found, err := s.Hold()
	if len(found.Unseen) > 0 {
		err = errors.Join(err, errors.New("it is too large or too deep to look for what tools on your machine would obey"))
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(own)
	for _, e := range entries {
		if err = copytree.Move(ctx, filepath.Join(own, e.Name()), a.To, e.Name(), a.Over); err != nil {
			break
		}
		if err = copytree.Remove(filepath.Join(a.From, e.Name())); err != nil {
			break
		}
		brought = append(brought, filepath.Join(a.At, e.Name()))
	}
	if len(brought) > 0 {
		sayFound(c, found.Below(from[0], a.At))
	}
	return brought, err
}

// sayFound says what was switched off and moved aside, and how all of it is put back. It returns what was moved aside.
func sayFound(c *caller.Caller, found repos.Found) (aside []string) {
	var names, places []string
	off := map[string][]string{}
	for _, m := range found.Moved {
		if m.Of != "" {
			if off[m.Of] == nil {
				places = append(places, m.Of)
			}
			off[m.Of] = append(off[m.Of], m.What...)
			continue
		}
		aside = append(aside, m.Path)
		names = append(names, fmt.Sprintf("%s (%s)", near(m.Path), m.Tool))
	}
	for _, p := range places {
		c.Warn("%s would run on your machine, and is switched off: %s", c.Short(p), strings.Join(off[p], ", "))
	}
	if len(names) > 0 {
		c.Warn("moved aside, because tools on your machine would obey it: %s",
			strings.Join(visible.Some(names, mostBack), ", "))
	}
	if len(found.Moved) > 0 {
		sayBack(c, found.Moved)
	}
	return aside
}

// near writes a path below the current folder relative to it.
func near(p string) string {
	if cwd, err := os.Getwd(); err == nil {
		p = strings.TrimPrefix(p, files.Real(cwd)+"/")
	}
	return p
}

// mostBack is how many lines that put something back are said one by one.
const mostBack = 5

// sayBack says what is to be typed, or which file holds the lines when they are many, or when some shell would
// read one in another way. What was renamed last goes back first: it may lie in what was renamed before.
func sayBack(c *caller.Caller, list []repos.Moved) {
	var lines []string
	for _, m := range slices.Backward(list) {
		lines = append(lines, "mv -fT "+quote.POSIX(m.Kept)+" "+quote.POSIX(m.Path))
	}
	text := strings.Join(lines, "; ")
	if len(lines) <= mostBack && visible.Text(text) == text && !strings.Contains(text, `\`) {
		c.Hint("%s   # puts it back; look at it first", text)
		return
	}
	file, err := backFile(c.InnerHome, lines)
	if err != nil {
		c.Warn("how to put it back could not be written: %v; each has %s at the end of its name", err, repos.Suffix)
		return
	}
	c.Hint("sh %s   # puts all %d back; it names them, look at them first", quote.POSIX(file), len(lines))
}

// backFile writes the lines to a file of INNER_HOME/aside.
func backFile(innerHome string, lines []string) (string, error) {
	dir := filepath.Join(innerHome, "aside")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, time.Now().Format("2006-01-02T15.04.05-")+"*.sh")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	return f.Name(), errors.Join(err, f.Close())
}
