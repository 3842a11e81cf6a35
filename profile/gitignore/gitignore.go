// Package gitignore reads patterns as gitignore(5) describes them, for paths
// that are absolute.
//
// It promises what git does: "*" and "?" stay within a name, "**" stands for
// any number of folders, "[!a]" and "[[:digit:]]" are classes, "!" takes back
// what an earlier pattern matched, but not below a folder that is matched
// itself, a slash at the end means folders only, and a pattern without another
// slash matches at any depth. Names are bytes.
//
// It differs from git where git would pass over a pattern without a word: a
// comment, a blank at the end, a class that is never closed, "{a,b}", which
// other tools read as "a" or "b" and git as a name. Here they are errors, for
// somebody relies on what the pattern hides.
//
// No library of this kind was used: those for Go translate patterns to regular
// expressions, and differ from git in classes, escapes or "**". The tests ask
// git itself.
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
	"slices"
	"strings"
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
}

// Escape makes a path match itself.
func Escape(p string) string {
	if !strings.ContainsAny(p, `*?[{\`) {
		return p
	}
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `\`, `\\`).Replace(p)
}

// alternatives reports whether a pattern has "{a,b}" in a name, as shells and other tools understand it.
func alternatives(text string) bool {
	open, comma := false, false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '/':
			open = false
		case '{':
			open, comma = true, false
		case ',':
			comma = true
		case '}':
			if open && comma {
				return true
			}
			open = false
		}
	}
	return false
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
			if err := checkName(s); err != nil {
				return p, err
			}
			name, literal := unescape(s)
			if !literal {
				name = s
			}
			p.parts = append(p.parts, part{literal: literal, text: name})
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

// unescape returns the one name that a pattern for a name matches, if it is one.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?', '[':
			return "", false
		case '\\':
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), true
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
	return match(p.text, name)
}

var (
	errClass  = errors.New(`"[" begins a class that is not closed; "\[" is the character`)
	errEscape = errors.New(`"\" at the end of a name escapes nothing`)
)

// checkName reports what is wrong with a pattern for one name.
func checkName(s string) error {
	for i := 0; i < len(s); {
		switch s[i] {
		case '\\':
			if i+1 == len(s) {
				return errEscape
			}
			i += 2
		case '[':
			_, n, err := class(s[i:], 0)
			if err != nil {
				return err
			}
			i += n
		default:
			i++
		}
	}
	return nil
}

// match reports whether a pattern that checkName takes matches a name. It goes
// back to the last "*" only: an earlier one cannot match more.
func match(s, name string) bool {
	star, kept := -1, 0
	i, j := 0, 0
	for j < len(name) {
		if i < len(s) {
			if s[i] == '*' {
				i++
				star, kept = i, j
				continue
			}
			if ok, n := one(s[i:], name[j]); ok {
				i += n
				j++
				continue
			}
		}
		if star < 0 {
			return false
		}
		kept++
		i, j = star, kept
	}
	return strings.Trim(s[i:], "*") == ""
}

// Glob reports whether a pattern of git's matches a whole text, name by name: "*" and
// "?" stop at a slash, "**" between slashes does not. One that git's ignore files would
// not take matches nothing.
//
// Source: wildmatch.c of git 2.39 with WM_PATHNAME; what package gitconfig does with it
// is compared with git.
func Glob(pattern, text string) bool {
	parts, ok := split(pattern)
	if !ok {
		return false
	}
	names := strings.Split(text, "/")
	star, kept := -1, 0 // as in match
	i, j := 0, 0
	for j < len(names) {
		switch {
		case i < len(parts) && parts[i] == "**" && i+1 == len(parts):
			return true
		case i < len(parts) && parts[i] == "**":
			i++
			star, kept = i, j
		case i < len(parts) && match(parts[i], names[j]):
			i, j = i+1, j+1
		case star < 0:
			return false
		default:
			kept++
			i, j = star, kept
		}
	}
	return i == len(parts)
}

// split cuts a pattern at its slashes, not at those of a class.
func split(pattern string) (parts []string, ok bool) {
	begin := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '/':
			parts, begin = append(parts, pattern[begin:i]), i+1
		case '\\':
			if i++; strings.HasPrefix(pattern[i:], "/") { // it is one all the same
				parts, begin = append(parts, pattern[begin:i-1]), i+1
			}
		case '[':
			_, n, err := class(pattern[i:], 0)
			if err != nil {
				return nil, false
			}
			i += n - 1
		}
	}
	parts = append(parts, pattern[begin:])
	return parts, !slices.ContainsFunc(parts, func(p string) bool { return checkName(p) != nil })
}

// one compares a byte with the beginning of a pattern, and returns how long
// that is.
func one(s string, c byte) (bool, int) {
	switch s[0] {
	case '?':
		return true, 1
	case '\\':
		return s[1] == c, 2
	case '[':
		in, n, _ := class(s, c)
		return in, n
	}
	return s[0] == c, 1
}

// class reads the class at the beginning of s: whether c is in it, and how long
// it is.
func class(s string, c byte) (in bool, n int, err error) {
	i := 1
	negate := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negate {
		i++
	}
	for first := true; ; first = false {
		if i >= len(s) {
			return false, 0, errClass
		}
		if s[i] == ']' && !first {
			return in != negate, i + 1, nil
		}
		has, n, err := member(s[i:], c)
		if err != nil {
			return false, 0, err
		}
		in = in || has
		i += n
	}
}

// member reads one member of a class, a named class, a character or a range: whether c is in it, and how long it is.
func member(s string, c byte) (in bool, n int, err error) {
	if after, ok := strings.CutPrefix(s, "[:"); ok {
		if word, _, ok := strings.Cut(after, ":]"); ok && strings.IndexByte(word, ']') < 0 {
			has := named(word)
			if has == nil {
				return false, 0, fmt.Errorf("there is no class [:%s:]", word)
			}
			return has(c), len(word) + 4, nil
		}
	}
	from, n, ok := char(s)
	if !ok {
		return false, 0, errClass
	}
	to := from
	if n+1 < len(s) && s[n] == '-' && s[n+1] != ']' {
		end, more, ok := char(s[n+1:])
		if !ok {
			return false, 0, errClass
		}
		to, n = end, n+1+more
	}
	return from <= c && c <= to, n, nil
}

// char reads one character of a class.
func char(s string) (c byte, n int, ok bool) {
	switch {
	case s[0] != '\\':
		return s[0], 1, true
	case len(s) > 1:
		return s[1], 2, true
	}
	return 0, 0, false
}
