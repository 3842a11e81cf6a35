package profile

import "github.com/enr/inner/profile/strict"

// Language returns the keys of the language, each with the words that it takes, for whoever
// describes them (contrib/package writes the JSON schema of editors).
func Language() []strict.Key {
	d := strict.NewDoc(language())
	keys := d.Keys()
	keys[0].Words = []string{"1"} // of schema_version, of which the validator says more
	return keys
}
