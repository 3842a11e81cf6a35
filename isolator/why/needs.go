package why

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile"
)

// lacking is the first of the things that something needs before all else and the box has not.
func lacking(needs []Answer) (need Answer, any bool) {
	i := slices.IndexFunc(needs, func(n Answer) bool { return !n.Granted(false) })
	if i < 0 {
		return need, false
	}
	return needs[i], true
}

// blame is the answer about what the box does not have, or cannot run, because of another thing: what grants
// that is to be written.
func (a Answer) blame(of Answer, how string) Answer {
	a.Access, a.How, a.Key, a.From, a.Widen = Outside, how, of.Key, of.From, of.Widen
	return a
}

// need answers for a word of a command line: a path, or a command.
func (t *Table) need(word string) Answer {
	if strings.Contains(word, "/") {
		return t.Path(filepath.Clean(word))
	}
	return t.Command(word)
}

// serverNeeds are what an MCP server needs: its program, files that its command line names, its host.
func (t *Table) serverNeeds(s profile.MCPServer) (all []Answer) {
	for i, word := range s.Command {
		if !filepath.IsAbs(word) && (i > 0 || strings.Contains(word, "/")) {
			continue
		}
		if need := t.need(word); need.Access != Absent || need.Asked[0] != '/' { // a word need not be a file
			all = append(all, need)
		}
	}
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		if host, err := t.Host(u.Host); err == nil {
			all = append(all, host)
		}
	}
	return all
}

// programNeeds are what a program of the box needs: the interpreter of a script, and the lib that the host has
// beside its bin. What lies in ~/.local/bin has no part in ~/.local/lib where it is no script, or one of a
// shell.
func (t *Table) programNeeds(e entry) (all []Answer) {
	by := interpreter(e.host)
	if by != "" && !slices.Contains(t.scripts, e.host) { // a script may be its own interpreter
		t.scripts = append(t.scripts, e.host)
		all = append(all, t.need(by))
		t.scripts = t.scripts[:len(t.scripts)-1]
	}
	top := filepath.Dir(filepath.Dir(e.host))
	lib := filepath.Join(top, "lib")
	apart := top == filepath.Join(t.Box.Facts.Home, ".local") && (by == "" || strings.HasSuffix(by, "sh"))
	if filepath.Base(filepath.Dir(e.host)) == "bin" && !apart && disk(lib).kind == 'd' {
		all = append(all, t.Path(lib))
	}
	return all
}

// interpreter is the first word of a script, behind env(1) the name of the command; "" for what is no script.
func interpreter(program string) string {
	f, err := os.OpenFile(program, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256) // as much as the kernel reads
	n, _ := f.Read(head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	i := slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") })
	return words[i+1]
}
