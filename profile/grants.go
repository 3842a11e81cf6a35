package profile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/internal/paths"
)

// Grant is one thing a profile gives a box beyond nothing. One that Tightens takes
// away instead: without it the box could do more.
//
// One that is Far reaches beyond the project and the box, and stands next to the question whether it is allowed.
//
// Text is for people and is never compared. What is recorded when a profile is allowed, and
// compared at each start, is Kind, Key and the identity of each item.
type Grant struct {
	Kind     string `json:"kind"` // runs, writes, reads, network, secret, passes, sets, …
	Text     string `json:"text"` // one line; a list is "words: item, item"
	Tightens bool   `json:"tightens,omitempty"`
	Far      bool   `json:"far,omitempty"`
	Items    []Item `json:"items,omitempty"`
	From     string `json:"from,omitempty"` // where it is written; not in the list that Grants returns

	Key   string `json:"key,omitempty"`   // what sort of thing of its kind, the same in every version of inner
	Words string `json:"words,omitempty"` // Text without the items
}

// Item is one of the things that a grant is about.
type Item struct {
	Text string `json:"text"`           // for people
	Path string `json:"path,omitempty"` // of something on the host: its real path
	At   string `json:"at,omitempty"`   // where that is in the box, when it is elsewhere
	Far  bool   `json:"far,omitempty"`  // of a grant that is not Far as a whole
	ID   string `json:"id,omitempty"`   // what it is by, when Text is not it

	// Own marks what the user's own config.toml, and not the profile, asks for. It is
	// shown, and neither recorded nor compared.
	Own bool `json:"-"`
}

// id is what makes two items the same thing.
func (it Item) id() string {
	switch {
	case it.Path != "":
		return it.Path + "\x00" + it.At
	case it.ID != "":
		return it.ID
	}
	return it.Text
}

// Grants says what a run may do, in the order in which it is told: first what runs and what it
// can change, last what narrows the box. Values of variables that look secret
// are not in it.
func Grants(rc RunConfig) []Grant {
	g := granter{homes: []string{rc.HomeDir, real(rc.HomeDir)}, real: rc.Real}
	for _, rule := range keyRules() {
		if rule.say != nil {
			rule.say(&g, &rc)
		}
	}
	return ordered(g.grants)
}

// ordered sorts grants as they are told.
func ordered(grants []Grant) []Grant {
	slices.SortStableFunc(grants, func(a, b Grant) int { return a.Verb().Line - b.Verb().Line })
	return grants
}

const noNetwork = "no network"

// noHost is the same of a list that is empty.
const noHost = "no host"

// The two things that can be read of a home folder, by the end of their grant's key,
// and of its text.
var (
	wholeHome  = struct{ key, text string }{"home", " and your home folder, except secrets and unknown dot entries"}
	listedHome = struct{ key, text string }{"listed home", "; of your home folder only what is listed here"}
)

type granter struct {
	homes  []string // as it is called, and its real path
	real   map[string]string
	grants []Grant
}

func (g *granter) add(x Grant) {
	x.Render()
	x.Far = x.Verb().Far
	g.grants = append(g.grants, x)
}

// say adds a grant that is one sentence.
func (g *granter) say(kind, key, text string) { g.add(Grant{Kind: kind, Key: key, Words: text}) }

func (g *granter) list(kind, key, words string, items []Item) {
	if len(items) > 0 {
		g.add(Grant{Kind: kind, Key: key, Words: words, Items: items})
	}
}

// narrow adds a sentence about what the box has not.
func (g *granter) narrow(kind, key, text string) {
	g.add(Grant{Kind: kind, Key: key, Words: text, Tightens: true})
}

func (g *granter) tighten(kind, key, words string, items []Item) {
	if len(items) > 0 {
		g.add(Grant{Kind: kind, Key: key, Words: words, Items: items, Tightens: true})
	}
}

// MountRW is the key of the folders of the host that the box can write; the others are those of folders that it reads,
// or has a copy of, and of limits that count where they can be held.
const (
	MountRW     = "mount rw"
	mountRO     = "mount ro"
	mountSafeRW = "mount safe-rw"
	limitsLoose = "limits loose"
)

// Render writes Text: the words, and each item once.
func (x *Grant) Render() {
	switch {
	case len(x.Items) == 0:
		x.Text = x.Words
	case x.Kind == "runs":
		x.Text = x.Words + " " + x.Items[0].Text
	default:
		x.Text = x.Words + ": " + x.List()
	}
}

// List writes the items, each once, so that they can be told apart.
func (x *Grant) List() string {
	var shown []string
	for _, it := range x.Items {
		if !slices.Contains(shown, it.Text) {
			shown = append(shown, it.Text)
		}
	}
	return strings.Join(eachOf(shown, func(s string) string {
		if s == "" || strings.Contains(s, ", ") || strings.ContainsAny(s, `"\`) || control(s) || strings.TrimSpace(s) != s || strings.HasSuffix(s, ",") {
			return strconv.Quote(s)
		}
		return s
	}), ", ")
}

// texts are items that are what they are called.
func texts(list []string) []Item {
	return eachOf(list, func(s string) Item { return Item{Text: s} })
}

// itemsOf are items that are shown in other words than they are compared by.
func itemsOf(list []string, shown func(string) string) []Item {
	return eachOf(list, func(s string) Item { return Item{Text: shown(s), ID: s} })
}

// short writes a path of the home folder with ~.
func (g *granter) short(path string) string {
	for _, home := range g.homes {
		if home != "" && home != "/" && paths.Below(home, path) {
			return "~" + strings.TrimPrefix(path, home)
		}
	}
	return path
}

// path is a host path as an item: as it was written, and where it really leads.
func (g *granter) path(path, dest string) Item {
	it := Item{Text: g.short(path), Path: cmp.Or(g.real[path], path)}
	if to := g.short(it.Path); to != it.Text {
		it.Text += " → " + to
	}
	if at := g.short(dest); at != g.short(path) {
		it.Text += " (there as " + at + ")"
	}
	if dest != it.Path {
		it.At = dest
	}
	return it
}

// Duration writes 30m, not 30m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// commandLine writes a program and its arguments so that words can be told
// apart.
func commandLine(cmd string, args []string) string {
	return commandWords(append([]string{cmd}, args...))
}

func commandWords(words []string) string {
	words = slices.Clone(words)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\") || control(w) {
			words[i] = strconv.Quote(w)
		}
	}
	return strings.Join(words, " ")
}

func eachOf[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}
