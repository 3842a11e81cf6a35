package hooks

// The protocol between the hook and the binary.
//
// The state file (INNER_HOME/shims/state) is what all shells and all inner
// processes share. Its first line is the generation token: any text that
// changes whenever a shell should look again. Its modification time is the
// moment the state was last checked. Both come with conditions, or a shell
// misses a change:
//
//   - The token is replaced by renaming a new file over the old one, never by
//     writing into it.
//   - The time is moved forward only by a process that has just looked at
//     every project the user has entered, and that gives the file a new token
//     when any of them changed: another shell may be waiting for that very
//     change, and it can no longer see it by time.
//   - The time is that at which the look began, less shims.Slack: a file saved
//     while it went on must still be newer, and the kernel's file times lag behind
//     the clock by up to one tick.
//
// The hook keeps, in shell variables it does not export: the folder and token
// it last saw, the paths to watch, and an opaque key for the last notice. At
// each prompt it only tests. When the folder or the token differs, a watched
// path is newer than the state file or gone, or an absent one appeared, it
// runs, once,
//
//	inner __hook SHELL KEY TOKEN PWD
//
// with the notice key of the last answer (empty at first), the token it just
// read (empty when there is no state) and the folder as the shell calls it
// (the physical one is the working folder of the call). Nothing travels in
// the environment. Standard input is empty, standard error is the terminal.
//
// The binary looks at the project; moves the state on; prints its one line of
// notice on standard error when the key it computes differs from KEY and is
// not empty; and prints Render(SHELL, Update{...}) on standard output, which the
// hook evaluates. Leaving a project gives an empty key, so that coming back is
// a new visit. When the exit status is not zero, the hook throws the answer
// away (all but fish) and asks again only when folder or token change.
//
// The mark (shims.Folder.Mark) makes the token cheap to check: a second link to the
// state file, named after its token, that is taken away before another token is written. The
// shell looks whether it is there, without reading, and falls back to reading when it is not.
// Without it everything works, at about three times the cost per prompt.

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/visible"
)

// A Request is what the hook asks, from the arguments after "__hook".
type Request struct {
	Shell string // one of Shells
	Key   string // the Key of the last Update, empty at first
	Token string // line 1 of the state file as the shell read it
	PWD   string // the shell's own name for its folder
	// Shadows are asked about in a request of their own, which is answered by
	// RenderShadows and nothing else.
	Shadows []Shadow
}

// ParseRequest reads the arguments after "inner __hook".
func ParseRequest(args []string) (Request, error) {
	if len(args) < 4 || len(args)%3 != 1 {
		return Request{}, fmt.Errorf("a request of %d arguments, not 4 and three for each shadow: the hook in this shell is of another version; open a new shell", len(args))
	}
	if _, err := lookup(args[0]); err != nil {
		return Request{}, err
	}
	req := Request{Shell: args[0], Key: args[1], Token: args[2], PWD: args[3]}
	for more := args[4:]; len(more) > 0; more = more[3:] {
		req.Shadows = append(req.Shadows, Shadow{more[0], more[1], more[2]})
	}
	return req, nil
}

// An Update is the answer to a Request.
type Update struct {
	// Token is line 1 of the state file now. Empty keeps what the shell read.
	Token string
	// Mark is the path of the mark, or empty.
	Mark string
	// Watch lists paths that exist: each is looked at for being newer than the
	// state file, or gone. Absent lists paths that do not exist: each is looked
	// at for appearing. Observe sorts a list into the two.
	Watch, Absent []string
	// Key identifies the notice last printed; NewKey makes one.
	Key string
	// Flush has the shell forget the places of commands.
	Flush bool
	// Names are the commands that do not simply run here: the shell looks for
	// aliases and functions of these names at each prompt, see Shadow. Names that
	// are not plain words, and more than a few, are left out.
	Names []string
}

// Render returns u as text for the named shell to evaluate. An unknown shell
// gets no text, and neither does a value that no shell can hold (a NUL byte).
func Render(name string, u Update) string {
	sh, err := lookup(name)
	if err != nil {
		return ""
	}
	flush := ""
	if u.Flush {
		flush = "1"
	}
	watch, absent := sayable(name, u.Watch), sayable(name, u.Absent)
	var b strings.Builder
	scalar := func(name string, value string) { fmt.Fprintf(&b, sh.scalar, name, sh.quote(value)) }
	list := func(name string, values []string) {
		fmt.Fprintf(&b, sh.list, name, joinQuoted(values, sh.quote))
	}
	mark := "mark"
	if name == "fish" {
		mark = "link"
	}
	if u.Token != "" {
		scalar("token", u.Token)
	}
	if u.Mark != "" || name != "tcsh" { // without one it compares the state with itself
		scalar(mark, u.Mark)
	}
	if name == "tcsh" {
		u.Key = cmp.Or(u.Key, "-") // it can hand over no empty word
	}
	scalar("seen", u.Key)
	scalar("flush", flush)
	if sh.changed != nil {
		b.WriteString(sh.changed(watch, unwatchedParents(watch), absent))
		return b.String()
	}
	list("watch", watch)
	list("there", unwatchedParents(watch))
	list("absent", absent)
	var names []string
	for _, n := range u.Names {
		if IsWatchable(n) && len(names) < maxNames {
			names = append(names, n)
		}
	}
	list("names", names)
	if name == "nu" {
		return "{\n" + b.String() + "}\n" // one record
	}
	return b.String()
}

