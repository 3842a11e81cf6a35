package strict

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The scanner finds out on which line every key and every list item of a TOML
// text stands. It decides nothing: the text is valid when the library says so,
// and a key the scanner did not see is still checked, only without a line of
// its own. On text that is not TOML it stops, and reports no more than the three
// things that must be known before the library runs: nesting so deep that a
// recursive parser would exhaust its stack, dotted keys so long that a
// quadratic one would not come back, and so many keys and items that reading
// them keeps a prompt waiting (measured: the library and the checks take some
// 15 us for each, 1.5 s for 70,000).

const (
	maxDepth = 32    // nested lists and inline tables
	maxParts = 16    // parts of one dotted key
	maxNodes = 10000 // keys, tables and list items of one file
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

// stop is how the scanner leaves text it cannot follow. msg is empty when the
// library is to say what is wrong.
type stop struct {
	line int
	pos  int // only where the library is to say what is wrong
	msg  string
}

type scanner struct {
	src   string
	pos   int
	line  int
	nodes int // keys, headers and list items so far
}

// scan indexes a text. The tree is never nil; when the text was not followed to
// its end, why says where that was.
func scan(src string) (root *node, why *stop) {
	s := &scanner{src: src, line: 1}
	root = &node{line: 1}
	table := root
	for {
		s.blank()
		if s.pos >= len(s.src) {
			return root, nil
		}
		if s.src[s.pos] == '[' {
			table, why = s.header(root)
		} else {
			why = s.pair(table, 0)
		}
		if why != nil {
			return root, why
		}
	}
}

// blank skips white space, line ends and comments.
func (s *scanner) blank() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case '\n':
			s.line++
			s.pos++
		case ' ', '\t', '\r':
			s.pos++
		case '#':
			n := strings.IndexByte(s.src[s.pos:], '\n')
			if n < 0 {
				s.pos = len(s.src)
				return
			}
			s.pos += n
		default:
			return
		}
	}
}

func (s *scanner) spaces() {
	for s.pos < len(s.src) && (s.src[s.pos] == ' ' || s.src[s.pos] == '\t') {
		s.pos++
	}
}

func (s *scanner) take(c byte) bool {
	if s.pos < len(s.src) && s.src[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) lost() *stop { return &stop{line: s.line, pos: s.pos} }

// count is called for each key, header and list item.
func (s *scanner) count() *stop {
	if s.nodes++; s.nodes > maxNodes {
		return &stop{line: s.line, msg: "has more than " + strconv.Itoa(maxNodes) + " keys and list items"}
	}
	return nil
}

// header reads [a.b] or [[a.b]] and returns the table it opens.
func (s *scanner) header(root *node) (*node, *stop) {
	line, start := s.line, s.pos
	s.pos++
	rows := s.take('[')
	key, why := s.key()
	if why != nil {
		return nil, why
	}
	if !s.take(']') || rows && !s.take(']') {
		return nil, s.lost()
	}
	n := root
	for _, part := range key[:len(key)-1] {
		n = n.child(part, line)
	}
	last := key[len(key)-1]
	if !rows {
		n = n.child(last, line)
		n.header, n.start, n.to = true, start, s.pos
		return n, nil
	}
	list := n.get(last)
	if list == nil {
		list = n.add(last, line)
		list.rows, list.start = true, start
	}
	if !list.rows {
		return nil, s.lost()
	}
	return list.add(strconv.Itoa(len(list.kids)), line), nil
}

// pair reads key = value into a table.
func (s *scanner) pair(table *node, depth int) *stop {
	line, start := s.line, s.pos
	key, why := s.key()
	if why != nil {
		return why
	}
	if !s.take('=') {
		return s.lost()
	}
	for _, part := range key[:len(key)-1] {
		table = table.child(part, line)
	}
	last := key[len(key)-1]
	n := table.get(last)
	if n == nil {
		n = table.add(last, line)
	}
	s.spaces()
	n.start, n.from = start, s.pos
	if why := s.value(n, depth); why != nil {
		return why
	}
	n.to = n.from + len(strings.TrimRight(s.src[n.from:s.pos], " \t"))
	return nil
}

// key reads a dotted key and the spaces after it.
func (s *scanner) key() ([]string, *stop) {
	var parts []string
	for {
		s.spaces()
		if s.pos >= len(s.src) {
			return nil, s.lost()
		}
		var part string
		if c := s.src[s.pos]; c == '"' || c == '\'' {
			text, why := s.quoted(c)
			if why != nil {
				return nil, why
			}
			part = text
		} else {
			start := s.pos
			for s.pos < len(s.src) && !delimiter(s.src[s.pos]) {
				s.pos++
			}
			if part = s.src[start:s.pos]; part == "" {
				return nil, s.lost()
			}
		}
		if why := s.count(); why != nil {
			return nil, why
		}
		if parts = append(parts, part); len(parts) > maxParts {
			return nil, &stop{line: s.line, msg: "has too many parts"}
		}
		s.spaces()
		if !s.take('.') {
			return parts, nil
		}
	}
}

// quoted reads a one-line string that starts here and returns its text.
func (s *scanner) quoted(quote byte) (string, *stop) {
	s.pos++
	start, escaped := s.pos, false
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == quote:
			text := s.src[start:s.pos]
			s.pos++
			if escaped {
				text = unescape(text)
			}
			return text, nil
		case c == '\n':
			return "", s.lost()
		case c == '\\' && quote == '"':
			escaped = true
			s.pos++
		}
		s.pos++
	}
	return "", s.lost()
}

