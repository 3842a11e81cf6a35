package main

import (
	"encoding/json"
	"strings"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

// node is a part of a JSON schema (draft 7, which editors read).
type node map[string]any

// schema describes the profile language to editors: keys, types and words. What it refuses, the
// loader refuses too; the loader refuses more.
func schema() ([]byte, error) {
	root := table("", profile.Language())
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", "a profile of inner"
	root["required"] = []string{"schema_version"}
	data, err := json.MarshalIndent(root, "", "  ")
	return append(data, '\n'), err
}

// table is the schema of a table with these keys, whose own key is prefix.
func table(prefix string, keys []strict.Key) node {
	object := func() node {
		return node{
			"type": "object", "properties": node{},
			"additionalProperties": false,
		}
	}
	root := object()
	var short []node
	for _, k := range keys {
		properties, path := root["properties"].(node), k.Path()
		last := path[len(path)-1]
		for _, part := range path[:len(path)-1] {
			if properties[part] == nil {
				properties[part] = object()
			}
			properties = properties[part].(node)["properties"].(node)
		}
		of := refined(prefix+k.Name, k)
		if properties[last] = of; k.Short {
			short = append(short, of)
		}
	}
	if short != nil {
		return node{"anyOf": append(short, root)}
	}
	return root
}

// refined is the schema of a key, with what is known of it besides its type.
func refined(key string, k strict.Key) node {
	n, words := plain(key, k), k.Words
	switch {
	case key == "capabilities": // a user may declare others
		n["items"] = node{"type": "string", "examples": words}
	case key == "output.record":
		n["examples"] = []any{true, false, "audit"}
	case key == "output.timeout_seconds":
		n["minimum"], n["maximum"] = 0, profile.MaxSeconds
	case key == "mounts": // "-PATH" = "" removes one of the base
		n["patternProperties"] = node{"^-": node{"type": []string{"string", "object"}, "maxLength": 0}}
	case key == "verify.custom.checks":
		n["items"].(node)["required"] = []string{"name", "cmd"}
	case words != nil && n["type"] == "array":
		n["items"] = node{"type": "string", "anyOf": []node{
			{"enum": words},
			{"pattern": "^-(" + strings.Join(words, "|") + ")$"},
		}}
	case words != nil && n["type"] == "string":
		n["enum"] = words
	}
	return n
}

func plain(key string, k strict.Key) node {
	switch k.Kind {
	case strict.ABool:
		return node{"type": "boolean"}
	case strict.AnInt:
		return node{"type": "integer"}
	case strict.ANumber:
		return node{"type": []string{"string", "number"}}
	case strict.ASwitch:
		return node{"type": []string{"string", "boolean"}}
	case strict.AList:
		return node{"type": "array", "items": node{"type": "string"}}
	case strict.ATable:
		entry := node{"type": "string"}
		if k.Of != nil {
			entry = table(key+"."+strict.Join("*")+".", k.Of)
		}
		return node{"type": "object", "additionalProperties": entry}
	case strict.Rows:
		return node{"type": "array", "items": table(key+".", k.Of)}
	}
	return node{"type": "string"}
}
