package undo

import (
	"bufio"
	"encoding/hex"
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
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/program"
	"github.com/enr/inner/isolator/ownhome"
)

// Store is a bare repository of inner's with the contents of one project. What a look puts is named by a ref of that
// look, and what a run changed by one of the run, so git gc knows what may go.
type Store struct {
	git, dir string
	objects  string                   // the objects of the project's repository, "" for none
	borrowed func() map[index.ID]bool // what its index says it has

	size atomic.Int64 // bytes that were put

	mu  sync.Mutex        // guards what follows
	has map[index.ID]bool // what is there for sure
	ids []index.ID        // that were put and have no name yet

	cmd *exec.Cmd // git fast-import, once something is put
	to  *bufio.Writer
	in  io.WriteCloser
	say strings.Builder

	failed error // the first of what is written
}

// few contents are copied without a look at the repository of the project.
const few = 100

// mostPacks, and 6,700 contents outside of packs, are the bounds of git gc --auto. Tests lower it.
var mostPacks = 50

// Store is that of a project; it need not be there.
func (p Project) Store() *Store {
	s := &Store{git: p.Git, dir: filepath.Join(p.Dir(), "git"), has: map[index.ID]bool{}}
	s.borrowed = sync.OnceValue(func() map[index.ID]bool { return indexed(p.Index) })
	if p.Objects != "" {
		s.objects = filepath.Join(p.Objects, "objects")
	}
	return s
}

// openStore opens the repository, and makes it when it is not there. Nobody else has it open.
func openStore(p Project) (*Store, error) {
	s := p.Store()
	s.tidy()
	if files.Exists(filepath.Join(s.dir, "objects/info")) { // the last that git makes
		return s, nil
	}
	if out, err := program.Command(s.git, "init", "--quiet", "--bare", "--template=", s.dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git init: %w: %s", err, out)
	}
	return s, nil
}

// indexed is the names of contents that an index says its repository has. A file may have been converted on its way
// there, and its time may lie, so the name of what is in the file is looked for, and not the file.
func indexed(name string) map[index.ID]bool {
	data, _ := files.Read(name, files.FollowLinks, 512<<20)
	x, err := index.Parse(data)
	if err != nil {
		return nil
	}
	ids := make(map[index.ID]bool, len(x.Entries))
	for _, e := range x.Entries {
		ids[e.ID] = true
	}
	return ids
}

// collect has git drop what no run needs, once that may be much and no run goes on. What is known of the project goes
// with it, so the next look is a first one. It is done in the background, and whoever opens the home waits for it.
func (p Project) collect(s *Store, h *ownhome.Home) error {
	loose, _ := os.ReadDir(filepath.Join(s.dir, "objects/17"))
	packs, _ := filepath.Glob(filepath.Join(s.dir, "objects/pack/*.pack"))
	living, _ := filepath.Glob(p.before("*"))
	if len(living) > 0 || len(loose) <= 6700/256 && len(packs) <= mostPacks {
		return nil
	}
	gc := s.Command("-c", "gc.packRefs=false", "gc", "--quiet", "--prune=now")
	gc.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	h.HeldBy(gc)
	if err := errors.Join(os.RemoveAll(p.manifest()), os.RemoveAll(s.ref("looks")), gc.Start()); err != nil {
		return err
	}
	go gc.Wait()
	return nil
}

// ref is the file of a ref: git packs none of them.
func (s *Store) ref(name string) string { return filepath.Join(s.dir, "refs/inner", name) }

// Command is git in a store.
func (s *Store) Command(args ...string) *exec.Cmd {
	return program.Command(s.git, append([]string{
		"--git-dir=" + s.dir, "-c", "core.looseCompression=1", "-c", "pack.compression=1", "-c", "pack.window=0",
		"-c", "core.protectNTFS=false", "-c", "core.protectHFS=false",
	}, args...)...)
}

// write writes to git fast-import. What goes wrong is the error of flush.
func (s *Store) write(text string, data []byte) {
	if s.cmd == nil && s.failed == nil {
		s.cmd = s.Command("fast-import", "--quiet", "--done", "--force", "--depth=0")
		s.cmd.Stderr = &s.say
		if s.in, s.failed = s.cmd.StdinPipe(); s.failed == nil {
			s.failed = s.cmd.Start()
		}
		s.to = bufio.NewWriterSize(s.in, 1<<16)
	}
	if s.failed == nil {
		_, _ = s.to.WriteString(text)
		_, s.failed = s.to.Write(data)
	}
}

// put stores a content, unless the repository of the project has it: that is copied when a run changes it.
func (s *Store) put(id index.ID, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ids) < few || !s.borrowed()[id] {
		s.copy(id, data)
	}
}

