package undo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
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
	return program.Command(s.git, append([]string{
		"--git-dir=" + s.dir, "-c", "core.looseCompression=1", "-c", "pack.compression=1",
		"-c", "core.protectNTFS=false", "-c", "core.protectHFS=false",
	}, args...)...)
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

// keep has the contents of a run stay until drop: its ref is a commit of what is different as it was at the end,
// whose parent is that at the beginning, for git diff. What is missing is left out.
func (s *store) keep(r *Run, missing []index.ID) error {
	var text strings.Builder
	for _, side := range []func(Change) State{func(c Change) State { return c.Before }, func(c Change) State { return c.After }} {
		fmt.Fprintf(&text, "commit refs/inner/%s\ncommitter inner <> 0 +0000\ndata 0\ndeleteall\n", r.Run)
		for _, c := range r.Changes {
			st := side(c)
			if id, ok := st.id(); ok && !slices.Contains(missing, id) {
				fmt.Fprintf(&text, "M %s %s %s\n", st.gitMode(), st.ID, inGit(string(c.Path)))
			}
		}
		text.WriteString("\n")
	}
	return s.write(text.String(), nil)
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

// inGit quotes a path for git fast-import: any byte but letters, digits and a few marks as an octal number.
func inGit(rel string) string {
	out := []byte{'"'}
	for _, c := range []byte(rel) {
		if strings.IndexByte("/._-", c) >= 0 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			out = append(out, c)
		} else {
			out = fmt.Appendf(out, "\\%03o", c)
		}
	}
	return string(append(out, '"'))
}

// Diff is what a run changed of files and links, as git diff prints it with these options; of all of it, or of
// the paths alone.
func (r *Run) Diff(options []string, paths ...string) ([]byte, error) {
	s := &store{git: r.project.Git, dir: filepath.Join(r.project.Dir(), "git")}
	ref := "refs/inner/" + r.Run
	args := append([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-renames"}, options...)
	return s.command(append(append(args, ref+"^", ref, "--"), paths...)...).Output()
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
