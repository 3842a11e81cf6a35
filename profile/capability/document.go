package capability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// rewrite lets edit change a document: TOML by its name, else JSON, in which
// agents allow comments. A document that is empty afterwards is nil.
func rewrite(name string, data []byte, edit func(doc map[string]any)) ([]byte, error) {
	if strings.HasSuffix(name, ".toml") {
		out, err := strict.Rewrite(data, edit)
		if err != nil {
			return nil, fmt.Errorf("%q is not valid TOML: %w", name, err)
		}
		return out, nil
	}
	doc, err := parseJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%q is not valid JSON: %w", name, err)
	}
	edit(doc)
	if len(doc) == 0 {
		return nil, nil
	}
	return formatJSON(doc)
}

// document reads one.
func document(name string, data []byte) (doc map[string]any, err error) {
	_, err = rewrite(name, data, func(is map[string]any) { doc = maps.Clone(is) })
	return doc, err
}

// parseJSON reads one JSON object; nothing at all is an empty one. Numbers keep
// every digit.
func parseJSON(data []byte) (map[string]any, error) {
	doc := map[string]any{}
	text := bytes.TrimSpace(withoutComments(data))
	if len(text) == 0 {
		return doc, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, errors.New("is null")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows its end")
	}
	return doc, nil
}

func formatJSON(doc map[string]any) ([]byte, error) {
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}

// withoutComments takes // and /* */ comments and trailing commas out of JSON.
// What is inside strings stays.
func withoutComments(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		rest := data[i:]
		switch {
		case rest[0] == '"':
			n := quoted(rest)
			out = append(out, rest[:n]...)
			i += n
		case bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			i += n
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest[2:], []byte("*/"))
			if n < 0 {
				return append(out, rest...) // and the parser says what is wrong
			}
			i += n + 4
		case rest[0] == '}' || rest[0] == ']':
			out = append(bytes.TrimSuffix(bytes.TrimRight(out, " \t\r\n"), []byte(",")), rest[0])
			i++
		default:
			out = append(out, rest[0])
			i++
		}
	}
	return out
}

// quoted is the length of the string that text begins with.
func quoted(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// visit calls do for each place that a dotted path leads to, in which * is any key.
func visit(doc map[string]any, path string, do func(parent map[string]any, key string)) {
	first, rest, more := strings.Cut(path, ".")
	for _, key := range names(doc) {
		if first != "*" && first != key {
			continue
		}
		if !more {
			do(doc, key)
		} else if table, ok := doc[key].(map[string]any); ok {
			visit(table, rest, do)
		}
	}
}

// lookup finds a value by its dotted path.
func lookup(doc map[string]any, path string) (v any, ok bool) {
	visit(doc, path, func(parent map[string]any, key string) { v, ok = parent[key], true })
	return v, ok
}

// drop takes values out of a document, by a dotted path.
func drop(doc map[string]any, path string) {
	visit(doc, path, func(parent map[string]any, key string) { delete(parent, key) })
}

// table returns the table of a key, making it when it is missing or no table.
func table(doc map[string]any, key string) map[string]any {
	t, ok := doc[key].(map[string]any)
	if !ok {
		t = map[string]any{}
		doc[key] = t
	}
	return t
}
