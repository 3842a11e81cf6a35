package undo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/program"
)

// store is a bare repository of inner's with the contents of one project. Nothing in it has a path: a ref of a run
// names a tree of all that the run needs, by number, so git gc knows what may go.
type store struct {
	git, dir string

	cmd *exec.Cmd // git fast-import, once something is put
	to  *bufio.Writer
	in  io.WriteCloser
	say strings.Builder
}

// openStore opens the repository, and makes it when it is not there.
func openStore(git, dir string) (*store, error) {
	s := &store{git: git, dir: dir}
	if files.Exists(filepath.Join(dir, "HEAD")) {
		return s, nil
	}
	cmd := program.Command(git, "init", "--quiet", "--bare", "--template=", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git init: %w: %s", err, out)
	}
	return s, nil
}

func (s *store) command(args ...string) *exec.Cmd {
	return program.Command(s.git, append([]string{"--git-dir=" + s.dir, "-c", "core.looseCompression=1", "-c", "pack.compression=1"}, args...)...)
}

// write writes to git fast-import.
func (s *store) write(text string, data []byte) error {
	if s.cmd == nil {
		cmd := s.command("fast-import", "--quiet", "--done", "--force")
		cmd.Stderr = &s.say
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return err
		}
		s.cmd, s.in, s.to = cmd, in, bufio.NewWriterSize(in, 1<<16)
	}
	_, err := s.to.WriteString(text)
	if err == nil {
		_, err = s.to.Write(data)
	}
	return err
}

// put stores a content.
func (s *store) put(data []byte) error {
	return errors.Join(s.write(fmt.Sprintf("blob\ndata %d\n", len(data)), data), s.write("\n", nil))
}

// keep has the contents stay until drop is called with the name.
func (s *store) keep(name string, ids []index.ID) error {
	var text strings.Builder
	fmt.Fprintf(&text, "commit refs/inner/%s\ncommitter inner <> 0 +0000\ndata 0\ndeleteall\n", name)
	for i, id := range ids {
		fmt.Fprintf(&text, "M 100644 %x %d/%d\n", id, i/1000, i)
	}
	text.WriteString("\n")
	return s.write(text.String(), nil)
}

// flush has everything that was put be there.
func (s *store) flush() error {
	if s.cmd == nil {
		return nil
	}
	err := errors.Join(s.write("done\n", nil), s.to.Flush(), s.in.Close())
	if errWait := s.cmd.Wait(); errWait != nil {
		err = fmt.Errorf("git fast-import: %w: %s", errWait, strings.TrimSpace(s.say.String()))
	}
	s.cmd = nil
	return err
}

// drop lets go of what keep keeps.
func (s *store) drop(name string) error {
	return s.command("update-ref", "-d", "refs/inner/"+name).Run()
}

// get calls f with the contents that a repository has of those that are asked for, and returns the others.
func (s *store) get(dir string, ids []index.ID, f func(index.ID, []byte) error) (missing []index.ID, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	cmd := program.Command(s.git, "--git-dir="+dir, "cat-file", "--batch=%(objectname) %(objecttype) %(objectsize)")
	var ask strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&ask, "%x\n", id)
	}
	cmd.Stdin = strings.NewReader(ask.String())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(out)
	for _, id := range ids {
		line, errRead := in.ReadString('\n')
		var kind string
		var size int64
		if errRead != nil {
			err = fmt.Errorf("git cat-file: %w", errRead)
			break
		}
		if strings.HasSuffix(line, " missing\n") {
			missing = append(missing, id)
			continue
		}
		if n, _ := fmt.Sscanf(line, fmt.Sprintf("%x %%s %%d", id), &kind, &size); n != 2 || kind != "blob" || size > MaxFile {
			err = fmt.Errorf("git cat-file: %q is no answer", line)
			break
		}
		data := make([]byte, size+1) // and a line feed
		if _, err = io.ReadFull(in, data); err == nil {
			data = data[:size]
			if index.BlobID(data) != id { // the repository may be one that a box writes
				missing = append(missing, id)
				continue
			}
			err = f(id, data)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		_ = cmd.Process.Kill()
	}
	return missing, errors.Join(err, cmd.Wait())
}

// size is what the store has on the disk, in bytes.
func (s *store) size() (n int64) {
	_ = filepath.WalkDir(s.dir, func(_ string, e os.DirEntry, err error) error {
		if fi, errInfo := e.Info(); err == nil && errInfo == nil && fi.Mode().IsRegular() {
			n += fi.Size()
		}
		return nil
	})
	return n
}
