package strict

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// scan finds out where every key and every list item of a TOML text stands: on
// which line, and from where to where, which is what an editor needs. BurntSushi/toml
// has no such places for keys; go-toml's syntax tree has them (package unstable:
// the tree of one line or header at a time, its interface not promised). What a
// text means is decided by BurntSushi alone: a key that scan did not see is still
// checked, only without a line of its own.
//
// BurntSushi takes 15 us for a key or an item, and half a minute for inline tables
// nested ten thousand deep, which fit into 30 kB. So what is nested too deeply, or is
// too much, is refused here, and of a text that go-toml cannot follow BurntSushi gets
// no more than it needs to say why.

const (
	maxDepth = 32    // nested lists and inline tables
	maxParts = 16    // parts of one dotted key
	maxNodes = 10000 // keys, tables and list items of one file

	// maxMarks bounds the memory that go-toml takes for one line: 144 bytes for each.
	maxMarks = 4 * maxNodes // commas and dots of one file, also those in strings and comments
)

// node is one key, table, list or list item.
type node struct {
	key   string
	line  int
	kids  []*node        // file order; items of a list have the keys "0", "1", …
	index map[string]int // positions in kids, once there are many
	rows  bool           // an array of tables: new keys go to its last item

	start    int // where the key, or the [header], begins in the text
	from, to int // where the value is; of a table with a [header], to is its end
	header   bool
}

func (n *node) get(key string) *node {
	if n.index != nil {
		if i, ok := n.index[key]; ok {
			return n.kids[i]
		}
		return nil
	}
	for _, k := range n.kids {
		if k.key == key {
			return k
		}
	}
	return nil
}

// isValue reports whether there is a node, and a value is written for it.
func (n *node) isValue() bool { return n != nil && n.from < n.to }

// find returns what a key leads to, or nil.
func (n *node) find(key []string) *node {
	for _, part := range key {
		if n == nil {
			return nil
		}
		n = n.get(part)
	}
	return n
}

func (n *node) add(key string, line int) *node {
	kid := &node{key: key, line: line}
	n.kids = append(n.kids, kid)
	switch {
	case n.index != nil:
		n.index[key] = len(n.kids) - 1
	case len(n.kids) > 12:
		n.index = make(map[string]int, 2*len(n.kids))
		for i, k := range n.kids {
			n.index[k.key] = i
		}
	}
	return kid
}

// child returns the table a key leads into, making it when it is new.
func (n *node) child(key string, line int) *node {
	kid := n.get(key)
	if kid == nil {
		kid = n.add(key, line)
	}
	if kid.rows {
		return kid.kids[len(kid.kids)-1]
	}
	return kid
}

// stop is why a text was not followed to its end.
type stop struct {
	line   int
	msg    string
	syntax int // what ends here is no TOML, BurntSushi can say why; 0: msg says all
}

type scanner struct {
	text  string
	nodes int // keys, headers and list items so far

	at, line int // a place, and its line: the one asked for last
}

// scan indexes a text. The tree is never nil.
func scan(text string) (root *node, why *stop) {
	s := &scanner{text: text, line: 1}
	root = &node{line: 1}
	if strings.Count(text, ",")+strings.Count(text, ".") > maxMarks {
		return root, &stop{msg: "has more than " + strconv.Itoa(maxMarks) + " commas and dots"}
	}
	defer func() {
		if r := recover(); r != nil { // a fault of the library
			why = &stop{line: s.line, msg: lost}
		}
	}()
	p := &unstable.Parser{}
	p.Reset([]byte(text))
	table, end := root, 0
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.KeyValue {
			why, end = s.pair(table, e, 0), rangeEnd(e)
		} else {
			table, end, why = s.header(root, e)
		}
		if why != nil {
			return root, why
		}
	}
	var fault *unstable.ParserError
	if errors.As(p.Error(), &fault) {
		why = s.notTOML(end, int(p.Range(fault.Highlight).Offset))
		if strings.Contains(fault.Message, "nested more than") { // go-toml's own limit, of 10,000
			why.msg, why.syntax = tooDeep, 0
		}
	}
	return root, why
}

const (
	tooDeep = "lists and tables are nested too deeply"
	lost    = "cannot be followed from here on"
)

