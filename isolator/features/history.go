package features

import (
	"slices"

	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// history preloads the history of an interactive shell, and puts the
// cursor in order at its prompts.
func history() Feature {
	return Feature{Name: "history and prompt", Keys: []string{"entrypoint.history", "entrypoint.interactive", "entrypoint.cursor_fix"}, Make: shellWithHistory}
}

func shellWithHistory(run *Run) error {
	if !run.Facts.Terminal || !run.Mode.Made() {
		return nil
	}
	sh, err := run.Folder.History(run.Spec.Entrypoint)
	if err != nil {
		return err
	}
	s := &run.Assets
	if sh.Bind != nil {
		s.Binds = append(s.Binds, *sh.Bind)
	}
	s.Env = append(s.Env, sh.Env...)
	s.Argv = append([]string{s.Argv[0]}, append(sh.Args, s.Argv[1:]...)...)
	if sh.Prompt != "" {
		promptFirst(&run.Spec.Env, s, sh.Prompt, run.LookupEnv)
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
