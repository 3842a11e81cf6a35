// Package gitignore reads patterns as gitignore(5) describes them, for paths
// that are absolute.
//
// It promises what git does: "*" and "?" stay within a name, "**" stands for
// any number of folders, "[!a]" and "[0-9]" are classes, "!" takes back
// what an earlier pattern matched, but not below a folder that is matched
// itself, a slash at the end means folders only, and a pattern without another
// slash matches at any depth. Names are bytes.
//
// It differs from git where git would pass over a pattern without a word: a
// comment, a blank at the end, a class that is never closed, "{a,b}", which
// other tools read as "a" or "b" and git as a name. Here they are errors, for
// somebody relies on what the pattern hides. So is what a class has that the
// library does not know: "[[:digit:]]", and "]" at its beginning.
//
// A name is compared by doublestar, which goes character by character where
// path.Match of Go steps into the middle of one. What is around it says which
// folders a search has to enter; no library does, and where these know "**" it is
// something else than to git at the end of a pattern. The tests ask git itself.
//
//	text, err := gitignore.Absolute("/home/ann/app", "*.pem") // /home/ann/app/**/*.pem
//	p, err := gitignore.Parse(text)
//	l := gitignore.List{p}
//	next, hidden := l.Step(l.Start(), "home", true)
package gitignore

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/enr/inner/internal/lazy"
)

// Pattern is one pattern, for absolute paths.
type Pattern struct {
	Negate  bool // it takes back what an earlier one matched
	DirOnly bool // it matches folders only

	parts []part
}

// part is what a pattern says of one name of a path; of any number of them when
// it is stars.
type part struct {
	stars   bool
	literal bool // text is the name itself, not escaped
	text    string
	glob    string // of what is not literal, for doublestar
}

// Escape makes a path match itself.
func Escape(p string) string {
	if !strings.ContainsAny(p, `*?[{\`) {
		return p
	}
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `\`, `\\`).Replace(p)
}

// escaped is a character that stands for itself.
var escaped = lazy.Regexp(`(?s)\\(.)`)

// alternatives reports whether a pattern has "{a,b}" in a name, as shells and other tools understand it.
func alternatives(text string) bool {
	return regexp.MustCompile(`\{[^/{}]*,[^/{}]*\}`).MatchString(escaped().ReplaceAllString(text, ""))
}

// Absolute returns a pattern of the folder root as one that Parse takes. What
// is absolute already stays so.
func Absolute(root, text string) (string, error) {
	negate, rest := "", text
	if after, ok := strings.CutPrefix(text, "!"); ok {
		negate, rest = "!", after
	}
	if err := checkText(text, rest); err != nil {
		return "", err
	}
	root = Escape(strings.TrimSuffix(root, "/"))
	switch {
	case rest[0] == '/':
	case strings.Contains(strings.TrimSuffix(rest, "/"), "/"):
		rest = root + "/" + rest
	default:
		if strings.Trim(rest, "*/") == "" { // "**" alone is any name, not any folders
			rest = "*" + rest[len(strings.TrimRight(rest, "/")):]
		}
		rest = root + "/**/" + rest
	}
	p, err := parse(negate + rest)
	if err != nil {
		return "", fmt.Errorf("%q is not a valid pattern: %w", text, err)
	}
	return p.String(), nil
}

// checkText refuses what git would pass over without a word; rest is the text without its "!".
func checkText(text, rest string) error {
	switch {
	case rest == "" || path.Clean(rest) == "." || path.Clean(rest) == "/":
		return fmt.Errorf("%q names nothing", text)
	case strings.HasPrefix(rest, "#"):
		return fmt.Errorf(`%q is a comment in gitignore's syntax; "\#" begins a name`, text)
	case strings.HasSuffix(rest, " ") && !strings.HasSuffix(rest, `\ `):
		return fmt.Errorf(`%q ends with a blank, which gitignore's syntax passes over; "\ " keeps it`, text)
	case alternatives(rest):
		return fmt.Errorf(`%q has braces, which gitignore's syntax takes as they are: write a pattern for each, or "\{" for the character`, text)
	}
	return nil
}

// Parse reads a pattern for absolute paths.
func Parse(text string) (Pattern, error) {
	p, err := parse(text)
	if err != nil {
		return p, fmt.Errorf("%q is not a valid pattern: %w", text, err)
	}
	return p, nil
}

func parse(text string) (Pattern, error) {
	var p Pattern
	rest, negate := strings.CutPrefix(text, "!")
	p.Negate = negate
	if !strings.HasPrefix(rest, "/") {
		return p, errors.New("it is not absolute")
	}
	if strings.IndexByte(rest, 0) >= 0 {
		return p, errors.New("it contains a NUL byte")
	}
	p.DirOnly = strings.HasSuffix(rest, "/")
	for s := range strings.SplitSeq(rest, "/") {
		switch {
		case s == "" || s == ".":
		case s == "..":
			if n := len(p.parts); n > 0 && !p.parts[n-1].literal {
				return p, errors.New(`".." cannot follow a pattern`)
			}
			p.parts = p.parts[:max(0, len(p.parts)-1)]
		case len(s) > 1 && strings.Trim(s, "*") == "":
			if n := len(p.parts); n == 0 || !p.parts[n-1].stars {
				p.parts = append(p.parts, part{stars: true})
			}
		default:
			one, err := named(s)
			if err != nil {
				return p, err
			}
			p.parts = append(p.parts, one)
		}
	}
	if len(p.parts) == 0 {
		return p, errors.New("it names the root folder")
	}
	return p, nil
}

