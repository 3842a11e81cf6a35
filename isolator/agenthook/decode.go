package agenthook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxInput is how long the JSON of a hook may be, in bytes.
const MaxInput = 16 << 20

// maxDepth is how deep the values of a call may be nested.
const maxDepth = 100

// object is a JSON object that was read strictly.
type object = map[string]any

// decode reads one JSON object: UTF-8, no key twice at any depth, nothing after it.
// Numbers stay as they were written. Programs do not agree on which of two keys counts, so
// an object with both is refused.
func decode(text []byte) (object, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the input is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok {
		return nil, errors.New("the input is not a JSON object")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return o, nil
}

func decodeValue(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, errors.New("the input is not JSON")
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if depth > maxDepth {
		return nil, errors.New("the input is nested too deep")
	}
	if delim == '[' {
		return decodeList(d, depth)
	}
	return decodeObject(d, depth)
}

func decodeList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, closed(d)
}

func decodeObject(d *json.Decoder, depth int) (any, error) {
	o := object{}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, errors.New("the input is not JSON")
		}
		if _, twice := o[key]; twice {
			return nil, fmt.Errorf("the key %q is written twice", key)
		}
		if o[key], err = decodeValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	return o, closed(d)
}

// closed reads the end of an object or a list.
func closed(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return errors.New("the input is not JSON")
	}
	return nil
}

// encode writes JSON as JavaScript does, without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
