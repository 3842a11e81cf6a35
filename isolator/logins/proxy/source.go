package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/helper"
)

// askTimeout is how long a program may take that knows a value: a password store may ask for its passphrase.
const askTimeout = time.Minute

// value reads the value of a credential from the first of its sources that has one. An error holds nothing of what was
// read.
func value(ctx context.Context, sources [][]string, variables map[string]string) (text string, err error) {
	for _, from := range sources {
		switch from[0] {
		case "env":
			text = variables[from[1]]
		case "file":
			text, err = inFile(from[1], from[2])
		case "cmd":
			text, err = said(ctx, from[1], from[2:]...)
		}
		if text = strings.TrimSpace(text); err == nil && text != "" {
			break
		}
	}
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", errors.New("it has no value")
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "", errors.New("its value has more than one line, or a control character")
	}
	return text, nil
}

// said is the first line that a program prints: of a password store, what follows says what the entry is.
func said(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out firstLine
	cmd.Stdout = &out
	err := helper.Run(cmd)
	line, _, whole := strings.Cut(string(out), "\n")
	if err != nil && !whole { // it may have more to say, which nobody reads
		return "", fmt.Errorf("%s does not say it", filepath.Base(program))
	}
	return line, nil
}

// firstLine takes a line, and no more.
type firstLine []byte

func (l *firstLine) Write(b []byte) (int, error) {
	*l = append(*l, b...)
	if bytes.IndexByte(*l, '\n') >= 0 || len(*l) > 64<<10 {
		return len(b), io.ErrShortWrite
	}
	return len(b), nil
}

// inFile reads a file, or the key of one in JSON or lines of KEY = VALUE under [SECTION]s, such as TOML has. A
// key in a table is written behind its tables, with dots.
func inFile(path, key string) (string, error) {
	data, err := files.Read(path, files.NoLinks, 1<<20)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read", filepath.Base(path))
	}
	if key == "" {
		return string(data), nil
	}
	doc, err := object(data)
	if err != nil {
		text, ok := inLines(data, key)
		if !ok {
			return "", fmt.Errorf("%s has no line for %q", filepath.Base(path), key)
		}
		return text, nil
	}
	text, ok := get(doc, key).(string)
	if !ok {
		return "", fmt.Errorf("%s has no text at %q", filepath.Base(path), key)
	}
	return text, nil
}

func inLines(data []byte, key string) (text string, ok bool) {
	section := ""
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(name, "]") + "."
		} else if k, v, ok := strings.Cut(line, "="); ok && section+strings.TrimSpace(k) == key {
			text = strings.Trim(strings.TrimSpace(v), `"'`)
			return text, !strings.HasPrefix(text, "${") // as npm names a variable
		}
	}
	return "", false
}
