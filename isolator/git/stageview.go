package git

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/gitconfig"
)

// What belongs to one work tree in the box: HEAD, its index, a merge that goes on, and its submodules.

// mainView copies the state of the main work tree, if the box can write there.
func (s *stager) mainView() error {
	top := s.repo.Top
	if s.repo.Worktree != "" {
		top = filepath.Dir(s.repo.Common)
	}
	head, err := s.from.head("HEAD", s.unit.Digits)
	if err != nil {
		return err
	}
	if head == "" {
		return unfit("its HEAD says nothing that git understands")
	}
	if err := s.to.create("HEAD", []byte(head+"\n")); err != nil {
		return err
	}
	if s.repo.Worktree != "" && (filepath.Base(s.repo.Common) != ".git" || !s.writable(top)) {
		if branch, ok := symbolic(head); ok {
			s.unit.Elsewhere[branch] = true
		}
		return nil
	}
	return s.view(&view{Top: top, Head: head, Sparse: s.repo.Sparse})
}

func (s *stager) writable(p string) bool {
	return slices.ContainsFunc(s.copy.roots, func(root string) bool {
		return paths.Below(root, p)
	})
}

// mergeFiles lists the files of a merge, of which some hold hashes and some text.
func mergeFiles() []string {
	return []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD"}
}

// busyFolders lists the folders of unfinished operations.
func busyFolders() []string { return []string{"rebase-merge", "rebase-apply", "sequencer"} }

// view copies the state of a work tree: its index, and what a merge or a rebase left.
func (s *stager) view(v *view) error {
	for _, step := range []func(*view) error{s.index, s.sharedIndexes, s.unfinished, s.settings} {
		if err := step(v); err != nil {
			return err
		}
	}
	s.unit.Views = append(s.unit.Views, v)
	return s.vacancies(v)
}

// sharedIndexes copies what a split index needs.
func (s *stager) sharedIndexes(v *view) error {
	list, err := s.from.list(orSelf(v.Rel), maxFiles)
	if err != nil {
		return err
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "sharedindex.") && e.Type().IsRegular() {
			if err := s.copyIf(v.file(e.Name()), maxText); err != nil {
				return err
			}
		}
	}
	return nil
}

// unfinished copies what a merge or another operation left.
func (s *stager) unfinished(v *view) error {
	v.Merge, v.Busy = map[string]string{}, map[string]bool{}
	for _, name := range slices.Concat(mergeFiles(), []string{"MERGE_RR", "FETCH_HEAD", "BISECT_LOG", "BISECT_NAMES", "BISECT_START", "BISECT_TERMS", "BISECT_EXPECTED_REV"}) {
		copied := s.copyIf
		if name == "FETCH_HEAD" {
			copied = s.copyText
		}
		if err := copied(v.file(name), maxSmall); err != nil {
			return err
		}
		if data, err := s.to.read(v.file(name), maxSmall); err == nil {
			v.Merge[name] = digest(data)
		}
	}
	for _, name := range busyFolders() {
		if s.from.isDir(v.file(name)) {
			v.Busy[name] = true
		}
		if err := s.copyFolder(v.file(name), s.copyIf); err != nil {
			return err
		}
	}
	return nil
}

// settings gives the box a copy of the work tree's own settings without logins.
func (s *stager) settings(v *view) error {
	data, err := s.from.read(v.file("config.worktree"), maxConfig)
	if err != nil {
		return nil // none
	}
	list, err := gitconfig.Parse(data)
	if err != nil {
		return unfit("the configuration of a worktree cannot be read")
	}
	return s.to.create(v.file("config.worktree"), configText("The settings of this worktree as the box has them.", s.copy.clean(list)))
}

// index keeps the host's index as it is now, to tell later whether the host changed it, and copies it to the
// box. git never writes an index in place, so a hard link keeps it.
func (s *stager) index(v *view) error {
	name, to, kept := v.file("index"), baseIndexName(s.unit, v), s.copy.state
	st, err := s.from.stat(name)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	err = s.from.at("link", name, func(dir int, base string) error {
		return unix.Linkat(dir, base, kept.fd, to, 0)
	})
	if err == nil {
		st, err = kept.stat(to)
	} else {
		_, err = s.from.copyFile(name, kept, to, maxText, 0o600)
	}
	if err != nil {
		return err
	}
	v.HostFile = fileID(st, false)
	if _, err := kept.copyFile(to, s.to, name, maxText, 0o600); err != nil {
		return err
	}
	if st, err = s.to.stat(name); err == nil {
		v.BoxFile = fileID(st, true)
	}
	return err
}

