package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/enr/inner/isolator"
)

// Calls of tools: a program that does nothing, by each way that there is, beside bwrap with
// the same arguments.

// callsEach is how many calls of a server and of the library there are in each round.
const callsEach = 40

func (b *bench) calls() error {
	text := func(session string) string {
		return "schema_version = \"1\"\n[shim]\ncommands = []\n[sandbox]\nhome = \"isolated\"\nsession = \"" + session + "\"\n" +
			"[output]\nrecord = \"audit\"\n[entrypoint]\ncmd = \"true\"\ninteractive = false\n"
	}
	if err := b.allowed(b.app, map[string]string{"call": text("files"), "shared": text("box")}); err != nil {
		return err
	}
	raw, err := b.rawBwrap("call")
	if err != nil {
		return err
	}
	call := []string{b.inner, "exec", "-p", "call"}
	t, err := b.hyperfine(b.app, 40, "", raw, append(call, "--", "true"), append(call, "--session", "s1", "--", "true"))
	if err != nil {
		return err
	}
	served, err := b.served("-p", "call")
	if err != nil {
		return fmt.Errorf("exec --serve: %w", err)
	}
	shared, err := b.served("-p", "shared", "--session", "s2")
	if err != nil {
		return fmt.Errorf("exec --serve in a session's box: %w", err)
	}
	if _, err := b.output(b.app, b.inner, "session", "end", "s2"); err != nil {
		return err
	}
	library, err := b.library()
	if err != nil {
		return fmt.Errorf("library: %w", err)
	}
	b.rows = append(b.rows,
		row{"bwrap with the same arguments", ms(median(t[0])), "", "", ""},
		row{"`inner exec`", ms(median(t[1])), "that bwrap", more(t[1], t[0]), ""},
		row{"`inner exec --session`", ms(median(t[2])), "that bwrap", more(t[2], t[0]), ""},
		row{"a call of `inner exec --serve`", ms(median(served)), "that bwrap", more(served, t[0]), "≤ +4 ms"},
		row{"the same in a session's box", ms(median(shared)), "that bwrap", more(shared, t[0]), "≤ +4 ms"},
		row{"a call of the library", ms(median(library)), "that bwrap", more(library, t[0]), ""},
	)
	return nil
}

// served times calls of one server, one after another.
func (b *bench) served(flags ...string) (out series, err error) {
	cmd := b.command(b.app, append([]string{b.inner, "exec", "--serve"}, flags...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close(), cmd.Wait()) }()
	read := bufio.NewReader(answers)
	return b.timed(func() error {
		if _, err := io.WriteString(in, "{\"argv\":[\"true\"]}\n"); err != nil {
			return err
		}
		line, err := read.ReadString('\n')
		if err == nil && !strings.Contains(line, `"started":true`) {
			err = errors.New(line)
		}
		return err
	})
}

// library times calls of package isolator, with this program as the supervisor of each box.
func (b *bench) library() (series, error) {
	for _, kv := range b.env { // the library is about the user and the environment of its program
		k, v, _ := strings.Cut(kv, "=")
		if err := os.Setenv(k, v); err != nil {
			return nil, err
		}
	}
	ctx := context.Background()
	p, err := isolator.Load(ctx, isolator.Options{Name: "call", Dir: b.app})
	if err != nil {
		return nil, err
	}
	return b.timed(func() error {
		_, err := p.Command(ctx, "true").Run()
		return err
	})
}

// timed is the median of calls for each round, after a few that are not counted.
func (b *bench) timed(call func() error) (series, error) {
	var out series
	for range b.rounds {
		var took []float64
		for i := range callsEach + 5 {
			begun := time.Now()
			if err := call(); err != nil {
				return nil, err
			}
			if i >= 5 {
				took = append(took, time.Since(begun).Seconds())
			}
		}
		out = append(out, median(took))
	}
	return out, nil
}
