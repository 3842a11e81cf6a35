package git

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile/gitconfig"
)

// The folders of a copy. The box writes only git; it reads hold, and never sees the others.
const (
	boxFolder   = "git"
	holdFolder  = "hold"
	stateFolder = "state"
	lockFile    = "lock"
	metaFile    = "copy.json"
)

// meta is what a later inner must know about a copy.
type meta struct {
	Version int
	Run     string
	Git     string
	Name    string // who is named in the logs
	Email   string
	Roots   []string
	Profile string // see Options
	Grants  string
	Units   []*unit
	Killed  int  // how often an exchange failed because a git of it was killed
	Waits   bool // something else than an unfinished operation is left to cross
	Vacant  []vacancy
	Resumed bool // it has the unfinished operation of another copy
}

// unit is one repository of a copy: the one that was found, or that of a submodule.
type unit struct {
	N        int
	Common   string // of the host
	Dev, Ino uint64 // of Common, so that a folder moved into its place does not count
	Box      string // below the copy's folder
	Digits   int
	Views    []*view
	Made     bool // inner made it outside for a submodule that the box added
	// Elsewhere are the branches that worktrees have checked out which the box does not have.
	Elsewhere map[string]bool

	Stash  string            // digest of the host's log of refs/stash
	Files  map[string]string // hooks and info of the box at the start, and their digests
	Config string            // the configuration the box got
}

// view is a work tree with its HEAD and index.
type view struct {
	Rel    string // below the git directory: "" or "worktrees/NAME"
	Top    string
	Sparse bool
	Head   string // the host's, "ref: NAME" or an object
	Index  string // digest of the host's when box and host last agreed
	Box    string // and of the box's
	// HostFile and BoxFile are the files that were so, see fileID; "" when that is not known.
	HostFile, BoxFile string
	// Merge has the digests of files like MERGE_HEAD that the host had.
	Merge map[string]string
	// Busy are the folders of unfinished operations that the host had.
	Busy map[string]bool
}

func (v *view) file(name string) string {
	if v.Rel == "" {
		return name
	}
	return v.Rel + "/" + name
}

// save writes what a later inner must know.
func (c *Copy) save() error {
	data, err := json.Marshal(c.meta)
	if err != nil || bytes.Equal(data, c.saved) {
		return err
	}
	c.saved = data
	return c.state.replace(metaFile, metaFile+".new", data)
}

// base holds the host's refs as they were when box and host last agreed.
//
// It is a packed-refs file and a log of what was exchanged since. A line "?NAME VALUE" says
// that a ref is about to get that value, "=NAME VALUE" that it has; VALUE is empty for one
// that is gone. After a crash the host may have either.
type base struct {
	refs
	meant map[string]string
	log   *os.File
}

func (u *unit) baseName() string { return fmt.Sprintf("refs.%d", u.N) }

func (c *Copy) loadBase(u *unit) (*base, error) {
	b := &base{refs: refs{}, meant: map[string]string{}}
	text, err := c.state.readText(u.baseName())
	if err == nil {
		err = packedRefs(text, u.Digits, b.refs)
	}
	if err := unlessMissing(err); err != nil {
		return nil, err
	}
	if err := unlessMissing(c.readLog(u, b)); err != nil {
		return nil, err
	}
	b.log, err = c.state.appendTo(u.baseName() + ".log")
	return b, err
}

func (c *Copy) readLog(u *unit, b *base) error {
	f, _, err := c.state.open(u.baseName() + ".log")
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadString('\n')
		name, value, found := strings.Cut(line[min(1, len(line)):], " ")
		if err != nil || !found {
			if errors.Is(err, io.EOF) {
				err = nil // the last line may be torn by a crash
			}
			return err
		}
		value = strings.TrimSuffix(value, "\n")
		switch line[0] {
		case '?':
			b.meant[name] = value
		case '=':
			delete(b.meant, name)
			b.set(name, value)
		}
	}
}

// write appends lines of one kind to the log.
func (b *base) write(kind byte, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	var text strings.Builder
	for name, value := range values {
		text.WriteByte(kind)
		text.WriteString(name + " " + value + "\n")
	}
	if _, err := b.log.WriteString(text.String()); err != nil {
		return err
	}
	if kind == '?' {
		maps.Copy(b.meant, values)
		return b.log.Sync()
	}
	for name, value := range values {
		delete(b.meant, name)
		b.set(name, value)
	}
	return nil
}

// openUnit opens the host's git directory of a unit, which must be the one that was found at the
// start, and the box's.
func (c *Copy) openUnit(u *unit) (host, box *folder, err error) {
	if host, err = openFolder(u.Common); err != nil {
		return nil, nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(host.fd, &st); err != nil || st.Dev != u.Dev || st.Ino != u.Ino {
		host.close()
		return nil, nil, errors.Join(err, fmt.Errorf("%s is not the repository that it was", u.Common))
	}
	if box, err = c.dir.sub(u.Box); err != nil {
		host.close()
		return nil, nil, err
	}
	host.host = true
	if data, err := host.read("config", maxConfig); err == nil {
		list, _ := gitconfig.Parse(data) // what stands before a fault counts for git, too
		host.shared = sharingOf(list)
	}
	return host, box, nil
}