// notTOML is about a line or header that begins after start and has a fault at a
// place.
func (s *scanner) notTOML(start, at int) *stop {
	why := &stop{line: s.lineAt(at), msg: lost}
	if n := strings.IndexByte(s.text[at:], '\n'); n >= 0 {
		at += n + 1
	} else {
		at = len(s.text)
	}
	part := s.text[start:at]
	if strings.Count(part, "[")+strings.Count(part, "{") <= 10*maxDepth && strings.Count(part, ",")+strings.Count(part, ".") <= maxNodes {
		why.syntax = at
	}
	return why
}

// lineAt returns the line of a place. Places are asked for in their order, mostly.
func (s *scanner) lineAt(at int) int {
	if at >= s.at {
		s.line += strings.Count(s.text[s.at:at], "\n")
	} else {
		s.line -= strings.Count(s.text[at:s.at], "\n")
	}
	s.at = at
	return s.line
}

func rangeEnd(n *unstable.Node) int { return int(n.Raw.Offset + n.Raw.Length) }

// count is called for each key, header and list item.
func (s *scanner) count() *stop {
	if s.nodes++; s.nodes > maxNodes {
		return &stop{line: s.line, msg: "has more than " + strconv.Itoa(maxNodes) + " keys and list items"}
	}
	return nil
}

// key reads a dotted key, and where it begins and ends.
func (s *scanner) key(e *unstable.Node) (parts []string, start, end int, why *stop) {
	for it := e.Key(); it.Next(); {
		part := it.Node()
		if len(parts) == 0 {
			start = int(part.Raw.Offset)
			s.lineAt(start)
		}
		end = rangeEnd(part)
		if why := s.count(); why != nil {
			return nil, 0, 0, why
		}
		if parts = append(parts, string(part.Data)); len(parts) > maxParts {
			return nil, 0, 0, &stop{line: s.line, msg: "has too many parts"}
		}
	}
	return parts, start, end, nil
}

// header reads [a.b] or [[a.b]] and returns the table it opens, and its own end.
func (s *scanner) header(root *node, e *unstable.Node) (*node, int, *stop) {
	key, start, end, why := s.key(e)
	if why != nil {
		return nil, 0, why
	}
	line := s.line
	n := root
	for _, part := range key[:len(key)-1] {
		n = n.child(part, line)
	}
	last := key[len(key)-1]
	start = strings.LastIndexByte(s.text[:start], '\n') + 1
	start += strings.IndexByte(s.text[start:], '[')
	end += strings.IndexByte(s.text[end:], ']') + 1
	if e.Kind == unstable.Table {
		n = n.child(last, line)
		n.header, n.start, n.to = true, start, end
		return n, end, nil
	}
	list := n.get(last)
	if list == nil {
		list = n.add(last, line)
		list.rows, list.start = true, start
	}
	if !list.rows {
		return nil, 0, &stop{line: line, msg: lost, syntax: end}
	}
	return list.add(strconv.Itoa(len(list.kids)), line), end, nil
}

// pair reads key = value into a table.
func (s *scanner) pair(table *node, e *unstable.Node, depth int) *stop {
	key, start, end, why := s.key(e)
	if why != nil {
		return why
	}
	for _, part := range key[:len(key)-1] {
		table = table.child(part, s.line)
	}
	last := key[len(key)-1]
	n := table.get(last)
	if n == nil {
		n = table.add(last, s.line)
	}
	n.start = start
	n.from = end + strings.IndexByte(s.text[end:], '=') + 1
	n.from += gap(s.text[n.from:])
	return s.value(n, e.Value(), depth)
}

// value finds the end of a value, reading the items of a list and the keys of an
// inline table.
func (s *scanner) value(n *node, v *unstable.Node, depth int) (why *stop) {
	if depth > maxDepth {
		return &stop{line: s.line, msg: tooDeep}
	}
	if v.Kind != unstable.Array && v.Kind != unstable.InlineTable {
		n.to = rangeEnd(v)
		return nil
	}
	end := n.from + 1
	for it := v.Children(); it.Next() && why == nil; {
		if v.Kind == unstable.InlineTable {
			why = s.pair(n, it.Node(), depth+1)
			end = rangeEnd(it.Node())
			continue
		}
		if why = s.count(); why != nil {
			break
		}
		start := end + gap(s.text[end:])
		item := n.add(strconv.Itoa(len(n.kids)), s.lineAt(start))
		item.from = start
		why = s.value(item, it.Node(), depth+1)
		end = item.to
	}
	n.to = end + gap(s.text[end:]) + 1
	return why
}

// gap is the length of what may stand before a value: blanks, comments and commas.
func gap(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t', '\r', '\n', ',':
		case '#':
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				return len(text)
			}
			i += n
		default:
			return i
		}
	}
	return len(text)
}
