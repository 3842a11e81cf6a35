package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep the values of an object may be nested.
const maxDepth = 100

// Object is a JSON object that was read strictly. Its numbers are json.Number.
type Object = map[string]any

// Read reads one JSON object: UTF-8, no key twice at any depth, no half of a surrogate pair, nothing behind it.
// Programs do not agree on what such a text says, so none of it is taken. With an error comes what was read
// before.
func Read(text []byte) (Object, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the request is not UTF-8")
	}
	r := reader{json.NewDecoder(bytes.NewReader(text)), text}
	r.UseNumber()
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte{'{'}) {
		return nil, errors.New("the request is not a JSON object")
	}
	v, err := r.value(-1)
	o, _ := v.(Object)
	if err != nil {
		return o, err
	}
	if _, err := r.Token(); err != io.EOF {
		return o, errors.New("something follows the request")
	}
	return o, nil
}

type reader struct {
	*json.Decoder
	text []byte
}

var errNotJSON = errors.New("the request is not JSON")

// value reads one. With an error comes what was read of an object before.
func (r reader) value(depth int) (any, error) {
	from := r.InputOffset()
	t, err := r.Token()
	if err != nil {
		return nil, errNotJSON
	}
	if s, ok := t.(string); ok && strings.ContainsRune(s, utf8.RuneError) &&
		bytes.Contains(bytes.ToLower(r.text[from:r.InputOffset()]), []byte(`\ud`)) {
		return nil, errors.New("half of a surrogate pair is not text")
	}
	begin, is := t.(json.Delim)
	switch {
	case !is:
		return t, nil
	case depth > maxDepth:
		return nil, errors.New("the request is nested too deep")
	}
	object, list, key := Object{}, []any{}, ""
	for r.More() {
		if begin == '{' {
			k, err := r.value(depth)
			if err != nil {
				return object, err
			}
			key, _ = k.(string) // which the decoder sees to
			if _, twice := object[key]; twice {
				return object, fmt.Errorf("%q is written twice", key)
			}
		}
		v, err := r.value(depth + 1)
		if err != nil && begin == '{' && !errors.Is(err, errNotJSON) {
			err = fmt.Errorf("%s: %w", key, err)
		}
		if err != nil {
			return object, err
		}
		object[key], list = v, append(list, v)
	}
	if _, err := r.Token(); err != nil {
		return object, errNotJSON
	}
	if begin == '{' {
		return object, nil
	}
	return list, nil
}
