package main

// The law of output: stdout is for what was asked for. Everything else goes
// to stderr through the helpers of this file, one line each, prefixed with
// "inner:". Nothing else in this package prints to stderr. Text that is not ours is
// made visible, in all output, by one function: visible.Text.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/profile/strict"
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
func (a *app) fail(err error) { a.failAll([]error{err}) }

// failAll prints the problems of several errors, each on a line, the first ten of all.
func (a *app) failAll(errs []error) {
	const most = 10
	n := 0
	say := func(text string) {
		if n++; n <= most {
			a.say("%s", text)
		}
	}
	for _, err := range errs {
		var problems strict.Problems
		if errors.As(err, &problems) {
			for _, p := range problems {
				say(p.Error())
			}
			continue
		}
		say(err.Error())
		if r := fault.AsRefusal(err); r != nil && r.Hint != "" && n <= most {
			a.hint("%s", r.Hint)
		}
	}
	if n > most {
		a.say("… and %d more", n-most)
	}
}

// printable makes visible what could drive a terminal or deceive who reads: names and
// contents come from strangers. Whatever is printed without it, output lets through in
// the same form.
func printable(s string) string { return visible.Text(s) }

// output is standard output or error: the net under everything that is printed.
type output struct {
	visible.Writer
	file *os.File
}

func outputTo(f *os.File) *output {
	return &output{visible.Writer{To: f, Colours: []string{"0", "1", "2", "31", "32", "33", "36"}}, f}
}

// fileOf is the file behind an output, when there is one.
func fileOf(w io.Writer) (*os.File, bool) {
	if s, ok := w.(*output); ok {
		return s.file, true
	}
	f, ok := w.(*os.File)
	return f, ok
}

// raw is an output for what is not text for people: shell code that was quoted, JSON, a
// patch.
func raw(w io.Writer) io.Writer {
	if f, ok := fileOf(w); ok {
		return f
	}
	return w
}

// teller is the app as what tells the caller of a run something.
type teller struct{ *app }

func (t teller) Say(format string, args ...any)  { t.say(format, args...) }
func (t teller) Warn(format string, args ...any) { t.warn(format, args...) }
func (t teller) Hint(format string, args ...any) { t.hint(format, args...) }
func (t teller) Fail(err error)                  { t.fail(err) }

func (t teller) Progress(what string, done, total func() int64) (stop func()) {
	return t.progress(what, done, total)
}

// progress shows how far something is, on one line of a terminal that is
// rewritten, once it has taken a second. The line is gone after the function
// it returns was called.
func (a *app) progress(what string, done, total func() int64) (stop func()) {
	f, ok := fileOf(a.stderr)
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
	f, ok := fileOf(w)
	return ok && isTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func paint(w io.Writer, code, text string) string {
	if !colour(w) {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func quoted(path string) string { return quote.POSIX(path) }
