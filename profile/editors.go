package profile

import "github.com/enr/inner/profile/strict"

// Language returns the keys of the language for whoever describes them (contrib/package writes
// the JSON schema of editors), and the words that the validator asks for, by the key that takes
// them. Of a mount the mode has the words of its path, which is "*".
func Language() (keys []strict.Key, words map[string][]string) {
	s := &source{Mounts: strict.Table[mountSpec]{Entries: []strict.Entry[mountSpec]{{Key: "*"}}}}
	s.Verify.Custom.Checks.Rows = []checkRow{{}}
	v := validator{asked: map[string][]string{}}
	v.source(s)
	return strict.Keys(&source{}), v.asked
}