func orSelf(rel string) string {
	if rel == "" {
		return "."
	}
	return rel
}

// worktrees copies the state of the linked worktrees that the box can write, and lets the box's git
// know that the others exist.
func (s *stager) worktrees() error {
	list, err := s.from.listIfThere("worktrees", maxWorktrees)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.IsDir() {
			if err := s.worktree(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stager) worktree(name string) error {
	v := &view{Rel: "worktrees/" + name}
	back, err := s.from.line(v.file("gitdir"))
	head, herr := s.from.head(v.file("HEAD"), s.unit.Digits)
	if err != nil || herr != nil || !s.from.has(v.file("commondir")) {
		return nil // git does not know it either
	}
	v.Head = head
	v.Top = filepath.Dir(absolute(filepath.Join(s.repo.Common, v.Rel), back))
	if err := s.to.mkdir(v.Rel); err != nil {
		return err
	}
	for _, f := range []string{"gitdir", "commondir", "HEAD", "locked"} {
		if err := s.copyIf(v.file(f), maxPointer); err != nil {
			return err
		}
	}
	found, err := FindAt(v.Top)
	known := err == nil && found.Reason == "" && found.Worktree == name && found.Common == s.repo.Common
	if v.Head == "" || !known || name != s.repo.Worktree && !s.writable(v.Top) {
		return s.elsewhere(v)
	}
	v.Sparse = found.Sparse
	for _, name := range []string{"logs", "info"} {
		if err := s.copyFolder(v.file(name), s.copyText); err != nil {
			return err
		}
	}
	s.pin(v.Top)
	return s.view(v)
}

// copyFolder copies a folder, if there is one, with copied for the files in it.
func (s *stager) copyFolder(name string, copied func(name string, most int64) error) error {
	if !s.from.isDir(name) {
		return nil
	}
	return s.from.copyTree(name, s.to, maxRefs, func(name string) error { return copied(name, maxSmall) })
}

// elsewhere marks a worktree that the box does not have, so that `git worktree prune` in the box does not take it for one
// that is gone.
func (s *stager) elsewhere(v *view) error {
	if branch, ok := symbolic(v.Head); ok {
		s.unit.Elsewhere[branch] = true
	}
	if s.to.has(v.file("locked")) {
		return nil
	}
	return s.to.create(v.file("locked"), []byte("outside of this box\n"))
}

// pin mounts the .git of a work tree over itself: the box must not make it lead elsewhere.
func (s *stager) pin(top string) {
	s.copy.show(filepath.Join(top, ".git"), filepath.Join(top, ".git"))
}

// modules stages the repositories of submodules.
func (s *stager) modules() error {
	found := 0
	return s.from.modules(func(rel string) error {
		if found++; found > maxModules {
			return unfit("it has too many submodules")
		}
		return s.module(rel)
	})
}

func (s *stager) module(rel string) error {
	r := &Repo{Dir: filepath.Join(s.repo.Common, rel), Common: filepath.Join(s.repo.Common, rel), Pointer: true}
	err := r.fill()
	if tree := r.setting("core.worktree"); err == nil && tree != "" {
		r.Top = absolute(r.Dir, tree)
		if top, terr := FindAt(r.Top); terr == nil && top.Dir == r.Dir && top.Reason == "" {
			s.pin(r.Top)
		}
	}
	var why unfit
	if err == nil {
		err = s.copy.stageUnit(r, s.unit.Box+"/"+rel)
	}
	if !errors.As(err, &why) {
		return err
	}
	// As the host has it, to read.
	if err := s.to.mkdir(rel); err != nil {
		return err
	}
	s.copy.show(r.Dir, r.Dir)
	s.copy.Notes = append(s.copy.Notes, fmt.Sprintf("git is read-only in the submodule %s: %s", strings.TrimPrefix(rel, "modules/"), why))
	return nil
}
