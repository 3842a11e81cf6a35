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
	if t, err := r.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("the request is not a JSON object")
	}
	o, err := r.object(0)
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

func (r reader) value(depth int) (any, error) {
	from := r.InputOffset()
	t, err := r.Token()
	if err != nil {
		return nil, errNotJSON
	}
	if s, ok := t.(string); ok && strings.ContainsRune(s, utf8.RuneError) && bytes.Contains(bytes.ToLower(r.text[from:r.InputOffset()]), []byte(`\ud`)) {
		return nil, errors.New("half of a surrogate pair is not text")
	}
	switch {
	case t != json.Delim('{') && t != json.Delim('['):
		return t, nil
	case depth > maxDepth:
		return nil, errors.New("the request is nested too deep")
	case t == json.Delim('{'):
		return r.object(depth + 1)
	}
	return r.list(depth + 1)
}

func (r reader) list(depth int) (any, error) {
	list := []any{}
	for r.More() {
		v, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, r.closed()
}

func (r reader) object(depth int) (Object, error) {
	o := Object{}
	for r.More() {
		k, err := r.value(depth)
		if err != nil {
			return o, err
		}
		key, _ := k.(string) // which the decoder sees to
		if _, twice := o[key]; twice {
			return o, fmt.Errorf("%q is written twice", key)
		}
		v, err := r.value(depth)
		switch {
		case errors.Is(err, errNotJSON):
			return o, err
		case err != nil:
			return o, fmt.Errorf("%s: %w", key, err)
		}
		o[key] = v
	}
	return o, r.closed()
}

// closed reads the end of an object or a list.
func (r reader) closed() error {
	if _, err := r.Token(); err != nil {
		return errNotJSON
	}
	return nil
}
