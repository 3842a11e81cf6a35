package profile

import (
	"cmp"
	"slices"
	"sync"

	"github.com/enr/inner/profile/strict"
)

// keyRule is all that inner knows of one key of the language, besides its type and what its tags
// say (schema.go), and where its value is when a profile is resolved (runconfig.go). A nil column
// says nothing.
type keyRule struct {
	key string

	whole func(v *validator, k strict.Key)              // finds what is wrong with the key in one file, besides its words
	check func(v *validator, key string, p strict.Item) // and with each value of it
	take  func(r *resolver)                             // puts the value into the RunConfig; nil where it depends on others, and Resolve has a step for it

	grants string                          // by its tag: the kinds of Grant that come from the key, see OriginsOf
	say    func(g *granter, rc *RunConfig) // the grants themselves

	container says                            // why no container engine can hold it; nil: the plan shows that
	remote    func(h *hardener, k strict.Key) // what becomes of it in a profile from a URL, unless it is kept
}

// says is what there is to say about a box, "" when there is nothing, and the name to say it of
// when that is not the key.
type says func(rc *RunConfig) (text, name string)

// keyRules has a row for every key, in the order of the schema. What nothing is said about is not
// kept of a profile from a URL, so that a new key is not let through.
var keyRules = sync.OnceValue(func() (rules []keyRule) {
	list := slices.Concat(generalRules(), networkRules(), sandboxRules(), environmentRules(), programRules())
	for _, k := range strict.Keys(&source{}) {
		rule := keyRule{key: k.Name()}
		if i := slices.IndexFunc(list, func(r keyRule) bool { return r.key == rule.key }); i >= 0 {
			rule = list[i]
		}
		rule.grants = k.Tag.Get("grants")
		if k.Tag.Get("remote") == "kept" {
			rule.remote = func(*hardener, strict.Key) {}
		} else if rule.remote == nil {
			rule.remote = dropped("a remote profile does not say it")
		}
		rules = append(rules, rule)
	}
	return rules
})

func when(text string, has func(rc *RunConfig) bool) says {
	return func(rc *RunConfig) (string, string) {
		if !has(rc) {
			return "", ""
		}
		return text, ""
	}
}

// Uncontained is the first key of a box that no container engine can hold, and why; "" when
// there is none.
func (rc *RunConfig) Uncontained() (key, why string) {
	for _, r := range keyRules() {
		if r.container == nil {
			continue
		}
		if why, name := r.container(rc); why != "" {
			return cmp.Or(name, r.key), why
		}
	}
	return "", ""
}

func nestedContainers(rc *RunConfig) (text, name string) {
	if !slices.Contains(rc.Allow, "nested-user-ns") {
		return "", ""
	}
	return "there are no containers in a container", `sandbox.allow = ["nested-user-ns"]`
}

func imagePrograms(rc *RunConfig) (text, name string) {
	if len(rc.Noop.Rules) == 0 {
		return "", ""
	}
	return "the programs are those of the image", "noop"
}
