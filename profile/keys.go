package profile

import (
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/profile/strict"
)

// keyRule is all that inner knows of one key of the language. A nil column says nothing.
type keyRule struct {
	key   string
	kind  strict.Kind
	words string       // all that it takes, with commas between
	of    []strict.Key // the keys of its entries, when these are tables
	merge string       // see strict.Doc

	whole func(v *validator, k strict.Key)              // finds what is wrong with the key in one file, besides its words
	check func(v *validator, key string, p strict.Item) // and with each value of it
	take  func(r *resolver)                             // puts the value into the RunConfig; nil where it depends on others, and Resolve has a step for it

	say func(g *granter, rc *RunConfig) // the grants that come from it

	remote func(h *hardener, k strict.Key) // what becomes of it in a profile from a URL: kept, or else why not
}

// keyRules has a row for every key, in the order in which they are listed. What nothing is said
// about is not kept of a profile from a URL, so that a new key is not let through.
var keyRules = sync.OnceValue(func() []keyRule {
	rules := slices.Concat(generalRules(), networkRules(), credentialRules(), sandboxRules(), limitRules(), environmentRules(), programRules())
	for i := range rules {
		if rules[i].remote == nil {
			rules[i].remote = dropped("a remote profile does not say it")
		}
	}
	return rules
})

// kept is the remote column of what a profile from a URL may say.
func kept(*hardener, strict.Key) {}

// language are the keys of a profile, those of the version before behind the others.
var language = sync.OnceValue(func() []strict.Key {
	return slices.Concat(eachOf(keyRules(), func(r keyRule) strict.Key {
		k := strict.Key{Name: r.key, Kind: r.kind, Of: r.of, Merge: r.merge}
		if r.words != "" {
			k.Words = strings.Split(r.words, ",")
		}
		return k
	}), formerKeys())
})

// source is one profile file as written, or several of them merged.
type source struct {
	strict.Doc

	former  []strict.Problem // lines of the version before, and what they are read as
	without []string         // words of sandbox.allow that they take out of the base's
}

// Keys lists every key of the language, in its order.
func Keys() []string { return eachOf(keyRules(), func(r keyRule) string { return r.key }) }
