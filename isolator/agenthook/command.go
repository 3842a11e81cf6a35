package agenthook

import (
	"errors"
	"fmt"
	"strings"

	"github.com/enr/inner/hooks/quote"
)

// command returns the input of a tool that runs commands, changed so that they run in the box.
func (j *judge) command(in object) (object, error) {
	out := object{}
	folder := ""
	for key, v := range in {
		switch {
		case key == j.tool.command, ofCommands(key):
		case j.o.Boxed:
		default:
			return nil, denied("the argument %q of this tool is not known: it could say what runs the command", key)
		}
		out[key] = v
		if s, ok := v.(string); folderOfCommand(key) && v != nil {
			if !ok || strings.ContainsRune(s, 0) || folder != "" {
				return nil, fmt.Errorf("%s is not one folder", key)
			}
			folder = s
		}
	}
	if j.o.Boxed {
		return out, nil
	}
	line, list, err := lineOf(in[j.tool.command])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.tool.command, err)
	}
	if folder != "" { // the box decides where that is
		line = "cd -- " + quote.POSIX(folder) + " || exit\n" + line
	}
	j.changed = true
	out[j.tool.command] = j.o.Command(line)
	if list { // Codex runs a list without a shell
		out[j.tool.command] = []any{"/bin/sh", "-c", j.o.Command(line)}
	}
	return out, nil
}

// lineOf returns a command, which is a text or a list of arguments, as a command line.
func lineOf(v any) (line string, list bool, err error) {
	words, list := v.([]any)
	if !list {
		words = []any{v}
	}
	var parts []string
	for _, w := range words {
		s, ok := w.(string)
		if !ok || strings.ContainsRune(s, 0) {
			return "", list, errors.New("is neither a text nor a list of texts")
		}
		if list {
			s = quote.POSIX(s)
		}
		parts = append(parts, s)
	}
	if line = strings.Join(parts, " "); strings.TrimSpace(line) == "" {
		return "", list, errors.New("is empty")
	}
	return line, list, nil
}

// patch checks each file that a patch of Codex names.
func (j *judge) patch(in object) error {
	for key := range in {
		if key != j.tool.patch && key != "input" {
			return denied("the argument %q of a patch is not known", key)
		}
	}
	text, ok := in[j.tool.patch].(string)
	if !ok {
		text, ok = in["input"].(string)
	}
	if !ok || len(in) != 1 {
		return errors.New("the patch is not a text")
	}
	found := false
	for line := range strings.Lines(text) {
		for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			name, is := strings.CutPrefix(strings.TrimSpace(line), head)
			if !is {
				continue
			}
			found = true
			if strings.HasPrefix(strings.TrimSpace(name), "~") {
				return denied("a patch with a path that begins with ~")
			}
			if to, err := j.path(strings.TrimSpace(name), writes); err != nil {
				return err
			} else if to != strings.TrimSpace(name) {
				return denied("%s is /tmp of the session in commands alone", name)
			}
		}
	}
	if !found {
		return denied("a patch that names no file")
	}
	return nil
}
