package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/helper"
)

// run runs the client and returns what it says. It ends as a whole, after
// patience at the latest.
func (c call) run(ctx context.Context, env []string, args ...string) ([]byte, error) {
	out, complaint, err := c.start(ctx, env, args)
	if err != nil {
		if first, _, _ := strings.Cut(strings.TrimSpace(complaint), "\n"); first != "" {
			err = fmt.Errorf("%w: %s", err, printable(first))
		}
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	return out, nil
}

// complaint is run for a call that must fail: what it says of that.
func (c call) complaint(ctx context.Context, env []string, args ...string) (string, error) {
	out, complaint, err := c.start(ctx, env, args)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", errors.New("it succeeded, which it cannot do offline")
	case !errors.As(err, &exit) || !exit.Exited():
		return "", err
	}
	return string(out) + complaint, nil
}

func (c call) start(ctx context.Context, env, args []string) ([]byte, string, error) {
	patience := cmp.Or(c.Patience, patience)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Dir, cmd.Env = c.Dir, slices.Concat(c.env, env)
	out, complaint := &bounded{}, &bounded{}
	cmd.Stdout, cmd.Stderr = out, complaint
	err := helper.Run(cmd)
	switch {
	case ctx.Err() != nil:
		return nil, "", fmt.Errorf("it did not end within %s", patience)
	case out.over:
		return nil, "", fmt.Errorf("it printed more than %d KiB", largest>>10)
	}
	return out.kept.Bytes(), complaint.kept.String(), err
}

// bounded keeps what is of use and remembers that there was more. The buffer is
// no embedded one: its ReadFrom would take everything.
type bounded struct {
	kept bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := min(len(p), largest-b.kept.Len())
	b.over = b.over || room < len(p)
	_, _ = b.kept.Write(p[:room])
	return len(p), nil // a client that cannot write would fail for another reason than its own
}

// write puts files into the client's folder.
func (c call) write(files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func isFile(p string) bool {
	fi, err := os.Stat(p)
	return err == nil && fi.Mode().IsRegular()
}
