// Package strict reads TOML strictly.
//
// A file that says what may happen in a sandbox must not be read leniently: a
// misspelt restriction that is silently ignored is no restriction. Decode
// therefore reports every key it does not know, every key that differs from a
// known one only by case and every value of another type, each with file, line,
// key and the nearest valid key, all at once and in file order. It never
// panics, whatever the bytes are.
//
// The language is a list of keys, and what a file says a Doc, which remembers whether and where
// each is written:
//
//	language := []strict.Key{
//		{Name: "sandbox.network", Kind: strict.ABool},
//		{Name: "noop.rewrite", Kind: strict.ATable}, // free keys, file order
//		{Name: "verify.checks", Kind: strict.Rows, Of: []strict.Key{{Name: "cmd"}}},
//	}
//	doc, problems := strict.Decode("web.toml", data, language)
//	network := doc.Value("sandbox.network").On()
//
// What is TOML, and where each key stands, pelletier/go-toml says; values of files that
// belong to other programs are written anew by BurntSushi/toml.
//
// What the package does not do: it knows no meaning of any key.
package strict

import (
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/visible"
)

// UnknownKey is the Msg of a Problem about a key that the language does not have.
const UnknownKey = "unknown key"

// Pos is a place in a file.
type Pos struct {
	File string
	Line int // starts at 1; 0 when it has no line
}

// Problem is a fault at this place.
func (at Pos) Problem(key, msg, hint string) Problem {
	return Problem{File: at.File, Line: at.Line, Key: key, Msg: msg, Hint: hint}
}

// Problem is one fault of a file.
type Problem struct {
	File string
	Line int    // starts at 1; 0 when it has no line
	Key  string // the full key as it would be written, or ""
	Msg  string // what is wrong
	Hint string // what to write instead, or ""
}

// Error renders the problem as one line: where, what and, in parentheses, what
// to write instead.
func (p Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(visible.Text(p.File))
		if p.Line > 0 {
			b.WriteByte(':')
			b.WriteString(strconv.Itoa(p.Line))
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Msg)
	if p.Hint != "" {
		b.WriteString(" (")
		b.WriteString(p.Hint)
		b.WriteByte(')')
	}
	return b.String()
}

// Problems is a list of faults. As an error it has one line for each.
type Problems []Problem

// maxProblems keeps a file made of nothing but faults from taking seconds and megabytes.
const maxProblems = 100

// Full reports whether no more faults are noted.
func (ps Problems) Full() bool { return len(ps) >= maxProblems }

// Add notes a fault of a key, unless there are very many.
func (ps *Problems) Add(at Pos, key, msg, hint string) {
	if !ps.Full() {
		*ps = append(*ps, at.Problem(key, msg, hint))
	}
}

// Judge notes what is wrong with the value of a key, if err says so.
func (ps *Problems) Judge(at Pos, key string, err error) {
	if err != nil {
		ps.Add(at, key, err.Error(), "")
	}
}

// Error joins the faults, one per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Sorted is the same list in the order of the file.
func (ps Problems) Sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int { return a.Line - b.Line })
	return ps
}

// Err returns nil when there are no problems; a nil Problems in an error
// variable would not be nil.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// Join writes a key path the way TOML would: parts that are not bare words are
// quoted.
func Join(parts ...string) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte('.')
		}
		if bare(part) {
			b.WriteString(part)
		} else {
			b.WriteString(strconv.Quote(part))
		}
	}
	return b.String()
}

// bare reports whether a key needs no quotes.
func bare(key string) bool {
	return key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
