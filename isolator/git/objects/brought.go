package objects

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Brought is a file of the host's git directory with the commits that boxes brought: it goes where the repository goes.
const Brought = "objects/info/inner-brought"

func (g *Gate) brought() string { return filepath.Join(folderOf(g.Host), Brought) }

// record writes down which commits a box brings, before they come.
func (g *Gate) record(commits []id) error {
	var lines strings.Builder
	for _, object := range commits {
		lines.WriteString(object.String() + "\n")
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

// HostHad reports whether a commit that no box brought, and that the host's refs lead to, put this file there with this
// content. path is one of the repository, blob is in hexadecimal.
func (g *Gate) HostHad(path, blob string) (bool, error) {
	return g.hostHad(path, func(mode, object string) bool { return object == blob })
}

// HostHadLink reports whether such a commit has a gitlink at a path.
func (g *Gate) HostHadLink(path string) (bool, error) {
	return g.hostHad(path, func(mode, object string) bool { return mode == "160000" })
}

func (g *Gate) hostHad(path string, meant func(mode, object string) bool) (bool, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	text, err := os.ReadFile(g.brought())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	brought := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		brought[strings.TrimSpace(line)] = true
	}
	args := []string{"log", "--all", "--full-history", "-m", "--root", "--raw", "-z", "--no-renames", "--no-abbrev", "--format=%H"}
	if head, err := os.ReadFile(filepath.Join(folderOf(g.Host), "HEAD")); err == nil {
		if object, err := parseID(strings.TrimSpace(string(head))); err == nil {
			args = append(args, object.String()) // a detached one
		}
	}
	log, err := g.run("", "", nil, append(args, "--", ":(top,literal)"+path)...)
	return err == nil && added(log, path, brought, meant), err
}

// added reads a log: a commit's name, and ":MODE MODE OLD NEW STATUS" and the path for each file that it changed.
func added(log, path string, brought map[string]bool, meant func(mode, object string) bool) bool {
	own, fields := false, strings.Split(log, "\x00")
	for i, field := range fields {
		words := strings.Fields(field)
		switch {
		case len(words) == 1 && len(words[0]) == 40:
			own = !brought[words[0]]
		case len(words) == 5 && words[0][0] == ':' && meant(words[1], words[3]) && own && i+1 < len(fields) && fields[i+1] == path:
			return true
		}
	}
	return false
}
