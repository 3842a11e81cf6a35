package export

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// The objects are written as YAML, with their keys in the order that people write them in.

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
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	for _, o := range objects {
		_ = e.Encode(node(o)) // a buffer takes all
	}
	_ = e.Close()
	return b.Bytes()
}

// node is a value as the library has it. It quotes what a reader of YAML 1.1 would take for something else than a
// text.
func node(value any) *yaml.Node {
	n := &yaml.Node{}
	switch v := value.(type) {
	case fields:
		n.Kind = yaml.MappingNode
		for _, kv := range v {
			if kv.value != nil {
				n.Content = append(n.Content, node(kv.key), node(kv.value))
			}
		}
	case list:
		n.Kind = yaml.SequenceNode
		for _, item := range v {
			n.Content = append(n.Content, node(item))
		}
	default:
		if err := n.Encode(v); err != nil { // a text of lines that the library does not read back
			n = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: fmt.Sprint(v)}
		}
	}
	return n
}
