package strict

import "github.com/pelletier/go-toml/v2"

// Rewrite lets edit change the values of a TOML text that belongs to another program, and writes
// it anew: comments and order are lost. It asks for no schema. A text whose last value was taken
// out is nil.
func Rewrite(data []byte, edit func(doc map[string]any)) ([]byte, error) {
	text, _, fault := read(data)
	if fault != nil {
		return nil, *fault
	}
	doc := map[string]any{}
	if err := toml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if edit(doc); len(doc) == 0 {
		return nil, nil
	}
	return toml.Marshal(doc)
}
