package profile

import (
	"encoding/json"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// JSONSchema describes the profile language to editors: keys, types and words.
// It is made of the struct that profiles are decoded into and of the words that
// the validator itself asks for. What it refuses, the loader refuses too; the
// loader refuses more.
func JSONSchema() ([]byte, error) {
	words := askedWords()
	schema := strict.Describe(&source{}, func(key string, n strict.Node) {
		if strings.HasPrefix(key, "mounts.") { // the validator calls the mode by its path
			key = strings.TrimSuffix(key, ".mode")
		}
		asked, known := words[key]
		switch {
		case key == "":
			n["$schema"], n["title"] = "http://json-schema.org/draft-07/schema#", "a profile of inner"
			n["required"] = []string{"schema_version"}
		case key == "capabilities": // a user may declare others
			n["items"] = strict.Node{"type": "string", "examples": asked}
		case key == "output.record":
			n["examples"] = []any{true, false, "audit"}
		case key == "output.timeout_seconds":
			n["minimum"], n["maximum"] = 0, MaxSeconds
		case key == "mounts": // "-PATH" = "" removes one of the base
			n["patternProperties"] = strict.Node{"^-": strict.Node{"type": []string{"string", "object"}, "maxLength": 0}}
		case key == "verify.custom.checks":
			n["items"].(strict.Node)["required"] = []string{"name", "cmd"}
		case known && n["type"] == "array":
			n["items"] = strict.Node{"type": "string", "anyOf": []strict.Node{
				{"enum": asked},
				{"pattern": "^-(" + strings.Join(asked, "|") + ")$"},
			}}
		case known && n["type"] == "string":
			n["enum"] = asked
		}
	})
	data, err := json.MarshalIndent(schema, "", "  ")
	return append(data, '\n'), err
}

// askedWords are the words that the validator takes, by the key that takes them.
func askedWords() map[string][]string {
	s := &source{Mounts: strict.Table[mountSpec]{Entries: []strict.Entry[mountSpec]{{Key: "*"}}}}
	s.Verify.Custom.Checks.Rows = []checkRow{{}}
	v := validator{asked: map[string][]string{}}
	v.source(s)
	return v.asked
}
