package gate

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/program"
)

// settle brings to the work tree what a box has checked out of files that it may not write. Git in the box
// leaves them, and the index says so.
func (g *Gate) settle(list []index.Change) {
	for _, c := range list {
		name := cmp.Or(c.Is, c.Was).Name
		if err := g.settleFile(name, c); err != nil {
			g.say("git: %s stays as it was, though the sandbox checked out another: %v", name, err)
		}
	}
}

// SettleBetween brings to the work tree what files that the box may not write are in one commit and
// were in another, when a clone's HEAD has moved.
func (g *Gate) SettleBetween(old, tip string) {
	if old == "" || tip == "" || old == tip || len(g.Covered) == 0 {
		return
	}
	out, err := g.soon(append([]string{"diff-tree", "-r", "-z", "--no-renames", old, tip, "--"}, g.Covered...)...)
	var list []index.Change
	for fields := strings.Split(out, "\x00"); err == nil && len(fields) >= 2; fields = fields[2:] {
		words := strings.Fields(strings.TrimPrefix(fields[0], ":"))
		if len(words) == 5 {
			was, is := index.EntryOf(fields[1], words[0], words[2]), index.EntryOf(fields[1], words[1], words[3])
			list = append(list, index.Change{Was: was, Is: is})
		}
	}
	g.settle(list)
}

// soon is what a git prints in time: a box may have made a FIFO of a .gitattributes.
func (g *Gate) soon(args ...string) (string, error) {
	return program.Output(program.Soon, g.Command(g.Dir, args...))
}

// settleFile writes one, or says why it stays.
func (g *Gate) settleFile(name string, c index.Change) error {
	if c.Is == nil {
		return errors.New("it removed it")
	}
	blob := hex.EncodeToString(c.Is.ID[:])
	if c.Is.Mode() != 0o100644 && c.Is.Mode() != 0o100755 {
		return errors.New("it is no plain file")
	}
	if !g.HostHad(name, blob) {
		return errors.New("no commit of yours has that")
	}
	if err := g.unfiltered(name); err != nil {
		return err
	}
	f, err := g.openTree(name, c.Was == nil)
	if err != nil {
		return err
	}
	defer f.Close()
	was, err := io.ReadAll(io.LimitReader(f, maxSettled+1))
	if err != nil || len(was) > maxSettled {
		return errors.Join(errors.New("it is too large"), err)
	}
	if c.Was != nil && index.BlobID(was) != c.Was.ID {
		return errors.New("it is not what git had there")
	}
	data, err := g.soon("cat-file", "blob", blob)
	if err != nil || data == string(was) {
		return err
	}
	// In place: another file of that name would not be under what the box has over it.
	if _, err = f.WriteAt([]byte(data), 0); err == nil {
		err = f.Truncate(int64(len(data)))
	}
	return err
}

// maxSettled is how large a file may be that is brought.
const maxSettled = 16 << 20

// openTree opens a file of the work tree. A fresh one is made, with its folders: what cannot be made
// is seen when the file is.
func (g *Gate) openTree(name string, fresh bool) (*os.File, error) {
	flags := unix.O_RDWR | unix.O_NONBLOCK
	for i := 0; fresh && i < len(name); i++ {
		if name[i] != '/' {
			continue
		}
		if dir, err := g.open(path.Dir(name[:i]), unix.O_PATH|unix.O_DIRECTORY); err == nil {
			_ = unix.Mkdirat(int(dir.Fd()), path.Base(name[:i]), 0o777)
			dir.Close()
		}
	}
	if fresh {
		flags |= unix.O_CREAT | unix.O_EXCL
	}
	f, err := g.open(name, flags)
	if err != nil {
		return nil, err
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		f.Close()
		return nil, errors.New("it is no plain file")
	}
	return f, nil
}

// unfiltered returns an error when git would write other bytes than those of the commit.
func (g *Gate) unfiltered(name string) error {
	out, err := g.soon("check-attr", "-z", "filter", "text", "eol", "crlf", "ident", "working-tree-encoding", "--", name)
	if err != nil {
		return err
	}
	for fields := strings.Split(out, "\x00"); len(fields) >= 3; fields = fields[3:] {
		if fields[2] != "unspecified" && fields[2] != "unset" {
			return fmt.Errorf("the attribute %s is set for it", fields[1])
		}
	}
	if out, _ := g.soon("config", "--type=bool", "core.autocrlf"); strings.TrimSpace(out) == "true" {
		return errors.New("core.autocrlf is set")
	}
	return nil
}
