package objects

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Brought is a file of the host's git directory with the commits that boxes brought: it goes where the repository goes.
const Brought = "objects/info/inner-brought"

// in returns the path of something in an open folder, wherever that has been moved.
func in(folder *os.File, name ...string) string {
	return filepath.Join(append([]string{fmt.Sprintf("/proc/self/fd/%d", folder.Fd())}, name...)...)
}

func (g *Gate) brought() string { return in(g.host, Brought) }

// record writes down which commits a box brings, before they come.
func (g *Gate) record(commits []string) error {
	var lines strings.Builder
	for _, object := range commits {
		lines.WriteString(object + "\n")
	}
	if lines.Len() == 0 {
		return nil
	}
	_ = os.Mkdir(filepath.Dir(g.brought()), 0o777) // git makes it, others do not
	file, err := os.OpenFile(g.brought(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(lines.String())
	return errors.Join(err, file.Close())
}

// Gitlink is what HostHad is asked for in the place of a file.
const Gitlink = gitlink

// HostHad reports whether a commit that no box brought, and that the host's refs lead to, put this file
// there: one with that content, whose name in hexadecimal it is, or any Gitlink. path is one of the
// repository. When in doubt it had not.
func (g *Gate) HostHad(path, what string) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	text, err := os.ReadFile(g.brought())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false
	}
	args := []string{"log", "--all", "--full-history", "-m", "--root"}
	args = append(args, "--raw", "-z", "--no-renames", "--no-abbrev", "--format=%H")
	if head, err := os.ReadFile(in(g.host, "HEAD")); err == nil {
		if name := strings.TrimSpace(string(head)); objectName().MatchString(name) {
			args = append(args, name) // a detached one
		}
	}
	log, err := g.run("", nil, append(args, "--", path)...)
	return err == nil && put(log, path, string(text), what)
}

// put reads a log: a commit's name, and ":MODE MODE OLD NEW STATUS" and the path for each file that it changed.
func put(log, path, brought, what string) bool {
	own, fields := false, strings.Split(log, "\x00")
	for i, field := range fields {
		words := strings.Fields(field)
		switch {
		case len(words) == 1 && len(words[0]) == 40:
			own = !strings.Contains(brought, words[0])
		case len(words) == 5 && words[0][0] == ':' && own && (words[1] == what || words[3] == what):
			if i+1 < len(fields) && fields[i+1] == path {
				return true
			}
		}
	}
	return false
}