// value reads the value of a key or list item.
func (s *scanner) value(n *node, depth int) *stop {
	if depth > maxDepth {
		return &stop{line: s.line, msg: "lists and tables are nested too deeply"}
	}
	if s.pos >= len(s.src) {
		return s.lost()
	}
	switch c := s.src[s.pos]; c {
	case '"', '\'':
		if long := strings.Repeat(string(c), 3); strings.HasPrefix(s.src[s.pos:], long) {
			return s.longString(c)
		}
		_, why := s.quoted(c)
		return why
	case '[':
		return s.list(n, depth)
	case '{':
		return s.inline(n, depth)
	}
	start := s.pos
	for s.pos < len(s.src) && !valueEnd(s.src[s.pos]) {
		s.pos++
	}
	if s.pos == start {
		return s.lost()
	}
	return nil
}

// delimiter reports whether a byte ends a bare key.
func delimiter(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '.', '=', '[', ']', '{', '}', '"', '\'', '#', ',':
		return true
	}
	return false
}

// valueEnd reports whether a byte ends a number, boolean or date.
func valueEnd(c byte) bool {
	switch c {
	case ',', ']', '}', '#', '\r', '\n':
		return true
	}
	return false
}

// longString reads a string in triple quotes. Up to two quotes may stand right
// before the closing ones.
func (s *scanner) longString(quote byte) *stop {
	s.pos += 3
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '\n':
			s.line++
		case c == '\\' && quote == '"':
			s.pos++
			if s.pos < len(s.src) && s.src[s.pos] == '\n' {
				s.line++
			}
		case c == quote:
			run := 1
			for run < 5 && s.pos+run < len(s.src) && s.src[s.pos+run] == quote {
				run++
			}
			s.pos += run
			if run >= 3 {
				return nil
			}
			continue
		}
		s.pos++
	}
	return s.lost()
}

func (s *scanner) list(n *node, depth int) *stop {
	s.pos++
	for i := 0; ; i++ {
		s.blank()
		if s.take(']') {
			return nil
		}
		if why := s.count(); why != nil {
			return why
		}
		item := n.add(strconv.Itoa(i), s.line)
		if why := s.value(item, depth+1); why != nil {
			return why
		}
		s.blank()
		if s.take(',') {
			continue
		}
		if s.take(']') {
			return nil
		}
		return s.lost()
	}
}

func (s *scanner) inline(n *node, depth int) *stop {
	s.pos++
	for {
		s.blank()
		if s.take('}') {
			return nil
		}
		if why := s.pair(n, depth+1); why != nil {
			return why
		}
		s.blank()
		if s.take(',') {
			continue
		}
		if s.take('}') {
			return nil
		}
		return s.lost()
	}
}

// unescape undoes the escapes of a basic string. What is not an escape is left
// for the library to refuse.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 >= len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		digits := 0
		switch text[i] {
		case 'b':
			b.WriteByte('\b')
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'f':
			b.WriteByte('\f')
		case 'r':
			b.WriteByte('\r')
		case 'e':
			b.WriteByte(0x1b)
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			b.WriteByte(text[i])
		}
		if digits == 0 || i+digits >= len(text) {
			continue
		}
		code, err := strconv.ParseUint(text[i+1:i+1+digits], 16, 32)
		if err != nil || code > utf8.MaxRune {
			continue
		}
		b.WriteRune(rune(code))
		i += digits
	}
	return b.String()
}
