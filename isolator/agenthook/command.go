package agenthook

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/enr/inner/hooks/quote"
)

// command returns the input of a tool that runs commands, changed so that they run in the box.
func (j *judge) command(in object) (object, error) {
	folder, err := j.commandFolder(in)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(in)
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

// commandFolder returns the folder that a command is to run in, "" when the call names none. An
// argument that could say which program runs the command is refused.
func (j *judge) commandFolder(in object) (folder string, err error) {
	for key, v := range in {
		switch {
		case key == j.tool.command, ofCommands(key), j.o.Boxed:
		default:
			return "", denied("the argument %q of this tool is not known: it could say what runs the command", key)
		}
		if v == nil || !folderOfCommand(key) {
			continue
		}
		s, ok := v.(string)
		if !ok || strings.ContainsRune(s, 0) || folder != "" {
			return "", fmt.Errorf("%s is not one folder", key)
		}
		folder = s
	}
	return folder, nil
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
	text, err := j.patchText(in)
	if err != nil {
		return err
	}
	found := false
	for line := range strings.Lines(text) {
		name, is := patched(line)
		if !is {
			continue
		}
		found = true
		if strings.HasPrefix(name, "~") {
			return denied("the patch names a path that begins with ~: write the path out")
		}
		if to, err := j.path(name, writes); err != nil {
			return err
		} else if to != name {
			return denied("%s is /tmp of the session in commands alone", name)
		}
	}
	if !found {
		return denied("the patch names no file")
	}
	return nil
}

// patchText returns the one argument of a call that patches files.
func (j *judge) patchText(in object) (text string, err error) {
	ok := false
	for key, v := range in {
		if key != j.tool.patch && key != "input" {
			return "", denied("the argument %q of a patch is not known", key)
		}
		text, ok = v.(string)
	}
	if !ok || len(in) != 1 {
		return "", errors.New("the patch is not a text")
	}
	return text, nil
}

// patched returns the file that a line of a patch names, when it is one that does.
func patched(line string) (name string, is bool) {
	for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), head); is {
			return strings.TrimSpace(name), true
		}
	}
	return "", false
}
