package config

import (
	"fmt"

	"github.com/google/shlex"
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
