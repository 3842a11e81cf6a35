package capability

// Commands that settings name: hooks, a status line, helpers. Their scripts are in the user's
// home, which the box does not have. Those in the agent's own folder come along; an entry
// whose script the box would not have is left out, so that it fails nowhere.

import (
	"io/fs"
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

// keep copies the scripts that the settings name into the clone, read-only, and leaves the entries out whose
// script is unavailable.
func (c *Commands) keep(doc map[string]any, cl *cloner) {
	for _, key := range c.Texts {
		if text, ok := doc[key].(string); ok && !cl.has(text) {
			delete(doc, key)
		}
	}
	for _, key := range c.Tables {
		if v, ok := doc[key]; ok {
			if v = cl.kept(v); v == nil {
				delete(doc, key)
			} else {
				doc[key] = v
			}
		}
	}
}

// kept returns a value without the commands that are unavailable, nil when nothing is left of it.
func (cl *cloner) kept(v any) any {
	switch v := v.(type) {
	case []any:
		out := []any{}
		for _, x := range v {
			if x = cl.kept(x); x != nil {
				out = append(out, x)
			}
		}
		if len(out) == 0 && len(v) > 0 {
			return nil
		}
		return out
	case map[string]any:
		return cl.keptTable(v)
	}
	return v
}

func (cl *cloner) keptTable(table map[string]any) any {
	if text, ok := table["command"].(string); ok && !cl.has(text) {
		return nil
	}
	for _, key := range names(table) {
		if table[key] == nil { // null
			continue
		}
		x := cl.kept(table[key])
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
func (cl *cloner) has(command string) bool {
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()=", r) }) {
		p, ok := cl.path(strings.Trim(word, `"'`))
		if !ok || cl.o.Workdir != "" && paths.Below(cl.o.Workdir, p) || cl.o.Seen != nil && cl.o.Seen(p) {
			continue
		}
		if !cl.copied(p) {
			cl.leftOut = append(cl.leftOut, p)
			return false
		}
	}
	return true
}

// path is a word of a command as a path of the home; ok is false for any other word.
func (cl *cloner) path(word string) (path string, ok bool) {
	if rest, ok := strings.CutPrefix(word, "~/"); ok {
		word = "$HOME/" + rest
	}
	word = os.Expand(word, func(name string) string {
		switch name {
		case "HOME":
			return cl.o.Home
		case "CLAUDE_CONFIG_DIR":
			return cl.place
		}
		return "$" + name
	})
	if !filepath.IsAbs(word) {
		return "", false
	}
	word = filepath.Clean(word)
	return word, paths.Below(cl.o.Home, word) || paths.Below(cl.source, word)
}

// copied brings a file of the agent's folder, at the same place.
func (cl *cloner) copied(p string) bool {
	for _, root := range []string{cl.source, cl.place} {
		rest, ok := paths.Rest(root, p)
		if !ok || rest == "" {
			continue
		}
		if cl.had[rest] {
			return true
		}
		// It is named by settings of the user's own: a link there is theirs. What it leads to
		// comes along when it lies in the folder, too, or is followed.
		at := filepath.Join(cl.source, rest)
		from := files.Real(at)
		if !paths.Below(files.Real(cl.source), from) {
			if cl.o.Follow == nil {
				return false
			}
			if from, ok = cl.o.Follow(at); !ok {
				return false
			}
		}
		if dir := filepath.Dir(rest); !cl.had[dir] && cl.put(dir, nil, fs.ModeDir, File{}) != nil {
			return false
		}
		return cl.asIs(from, rest, maxScript) == nil
	}
	return false
}
