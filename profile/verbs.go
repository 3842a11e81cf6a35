package profile

import "slices"

// Verb is what grants of one kind have in common: what passes between this computer and the box, and where
// that is told.
type Verb struct {
	Kind  string // of Grant
	Line  int    // of inner allow: those of one number share a line
	Group string // of inner explain
	Way   string // open: the box can change or use it; seen: it can read it; own: it has one of its own
	Far   bool   // all of them reach beyond the project and the box
}

// Verbs are all of them, in the order in which they are told.
func Verbs() []Verb {
	return []Verb{
		{"runs", 0, "", "open", false},
		{"writes", 2, "files", "open", false},
		{"copies", 2, "files", "own", false},
		{"reads", 3, "files", "seen", false},
		{"network", 4, "network", "open", false},
		{"capability", 5, "settings", "own", false},
		{"credential", 5, "settings", "open", true},
		{"login", 5, "settings", "open", true},
		{"git", 5, "settings", "open", false},
		{"mcp", 6, "settings", "open", true},
		{"secret", 6, "hidden", "open", true},
		{"passes", 6, "variables", "seen", false},
		{"sets", 6, "variables", "own", false},
		{"path", 6, "variables", "seen", false},
		{"history", 7, "settings", "own", false},
		{"clipboard", 7, "settings", "open", true},
		{"device", 7, "settings", "open", true},
		{"layer", 7, "kernel", "open", true},
		{"hides", 7, "hidden", "open", false},
		{"blocks", 7, "commands", "open", false},
		{"replaces", 7, "commands", "own", false},
		{"limit", 7, "limits", "open", false},
	}
}

// Verb is that of a grant.
func (x Grant) Verb() Verb {
	verbs := Verbs()
	i := slices.IndexFunc(verbs, func(v Verb) bool { return v.Kind == x.Kind })
	if i < 0 { // of another version of inner
		return Verb{Kind: x.Kind, Line: 7, Group: "files", Way: "open"}
	}
	v := verbs[i]
	switch {
	case x.Tightens:
		v.Line, v.Way, v.Far = 8, "shut", false
	case x.Key == MountRW:
		v.Line = 1
	case x.Key == "home own":
		v.Way = "own"
	case x.Kind == "network" && x.Key == "full", x.Key == "env.inherit_all":
		v.Far = true
	}
	return v
}
