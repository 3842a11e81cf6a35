package config

import (
	"fmt"
	"strings"

	"github.com/google/shlex"

	"github.com/enr/inner/profile"
)

// Words splits a text the way a shell would: quotes, backslashes and comments,
// and nothing else. Nothing is expanded.
func Words(text string) ([]string, error) {
	words, err := shlex.Split(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q has a quote that is not closed", text)
	case len(words) == 0:
		return nil, fmt.Errorf("%q says nothing", text)
	}
	return words, nil
}

// Expand returns the words an alias stands for, with ${workspaces_path}
// replaced by workspaces, which is "" where none is configured. It is replaced
// after splitting, so that a space in it is no end of a word.
func Expand(alias profile.KV, workspaces string) ([]string, error) {
	words, err := Words(alias.Value)
	if err != nil {
		return nil, fmt.Errorf("alias %q: %w", alias.Key, err)
	}
	const token = "${workspaces_path}"
	for i, w := range words {
		if !strings.Contains(w, token) {
			continue
		}
		if workspaces == "" {
			return nil, fmt.Errorf("alias %q uses %s, but workspaces_path is not set in config.toml", alias.Key, token)
		}
		words[i] = strings.ReplaceAll(w, token, workspaces)
	}
	return words, nil
}
