// Package tell is how the programs of inner speak to a person.
//
// The law of output: stdout is for what was asked for. Everything else goes to stderr by a
// Teller, one line each, prefixed with "inner:". visible.Text makes text that is not ours
// visible in all output; Output does it for what was printed without that.
//
//	stderr := tell.To(os.Stderr)
//	tell.Teller{To: stderr}.Fail(err)
package tell

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/strict"
)

// Output is standard output or error. What went through visible.Text already passes
// unchanged; everything else is made visible.
type Output struct {
	visible.Writer
	file *os.File
	err  error // the first of writing
}

// Write prints, and keeps the first error for Err.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// Err is why an output does not hold all that was printed to it; nil when it does.
func Err(w io.Writer) error {
	if o, ok := w.(*Output); ok {
		return o.err
	}
	return nil
}

// To returns the output that prints to a file.
func To(f *os.File) *Output {
	return &Output{Writer: visible.Writer{To: f, Colours: []string{"0", "1", "2", "31", "32", "33", "36"}}, file: f}
}

// FileOf is the file behind an output, when there is one.
func FileOf(w io.Writer) (*os.File, bool) {
	if s, ok := w.(*Output); ok {
		return s.file, true
	}
	f, ok := w.(*os.File)
	return f, ok
}

// Raw is an output for what is not text for people: shell code that was quoted, JSON, a
// patch.
func Raw(w io.Writer) io.Writer {
	if f, ok := FileOf(w); ok {
		return f
	}
	return w
}

// Teller tells a person something, a line for each call. It is a caller.Teller.
type Teller struct{ To io.Writer }

// Say states a fact.
func (t Teller) Say(format string, args ...any) { t.line("inner: ", format, args) }

// Warn states something that the person may not want.
func (t Teller) Warn(format string, args ...any) { t.line("inner: warning: ", format, args) }

// Hint says what can be typed.
func (t Teller) Hint(format string, args ...any) { t.line("inner: hint: ", format, args) }

func (t Teller) line(prefix, format string, args []any) {
	fmt.Fprintf(t.To, "%s%s\n", prefix, visible.Text(fmt.Sprintf(format, args...)))
}

// Fail reports an error: each fault on a line of its own, then its hint.
func (t Teller) Fail(err error) { t.FailAll([]error{err}) }

// FailAll reports the faults of several errors, each on a line, the first ten of all.
func (t Teller) FailAll(errs []error) {
	const most = 10
	n := 0
	say := func(text string) {
		if n++; n <= most {
			t.Say("%s", text)
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
		hint := fault.Room(err)
		if r := fault.AsRefusal(err); r != nil {
			hint = cmp.Or(r.Hint, hint)
		}
		if hint != "" && n <= most {
			t.Hint("%s", hint)
		}
	}
	if n > most {
		t.Say("… and %d more", n-most)
	}
}
