package strict

import "reflect"

// Node is a part of a JSON schema (draft 7, which editors read).
type Node map[string]any

// Describe returns the JSON schema of the files whose keys and types Decode accepts for
// v, a pointer to a struct as for Decode. refine is called with every key, as it would be
// written, and the schema of its value, and may add to that; a free key is "*", and an
// item of a list has the key of its list.
func Describe(v any, refine func(key string, n Node)) Node {
	d := describer{refine: refine}
	return d.of(reflect.TypeOf(v).Elem(), nil)
}

type describer struct{ refine func(key string, n Node) }

func (d describer) of(t reflect.Type, path []string) Node {
	n := d.plain(t, path)
	d.refine(Join(path...), n)
	return n
}

func (d describer) plain(t reflect.Type, path []string) Node {
	switch t {
	case reflect.TypeFor[String](), reflect.TypeFor[string]():
		return Node{"type": "string"}
	case reflect.TypeFor[Bool]():
		return Node{"type": "boolean"}
	case reflect.TypeFor[Int]():
		return Node{"type": "integer"}
	case reflect.TypeFor[Number]():
		return Node{"type": []string{"string", "number"}}
	case reflect.TypeFor[Switch]():
		return Node{"type": []string{"string", "boolean"}}
	case reflect.TypeFor[Words]():
		return Node{"type": []string{"string", "array"}}
	case reflect.TypeFor[List]():
		return Node{"type": "array", "items": Node{"type": "string"}}
	}
	if entries, ok := t.FieldByName("Entries"); ok { // a Table
		value, _ := entries.Type.Elem().FieldByName("Value")
		return Node{"type": "object", "additionalProperties": d.of(value.Type, append(path[:len(path):len(path)], "*"))}
	}
	if rows, ok := t.FieldByName("Rows"); ok { // Tables
		return Node{"type": "array", "items": d.plain(rows.Type.Elem(), path)}
	}
	return d.object(t, path)
}

func (d describer) object(t reflect.Type, path []string) Node {
	keys := Node{}
	table := Node{"type": "object", "properties": keys, "additionalProperties": false}
	n := table
	for _, f := range fields(t) {
		if len(f.index) > 1 { // an embedded struct has keys of the version before
			continue
		}
		of := d.of(t.FieldByIndex(f.index).Type, append(path[:len(path):len(path)], f.name))
		keys[f.name] = of
		if f.short {
			n = Node{"anyOf": []Node{of, table}}
		}
	}
	return n
}
