package export

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/visible"
)

// The objects are written as YAML by the few rules that they need, so that the same objects
// are the same bytes whatever library another version of inner would use: mappings keep
// their order, lists and mappings are in block style, and every string that is not plainly a
// word is quoted as JSON has it, which YAML 1.2 reads as it is. A text of several lines is a
// literal block where that shows it unchanged.

// fields is a mapping in its order.
type fields []field

type field struct {
	key   string
	value any // string, int, bool, fields, list or nil, which leaves the key out
}

// list is a sequence. It is never nil where it is to be written: an empty one is [].
type list []any

// words returns a list of strings.
func words(texts ...string) list {
	out := list{}
	for _, t := range texts {
		out = append(out, t)
	}
	return out
}

// documents writes objects one after the other.
func documents(objects []fields) []byte {
	var b strings.Builder
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		writeFields(&b, o, "")
	}
	return []byte(b.String())
}

func writeFields(b *strings.Builder, f fields, indent string) {
	first := true
	for _, kv := range f {
		if kv.value == nil {
			continue
		}
		if !first {
			b.WriteString(indent)
		}
		first = false
		b.WriteString(scalar(kv.key) + ":")
		writeValue(b, kv.value, indent)
	}
}

// writeValue writes what follows a key, up to the end of the line or of the block.
func writeValue(b *strings.Builder, value any, indent string) {
	deeper := indent + "  "
	switch v := value.(type) {
	case fields:
		if empty(v) {
			b.WriteString(" {}\n")
			return
		}
		b.WriteString("\n" + deeper)
		writeFields(b, v, deeper)
	case list:
		if len(v) == 0 {
			b.WriteString(" []\n")
			return
		}
		b.WriteString("\n")
		for _, item := range v {
			writeItem(b, item, indent)
		}
	case string:
		if block, ok := literal(v, deeper); ok {
			b.WriteString(block)
			return
		}
		b.WriteString(" " + scalar(v) + "\n")
	default:
		fmt.Fprintf(b, " %v\n", v)
	}
}

// writeItem writes one item of a list whose key stands at indent.
func writeItem(b *strings.Builder, item any, indent string) {
	b.WriteString(indent + "-")
	switch v := item.(type) {
	case fields:
		b.WriteString(" ")
		writeFields(b, v, indent+"  ")
	case string:
		b.WriteString(" " + scalar(v) + "\n")
	default:
		fmt.Fprintf(b, " %v\n", v)
	}
}

// empty reports whether a mapping has nothing to write.
func empty(f fields) bool {
	return !slices.ContainsFunc(f, func(kv field) bool { return kv.value != nil })
}

// literal writes a text of several lines as a block, where every line of it is shown as it
// is: no control character, no line that begins with a blank, and one end of line at the end.
func literal(text, indent string) (string, bool) {
	if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") || strings.Count(text, "\n") < 2 {
		return "", false
	}
	var b strings.Builder
	b.WriteString(" |\n")
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if b.Len() == len(" |\n") && (line == "" || line[0] == ' ') || line != visible.Text(line) || strings.ContainsAny(line, "\t\r\ufeff") {
			return "", false
		}
		if line != "" {
			b.WriteString(indent)
		}
		b.WriteString(line + "\n")
	}
	return b.String(), true
}

// scalar writes a string in one line: as it is when no reader of YAML could take it for
// anything else.
func scalar(s string) string {
	if plain(s) {
		return s
	}
	// JSON escapes what does not print, and is YAML.
	data, err := json.Marshal(s)
	if err != nil {
		return strconv.QuoteToASCII(s)
	}
	return string(data)
}

// plain reports whether a string is a word that needs no quotes: letters, digits and a few
// signs within, beginning with a letter, and no word that YAML 1.1 reads as another type.
func plain(s string) bool {
	if s == "" || strings.IndexByte(letters+"/", s[0]) < 0 || strings.Trim(s, alphanumeric+"-_./@") != "" {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}

const (
	letters      = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alphanumeric = letters + "0123456789"
)
