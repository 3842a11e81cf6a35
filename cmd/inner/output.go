package main

// The law of output: stdout is for what was asked for. Everything else goes
// to stderr through the helpers of this file, one line each, prefixed with
// "inner:". Nothing else in this package prints to stderr.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/profile/strict"
	"golang.org/x/term"
)

func (a *app) say(format string, args ...any) { a.line("inner: ", fmt.Sprintf(format, args...)) }
func (a *app) warn(format string, args ...any) {
	a.line("inner: warning: ", fmt.Sprintf(format, args...))
}

func (a *app) hint(format string, args ...any) {
	a.line("inner: hint: ", fmt.Sprintf(format, args...))
}

func (a *app) line(prefix, text string) {
	fmt.Fprintf(a.stderr, "%s%s\n", prefix, printable(text))
}

// fail reports an error: each fault on a line of its own, then its hint.
func (a *app) fail(err error) {
	var problems strict.Problems
	if errors.As(err, &problems) {
		for i, p := range problems {
			if i == 10 {
				a.say("… and %d more", len(problems)-i)
				break
			}
			a.say("%s", p.Error())
		}
		return
	}
	a.say("%s", err)
	if r := isolator.AsRefusal(err); r != nil && r.Hint != "" {
		a.hint("%s", r.Hint)
	}
}

// printable escapes what could drive a terminal: names and contents come from
// strangers.
func printable(s string) string {
	// Fillers count as letters and symbols, and look like nothing.
	clean := func(r rune) bool {
		return r == '\t' || unicode.IsPrint(r) && !strings.ContainsRune("\u115f\u1160\u2800\u3164\uffa0", r)
	}
	ok := utf8.ValidString(s)
	for _, r := range s {
		ok = ok && clean(r)
	}
	if ok {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case clean(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// progress shows how far something is, on one line of a terminal that is
// rewritten, once it has taken a second. The line is gone after the function
// it returns was called.
func (a *app) progress(what string, done, total func() int64) (stop func()) {
	f, ok := a.stderr.(*os.File)
	if !ok || !isTerminal(f) {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		next := time.NewTimer(time.Second)
		defer next.Stop()
		for shown := false; ; shown = true {
			select {
			case <-end:
				if shown {
					fmt.Fprint(f, "\r\x1b[K")
				}
				return
			case <-next.C:
				next.Reset(100 * time.Millisecond)
			}
			far := "…"
			if t := total(); t > 0 {
				far = fmt.Sprintf("%d%% of %s", min(done()*100/t, 100), copytree.Size(t))
			}
			fmt.Fprintf(f, "\r\x1b[Kinner: %s: %s", printable(what), far)
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// colour reports whether w may get colour.
func colour(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func paint(w io.Writer, code, text string) string {
	if !colour(w) {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