// changedPOSIX is the function that tells whether a watched path changed.
func changedPOSIX(watch, there, absent []string) string {
	var tests []string
	for _, p := range watch {
		tests = append(tests, "[ "+quote.POSIX(p)+` -nt "$__inner_state" ]`)
	}
	for _, p := range there {
		tests = append(tests, "[ ! -e "+quote.POSIX(p)+" ]")
	}
	for _, p := range absent {
		tests = append(tests, "[ -e "+quote.POSIX(p)+" ]")
	}
	return "__inner_changed() { " + strings.Join(append(tests, "return 1"), " || ") + "; };\n"
}

// changedTcsh is the alias that asks inner when a watched path changed. tcsh knows the
// seconds of a time: what changed within this one may change again unseen, so it is
// looked at again.
func changedTcsh(watch, _, absent []string) string {
	now := time.Now().Unix()
	tests := []string{"0"}
	for _, p := range watch {
		info, err := os.Stat(p)
		if err != nil || info.ModTime().Unix() >= now {
			tests = append(tests, "1")
			continue
		}
		for _, t := range []struct {
			what  string
			value any
		}{{"-M", info.ModTime().Unix()}, {"-Z", info.Size()}, {"-I", info.Sys().(*syscall.Stat_t).Ino}} {
			tests = append(tests, fmt.Sprintf("%s %s != %d", t.what, quote.Tcsh(p), t.value))
		}
	}
	for _, p := range absent {
		tests = append(tests, "-e "+quote.Tcsh(p))
	}
	return "alias __inner_changed " + quote.Tcsh("if ("+strings.Join(tests, " || ")+") eval $__inner_update:q") + ";\n"
}

// RenderShadows answers a request about shadows: what ShellVar is to hold, and the
// lines to say, which the shell prints once each.
func RenderShadows(name string, shadows []Shadow) string {
	sh, err := lookup(name)
	if err != nil || sh.list == "" { // which asks about none
		return ""
	}
	var around []Shadow
	var lines []string
	for _, s := range shadows {
		if s.Around() {
			around = append(around, s)
			lines = append(lines, sh.quote(visible.Line(s.Say(name))))
		}
	}
	return fmt.Sprintf(sh.scalar, "around", sh.quote(ShellValue(around))) + fmt.Sprintf(sh.list, "say", strings.Join(lines, " "))
}

func joinQuoted(values []string, quote func(string) string) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = quote(v)
	}
	return strings.Join(words, " ")
}

// sayable leaves out what the shell's file tests cannot name.
func sayable(shell string, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return !filepath.IsAbs(p) || strings.Contains(p, "\x00") || shell == "nu" && !utf8.ValidString(p)
	})
}

// unwatchedParents returns the paths whose folder is not watched as well. When
// one of those goes away, no watched time changes, so its presence is tested
// on its own; the others are covered by the time of their folder.
func unwatchedParents(watch []string) []string {
	var out []string
	for _, p := range watch {
		if dir := filepath.Dir(p); dir == p || !slices.Contains(watch, dir) {
			out = append(out, p)
		}
	}
	return out
}

// Observe sorts paths into those to watch and those to wait for, in order and
// each once, and leaves out what costs a prompt a test for nothing:
//
//   - paths modified after now, which would look new for ever, and paths that
//     cannot be inspected;
//   - missing paths in a watched folder, whose time tells when they appear.
//
// Of a path with missing folders, the first of those is waited for.
func Observe(paths []string, now time.Time) (watch, absent []string) {
	var missing []string
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case err == nil && !info.ModTime().After(now):
			if !slices.Contains(watch, p) {
				watch = append(watch, p)
			}
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, p)
		}
	}
	for _, p := range missing {
		p = firstMissing(p)
		if !slices.Contains(absent, p) && !slices.Contains(watch, filepath.Dir(p)) {
			absent = append(absent, p)
		}
	}
	return watch, absent
}

// firstMissing is the topmost folder of a missing path that is missing, or the path itself.
func firstMissing(p string) string {
	for {
		dir := filepath.Dir(p)
		if _, err := os.Stat(dir); dir == p || !errors.Is(err, fs.ErrNotExist) {
			return p
		}
		p = dir
	}
}

// NewKey returns a notice key for a state described by parts, for instance a
// project's root and the verdict on it. It differs when any part differs and
// is never empty.
func NewKey(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:8])
}
