package undo

import (
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/program"
)

// borrowed is what the index of the project's repository knows of it: of files that have on the disk the bytes that
// git has of them. Nothing of it where that cannot be known at once.
func borrowed(ctx context.Context, p Project) (tree, int64) {
	data, err := os.ReadFile(p.Index)
	if err != nil {
		return nil, 0
	}
	var st unix.Stat_t
	x, err := index.Parse(data)
	if err != nil || unix.Stat(p.Index, &st) != nil {
		return nil, 0
	}
	var names strings.Builder
	for _, e := range x.Entries {
		names.WriteString(e.Name + "\x00")
	}
	// A file that a filter, an encoding or line ends convert is another one on the disk.
	cmd := program.Command(p.Git, "--git-dir="+p.Objects, "--work-tree="+p.Top, "check-attr", "-z", "--stdin", "text", "eol", "crlf", "ident", "filter", "working-tree-encoding")
	cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+p.Index)
	cmd.Stdin = strings.NewReader(names.String())
	out, err := cmd.Output()
	if err != nil || ctx.Err() != nil {
		return nil, 0
	}
	converted := map[string]bool{}
	for part := range slices.Chunk(strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), 3) {
		if len(part) == 3 && part[2] != "unspecified" && part[2] != "unset" {
			converted[part[0]] = true
		}
	}
	t := make(tree, len(x.Entries))
	for _, e := range x.Entries {
		if kind := e.Mode() & unix.S_IFMT; e.Stage() == 0 && !converted[e.Name] && (kind == unix.S_IFREG || kind == unix.S_IFLNK) {
			t[e.Name] = Entry{fromIndex(e), e.ID}
		}
	}
	return t, st.Mtim.Nano()
}

// fromIndex is the state that an index has of a file: change time, time, device, inode, mode, user, group and size,
// of four bytes each (the times have eight).
func fromIndex(e index.Entry) copytree.State {
	word := func(i int) int64 { return int64(binary.BigEndian.Uint32(e.Stat[4*i:])) }
	mode := borrowedMode
	if e.Mode()&unix.S_IFMT == unix.S_IFLNK {
		mode |= fs.ModeSymlink
	}
	return copytree.State{Mode: mode, Ino: uint64(word(5)), Size: word(9), Mtime: word(2)*1e9 + word(3), Ctime: word(0)*1e9 + word(1)}
}
