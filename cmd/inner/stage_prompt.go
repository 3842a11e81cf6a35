package main

import (
	"os"
	"slices"

	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// stageHistory preloads the history of an interactive shell, and puts the
// cursor in order at its prompts.
func stageHistory(j *journey) error {
	if !j.prep.facts.Terminal {
		return nil
	}
	sh, err := j.run.History(j.rc.Entrypoint, os.LookupEnv)
	if err != nil {
		return err
	}
	s := &j.staged
	if sh.Bind != nil {
		s.Binds = append(s.Binds, *sh.Bind)
	}
	s.Env = append(s.Env, sh.Env...)
	s.Argv = append([]string{s.Argv[0]}, append(sh.Args, s.Argv[1:]...)...)
	if sh.Prompt != "" {
		promptFirst(&j.rc.Env, s, sh.Prompt, os.LookupEnv)
	}
	return nil
}

// promptFirst has PROMPT_COMMAND begin with word, and then do what it does in
// the box otherwise: [env] set comes before an inherited one.
func promptFirst(env *profile.Env, s *plan.Staged, word string, lookup func(string) (string, bool)) {
	const name = "PROMPT_COMMAND"
	if i := slices.IndexFunc(env.Set, func(kv profile.KV) bool { return kv.Key == name }); i >= 0 {
		env.Set = slices.Clone(env.Set) // it may be the profile's own
		env.Set[i].Value = word + "\n" + env.Set[i].Value
		return
	}
	if old, ok := lookup(name); ok && slices.Contains(env.Inherit, name) {
		word += "\n" + old
	}
	s.Env = append(s.Env, profile.KV{Key: name, Value: word})
}