func (s *Store) copy(id index.ID, data []byte) {
	if s.has[id] {
		return // the second one of two
	}
	s.has[id], s.ids = true, append(s.ids, id)
	s.size.Add(int64(len(data)))
	s.write(fmt.Sprintf("blob\ndata %d\n", len(data)), append(data, '\n'))
}

// forget drops from what is known the folders with a file whose content neither the store has nor the index
// says that the repository does, any more: they are read again while it is there.
func (s *Store) forget(t tree) error {
	lost := map[index.ID]bool{}
	for _, l := range t.folders {
		for _, e := range l.all() {
			if e.ID != (index.ID{}) && !s.borrowed()[e.ID] {
				lost[e.ID] = true
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	var names strings.Builder
	for id := range lost {
		fmt.Fprintf(&names, "%x\n", id)
	}
	cmd := s.Command("cat-file", "--batch-check")
	cmd.Stdin = strings.NewReader(names.String())
	out, err := cmd.Output()
	for line := range strings.Lines(string(out)) {
		if name, _, there := strings.Cut(line, " blob "); there {
			id, _ := State{ID: name}.BlobID()
			delete(lost, id)
		}
	}
	maps.DeleteFunc(t.folders, func(_ string, l listing) bool {
		for id := range slices.Chunk([]byte(l.ids), idBytes) {
			if lost[index.ID(id)] {
				return true
			}
		}
		return false
	})
	return err
}

// keep has the contents of a run stay until drop: its ref is a commit of what is different as it was at the end,
// whose parent is that at the beginning, for git diff. What is missing is left out.
func (s *Store) keep(r *Run) {
	var text strings.Builder
	for _, side := range []func(Change) State{func(c Change) State { return c.Before }, func(c Change) State { return c.After }} {
		fmt.Fprintf(&text, "commit refs/inner/%s\ncommitter inner <> 0 +0000\ndata 0\ndeleteall\n", r.Run)
		for _, c := range r.Changes {
			st := side(c)
			if id, ok := st.BlobID(); ok && s.has[id] {
				fmt.Fprintf(&text, "M %s %s %s\n", st.gitMode(), st.ID, changes.Quoted(string(c.Path)))
			}
		}
		text.WriteString("\n")
	}
	s.write(text.String(), nil)
}

// gitMode is the mode of a file or a link as git writes it.
func (st State) gitMode() string {
	switch {
	case st.Mode&fs.ModeSymlink != 0:
		return "120000"
	case st.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// flush has everything that was put be there, and stay.
func (s *Store) flush() error {
	if s.cmd == nil || s.cmd.Process == nil {
		return s.failed
	}
	if len(s.ids) > 0 {
		s.write(fmt.Sprintf("commit refs/inner/looks/%d\ncommitter inner <> 0 +0000\ndata 0\n", time.Now().UnixNano()), nil)
		for i, id := range s.ids {
			s.write(fmt.Sprintf("M 100644 %x %d/%d\n", id, i/1000, i), nil)
		}
		s.write("\n", nil)
	}
	s.write("done\n", nil)
	err := errors.Join(s.failed, s.to.Flush(), s.in.Close())
	if errWait := s.cmd.Wait(); errWait != nil {
		why, _, _ := strings.Cut(s.say.String(), "\n")
		err = fmt.Errorf("git fast-import: %w: %s", errWait, why)
		s.tidy()
	}
	s.cmd, s.ids = nil, nil
	return err
}

// tidy removes what a git that was killed, or had no room, has left: it may be what fills the disk.
func (s *Store) tidy() {
	for _, killed := range []string{"objects/pack/tmp_*", "fast_import_crash_*", "refs/inner/*.lock", "*.lock"} {
		list, _ := filepath.Glob(filepath.Join(s.dir, killed))
		for _, name := range list {
			_ = os.Remove(name)
		}
	}
}

// fetch looks for contents, and copies those that may be in the repository of the project alone.
func (s *Store) fetch(ids []index.ID) error {
	ids = slices.DeleteFunc(ids, func(id index.ID) bool { return s.has[id] })
	return s.Get(ids, func(id index.ID, data []byte) error {
		if s.objects != "" {
			s.copy(id, data)
		}
		s.has[id] = true
		return nil
	})
}

// Get calls f with the contents that are there of those that are asked for.
func (s *Store) Get(ids []index.ID, f func(index.ID, []byte) error) error {
	if len(ids) == 0 {
		return nil
	}
	cmd := s.Command()
	if s.objects != "" {
		// Its settings are not read, and for what writes, nothing is there already.
		cmd.Env = append(cmd.Env, `GIT_ALTERNATE_OBJECT_DIRECTORIES="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.objects)+`"`)
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = hex.EncodeToString(id[:])
	}
	return program.Contents(cmd, names, MaxFile, func(i int, _ string, data []byte) error {
		if index.BlobID(data) != ids[i] { // the repository may be one that a box writes
			return nil
		}
		return f(ids[i], data)
	})
}
