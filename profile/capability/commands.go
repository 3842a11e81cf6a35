package capability

// Commands that settings name: hooks, a status line, helpers. Their scripts are in the user's
// home, which the box does not have. Those in the agent's own folder come along; an entry
// whose script the box would not have is left out, so that it fails nowhere.

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
)

// Commands says where a settings file names commands.
type Commands struct {
	File   string   // in the folder, JSON, that has an Edit
	Texts  []string // keys whose value is a command
	Tables []string // keys of a table with a command, or of events with lists of them
}

// maxScript bounds a script: what is larger is no script but data.
const maxScript = 1 << 20

// scripts brings the scripts of one folder.
type scripts struct {
	o       Origin
	source  string   // the agent's folder on the host
	place   string   // and in the box
	dst     string   // its clone
	leftOut []string // scripts that are unavailable
}

// keep copies the scripts that the settings name into the clone, read-only, and leaves the entries out whose
// script is unavailable.
func (c *Commands) keep(doc map[string]any, s *scripts) {
	for _, key := range c.Texts {
		if text, ok := doc[key].(string); ok && !s.has(text) {
			delete(doc, key)
		}
	}
	for _, key := range c.Tables {
		if v, ok := doc[key]; ok {
			if v = s.kept(v); v == nil {
				delete(doc, key)
			} else {
				doc[key] = v
			}
		}
	}
}

// kept returns a value without the commands that are unavailable, nil when nothing is left of it.
func (s *scripts) kept(v any) any {
	switch v := v.(type) {
	case []any:
		out := []any{}
		for _, x := range v {
			if x = s.kept(x); x != nil {
				out = append(out, x)
			}
		}
		if len(out) == 0 && len(v) > 0 {
			return nil
		}
		return out
	case map[string]any:
		return s.keptTable(v)
	}
	return v
}

func (s *scripts) keptTable(table map[string]any) any {
	if text, ok := table["command"].(string); ok && !s.has(text) {
		return nil
	}
	for _, key := range names(table) {
		if table[key] == nil { // null
			continue
		}
		x := s.kept(table[key])
		switch {
		case x != nil:
			table[key] = x
		case key == "hooks":
			return nil // a matcher without them says nothing
		default:
			delete(table, key)
		}
	}
	if len(table) == 0 {
		return nil
	}
	return table
}

// has reports whether the box has the files of the home that a command names, and copies
// those of the agent's folder.
func (s *scripts) has(command string) bool {
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()=", r) }) {
		p, ok := s.path(strings.Trim(word, `"'`))
		if !ok || s.o.Workdir != "" && paths.Below(s.o.Workdir, p) || s.o.Seen != nil && s.o.Seen(p) {
			continue
		}
		if !s.copied(p) {
			s.leftOut = append(s.leftOut, p)
			return false
		}
	}
	return true
}

// path is a word of a command as a path of the home; ok is false for any other word.
func (s *scripts) path(word string) (path string, ok bool) {
	if rest, ok := strings.CutPrefix(word, "~/"); ok {
		word = "$HOME/" + rest
	}
	word = os.Expand(word, func(name string) string {
		switch name {
		case "HOME":
			return s.o.Home
		case "CLAUDE_CONFIG_DIR":
			return s.place
		}
		return "$" + name
	})
	if !filepath.IsAbs(word) {
		return "", false
	}
	word = filepath.Clean(word)
	return word, paths.Below(s.o.Home, word) || paths.Below(s.source, word)
}

// copied brings a file of the agent's folder, at the same place.
func (s *scripts) copied(p string) bool {
	for _, root := range []string{s.source, s.place} {
		rest, ok := paths.Rest(root, p)
		if !ok || rest == "" {
			continue
		}
		to := filepath.Join(s.dst, rest)
		if files.Exists(to) {
			return true
		}
		// It is named by settings of the user's own: a link there is theirs. What it leads to
		// comes along when it lies in the folder, too.
		from := files.Real(filepath.Join(s.source, rest))
		if !paths.Below(files.Real(s.source), from) || os.MkdirAll(filepath.Dir(to), 0o700) != nil {
			return false
		}
		fi, err := os.Stat(from)
		return err == nil && fi.Size() <= maxScript && copyBytes(from, to) == nil
	}
	return false
}
