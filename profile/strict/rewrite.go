package strict

import (
	"bytes"

	"github.com/BurntSushi/toml"
)

// Rewrite lets edit change the values of a TOML text that belongs to another program, and writes
// it anew: comments and order are lost. It asks for no schema. A text whose last value was taken
// out is nil.
func Rewrite(data []byte, edit func(doc map[string]any)) ([]byte, error) {
	text, _, fault := read(data)
	if fault != nil {
		return nil, *fault
	}
	doc := map[string]any{}
	if _, err := toml.Decode(text, &doc); err != nil {
		return nil, err
	}
	if edit(doc); len(doc) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	enc := toml.NewEncoder(&out)
	enc.Indent = ""
	err := enc.Encode(doc)
	return out.Bytes(), err
}
