package why

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// lacks answers for what a program of the box needs before all else and the box has not: the interpreter of a script,
// or the lib that the host has beside its bin. What lies in ~/.local/bin has no part in ~/.local/lib where it is
// no script, or one of a shell.
func (t *Table) lacks(e entry) (need Answer, any bool) {
	by := interpreter(e.host)
	if by != "" && !slices.Contains(t.scripts, e.host) { // a script may be its own interpreter
		t.scripts = append(t.scripts, e.host)
		defer func() { t.scripts = t.scripts[:len(t.scripts)-1] }()
		if need = t.Path(by); !strings.Contains(by, "/") {
			need = t.Command(by)
		}
		if !need.Granted(false) {
			return need, true
		}
	}
	top := filepath.Dir(filepath.Dir(e.host))
	lib := filepath.Join(top, "lib")
	apart := top == filepath.Join(t.Box.Facts.Home, ".local") && (by == "" || strings.HasSuffix(by, "sh"))
	if filepath.Base(filepath.Dir(e.host)) != "bin" || apart || disk(lib).kind != 'd' {
		return need, false
	}
	need = t.Path(lib)
	return need, !need.Granted(false)
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
