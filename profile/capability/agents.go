package capability

import (
	"embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

// agents has a file for each agent that inner knows, with the fields of Capability. A file says
// with which version it was measured.
//
//go:embed agents/*.toml
var agents embed.FS

// Find reads the file of an agent; ok is false for a name without one.
func Find(name string) (c Capability, ok bool) {
	text, err := agents.ReadFile("agents/" + name + ".toml")
	if err != nil || strict.Plain(text, &c) != nil { // tests read all
		return Capability{}, false
	}
	c.Name = name
	return c, true
}

// All are the agents that inner knows, by the names of their programs.
var All = sync.OnceValue(func() (list []Capability) {
	for _, name := range profile.Capabilities() {
		c, _ := Find(name)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Capability) int { return strings.Compare(a.Program, b.Program) })
	return list
})

// Programs are the programs of the agents that inner knows.
func Programs() (list []string) {
	for _, c := range All() {
		list = append(list, c.Program)
	}
	return list
}

// Of is the agent whose program has that name; ok is false where inner knows none.
func Of(program string) (c Capability, ok bool) {
	i := slices.Index(Programs(), program)
	if i < 0 {
		return c, false
	}
	return All()[i], true
}

// IsProgram reports whether a word is the program of an agent that inner knows.
func IsProgram(word string) bool {
	_, ok := Of(word)
	return ok
}

// Profile is the name of the built-in profile of the agent.
func (c Capability) Profile() string { return c.Name + "-interactive" }

// Edit says what is changed in a document. What a path leads through and does not exist, or is no
// table, is made one to set a value, and passed over otherwise.
type Edit struct {
	Strip []string       // values taken out, by their dotted paths, in which * is any key
	Set   map[string]any // values put in; those that are tables are merged
	// Here is the table whose keys are folders, "." for the document: of them stay the working
	// folder, and what lies in it. Known is what is said of the working folder where nothing is.
	Here  string
	Known map[string]any
	// MCP are the tables of MCP servers by their names, by dotted paths: of them stay those that are granted.
	MCP []string
	// Keys is the list, by its dotted path, of the ends of keys that the agent may use unasked: those of the box
	// are in it, or in another one beside it where the user said so of the key.
	Keys string
}

// Any reports whether anything is changed.
func (e Edit) Any() bool { return len(e.Strip)+len(e.Set)+len(e.MCP) > 0 || e.Here+e.Keys != "" }

func (e Edit) apply(doc map[string]any, workdir string, mcp func(name string, entry any) bool) {
	for _, path := range e.Strip {
		drop(doc, path)
	}
	put(doc, e.Set)
	if e.Here == "." {
		keepHere(doc, workdir)
	} else if folders, ok := doc[e.Here].(map[string]any); ok {
		keepHere(folders, workdir)
	} else {
		delete(doc, e.Here)
	}
	if e.Known != nil {
		if folders := table(doc, e.Here); folders[workdir] == nil {
			folders[workdir] = e.Known
		}
	}
	e.keepMCP(doc, mcp)
}

// taken puts the ends of what stands for keys into the list of those that are used unasked, or where the user's answer
// for the key itself is. only says that the ends of other keys are not the box's to read.
func (e Edit) taken(doc map[string]any, keys []Key, only bool) {
	at, approved, _ := strings.Cut(e.Keys, ".")
	was, _ := doc[at].(map[string]any)
	if only {
		delete(doc, at)
	}
	for _, key := range keys {
		to := approved
		if key.Ask {
			to = ""
		}
		for _, name := range names(was) { // of two answers the last is "rejected"
			if list, _ := was[name].([]any); key.Of != "" && slices.Contains(list, any(end(key.Of))) {
				to = name
			}
		}
		if to != "" {
			list, _ := table(doc, at)[to].([]any)
			table(doc, at)[to] = append(list, end(key.Value))
		}
	}
}

// end is how much of a key Claude Code writes there.
func end(key string) string { return key[max(0, len(key)-20):] }

// put merges values into a document.
func put(doc, values map[string]any) {
	for key, v := range values {
		if more, ok := v.(map[string]any); ok {
			put(table(doc, key), more)
		} else {
			doc[key] = v
		}
	}
}

func keepHere(folders map[string]any, workdir string) {
	maps.DeleteFunc(folders, func(path string, _ any) bool { return !paths.Below(workdir, path) })
}