// String is the pattern in a form that Parse takes.
func (p Pattern) String() string {
	var b strings.Builder
	if p.Negate {
		b.WriteByte('!')
	}
	for _, s := range p.parts {
		b.WriteByte('/')
		switch {
		case s.stars:
			b.WriteString("**")
		case s.literal:
			b.WriteString(Escape(s.text))
		default:
			b.WriteString(s.text)
		}
	}
	if p.DirOnly {
		b.WriteByte('/')
	}
	return b.String()
}

// List is patterns of which later ones win.
type List []Pattern

// State is how far the patterns of a list have matched a folder.
type State []place

// place is a pattern of the list, and the part of it that the next name is
// compared with.
type place struct{ pattern, part int }

// Start is the state of the root folder.
func (l List) Start() State {
	var s State
	for i := range l {
		s = l.enter(s, place{i, 0})
	}
	return s
}

// enter adds a place, and the one behind it when that is stars.
func (l List) enter(s State, at place) State {
	for ; at.part < len(l[at.pattern].parts); at.part++ {
		if !slices.Contains(s, at) {
			s = append(s, at)
		}
		if !l[at.pattern].parts[at.part].stars {
			break
		}
	}
	return s
}

// Step goes from a folder to what is called name in it, and reports whether
// that is matched. When it is not, next is its own state: what of the patterns
// may match below it, and named is the part of next that is owed to a name
// instead of "**". Of what is no folder there is neither.
func (l List) Step(s State, name string, dir bool) (next, named State, matched bool) {
	last := -1
	for _, at := range s {
		p := l[at.pattern]
		this := p.parts[at.part]
		if !this.matches(name) {
			continue
		}
		if at.part == len(p.parts)-1 && (dir || !p.DirOnly) && at.pattern >= last {
			last, matched = at.pattern, !p.Negate
		}
		switch {
		case !dir:
		case this.stars:
			next = l.enter(next, at)
		default:
			next = l.enter(next, place{at.pattern, at.part + 1})
			named = l.enter(named, place{at.pattern, at.part + 1})
		}
	}
	return next, named, matched
}

// Live reports whether anything below a folder can match.
func (l List) Live(s State) bool {
	return slices.ContainsFunc(s, func(at place) bool { return !l[at.pattern].Negate })
}

// Names returns the only names that can match in a folder; ok is false when
// others can.
func (l List) Names(s State) (names []string, ok bool) {
	for _, at := range s {
		p := l[at.pattern]
		switch {
		case p.Negate:
		case !p.parts[at.part].literal:
			return nil, false
		case !slices.Contains(names, p.parts[at.part].text):
			names = append(names, p.parts[at.part].text)
		}
	}
	return names, true
}

func (p part) matches(name string) bool {
	switch {
	case p.stars:
		return true
	case p.literal:
		return p.text == name
	}
	return doublestar.MatchUnvalidated(p.glob, bytewise(name))
}

var (
	errClass  = errors.New(`"[" begins a class that is not closed, or is empty; "\[" is the character, "\]" the one in a class`)
	errEscape = errors.New(`"\" at the end of a name escapes nothing`)
	errNamed  = errors.New(`"[:" names a class, of which there is none here: write its characters, such as [0-9a-z]`)
)

// named reads a pattern for one name.
func named(text string) (part, error) {
	var glob strings.Builder
	s, class := bytewise(text), 0 // where one begins
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 == len(s):
			return part{}, errEscape
		case c == '\\':
			glob.WriteByte(c)
			i++
		case class > 0 && strings.HasPrefix(s[i:], "[:"):
			return part{}, errNamed
		case class > 0 && c == ']':
			if empty := emptyRange(s[class:i]); empty != "" {
				return part{}, fmt.Errorf("the range %s of a class is empty", empty)
			}
			class = 0
		case class > 0:
		case c == '[':
			if class = i + 1; strings.HasPrefix(s[class:], "!") || strings.HasPrefix(s[class:], "^") {
				class++
			}
		case c == '*' && strings.HasPrefix(s[i+1:], "*"): // several are one
			continue
		case c == '{', c == '}': // nothing else than these to git
			glob.WriteByte('\\')
		}
		glob.WriteByte(s[i])
	}
	if !doublestar.ValidatePattern(glob.String()) {
		return part{}, errClass
	}
	if !strings.ContainsAny(escaped().ReplaceAllString(text, ""), "*?[") {
		return part{literal: true, text: escaped().ReplaceAllString(text, "$1")}, nil
	}
	return part{text: text, glob: glob.String()}, nil
}

// emptyRange returns a range of a class that ends before it begins, or "". To git it is nothing, and to doublestar
// its first character.
func emptyRange(class string) string {
	ranges := regexp.MustCompile(`(?s)([^\\]|\\.)-(\\.|[^\\])`)
	for _, r := range ranges.FindAllStringSubmatch(class, -1) {
		if strings.TrimPrefix(r[1], `\`) > strings.TrimPrefix(r[2], `\`) {
			return r[0]
		}
	}
	return ""
}

// bytewise makes each byte a character of its own: names are bytes to git, and characters to doublestar.
func bytewise(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return s
	}
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}
