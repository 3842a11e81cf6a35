package why

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// lacks is what a program of the box needs before all else, and the box has not: a path, or the name of a
// command; "" for nothing. That is what the kernel starts for it, and the lib that the host has beside its bin; what
// lies in ~/.local/bin has no part in ~/.local/lib where it is a program or a script of a shell.
func (t *Table) lacks(e entry) string {
	f, err := os.OpenFile(e.host, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	by := interpreter(f)
	if by == "" {
		return ""
	}
	missing := func(p string) bool { return !t.Path(p).Granted(false) }
	path, _ := t.variable("PATH")
	switch byName := !strings.Contains(by, "/"); {
	case byName && t.onPath(by, path, t.follow) == "", !byName && missing(by):
		return by
	}
	top := filepath.Dir(filepath.Dir(e.host))
	lib := filepath.Join(top, "lib")
	_, onHost := real(lib)
	apart := top == filepath.Join(t.Box.Facts.Home, ".local") && (strings.HasSuffix(by, "sh") || strings.Contains(by, "/ld"))
	if filepath.Base(filepath.Dir(e.host)) == "bin" && !apart && onHost.kind == 'd' && missing(lib) {
		return lib
	}
	return ""
}

// needed answers for what a program lacks.
func (t *Table) needed(lack string) Answer {
	if strings.Contains(lack, "/") {
		return t.Path(lack)
	}
	return t.Command(lack)
}

// interpreter is what the kernel starts for a program: the loader that it names, or the first word of a script, behind
// env(1) the command.
func interpreter(f *os.File) string {
	head := make([]byte, 4096)
	n, _ := io.ReadFull(f, head)
	line, script := bytes.CutPrefix(head[:n], []byte("#!"))
	if !script {
		program, err := elf.NewFile(f)
		if err != nil {
			return ""
		}
		for _, p := range program.Progs {
			if p.Type == elf.PT_INTERP {
				n, _ := io.ReadFull(p.Open(), head)
				return strings.TrimRight(string(head[:n]), "\x00")
			}
		}
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) > 1 && filepath.Base(words[0]) == "env" {
		words = slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "=") })
	}
	return strings.Join(words[:min(1, len(words))], "")
}
