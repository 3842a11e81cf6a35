package capability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/enr/inner/profile/strict"
)

// rewrite lets edit change a document: TOML by its name, else JSON, in which
// agents allow comments. A document that is empty afterwards is nil.
func rewrite(name string, data []byte, edit func(doc map[string]any)) ([]byte, error) {
	if strings.HasSuffix(name, ".toml") {
		if tooDeep(data) {
			return nil, fmt.Errorf("%q %w", name, errDeep)
		}
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
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) == 0 {
		return doc, nil
	}
	text, err := data, error(nil)
	if !json.Valid(data) { // which has a bound of its own
		if tooDeep(data) {
			return nil, errDeep
		}
		if text, err = hujson.Standardize(data); err != nil { // without comments and trailing commas
			return nil, err
		}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, errors.New("is null")
	}
	return doc, nil
}

var errDeep = errors.New("has too many tables and lists")

// tooDeep reports whether values may lie so deep in each other that reading them takes all of a stack: a box may have
// written them.
func tooDeep(data []byte) bool {
	return bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > 100_000
}

func formatJSON(doc map[string]any) ([]byte, error) {
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}

// visit calls do for each place that a dotted path leads to, in which * is any key; at is what is
// before the path.
func visit(doc map[string]any, path, at string, do func(parent map[string]any, key, path string)) {
	first, rest, more := strings.Cut(path, ".")
	for _, key := range names(doc) {
		if first != "*" && first != key {
			continue
		}
		if !more {
			do(doc, key, at+key)
		} else if table, ok := doc[key].(map[string]any); ok {
			visit(table, rest, at+key+".", do)
		}
	}
}

// lookup finds a value by its dotted path.
func lookup(doc map[string]any, path string) (v any, ok bool) {
	visit(doc, path, "", func(parent map[string]any, key, _ string) { v, ok = parent[key], true })
	return v, ok
}

// drop takes values out of a document, by a dotted path.
func drop(doc map[string]any, path string) {
	visit(doc, path, "", func(parent map[string]any, key, _ string) { delete(parent, key) })
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
