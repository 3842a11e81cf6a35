package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whatever the person gave, no process of the box has a descriptor of a terminal that
// is not the box's.
func TestNoTerminalDescriptor(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	x.send("T=/dev/tty\r")
	x.expect("<prompt>")
	file := filepath.Join(t.TempDir(), "found")
	j := probe("terminals", file)
	for _, j.Interactive = range []bool{true, false} {
		name := j.file(t)
		for _, in := range []string{"", " </dev/null", " <$T"} {
			for _, out := range []string{"", " | cat", " 1<>$T"} {
				for _, errs := range []string{"", " 2>/dev/null", " 2>&0"} {
					x.send("$L " + name + in + errs + out + "; echo $((40+2))\r")
					x.expect("\r\n42\r\n")
					x.expect("<prompt>")
					if b, err := os.ReadFile(file); err != nil || string(b) != "none\n" {
						t.Errorf("%q, interactive %v: %q, %v", in+errs+out, j.Interactive, b, err)
					}
					_ = os.Remove(file)
				}
			}
		}
	}
	// The same look finds the terminal without a box.
	x = newTerminal(t)
	code(t, x.start(exec.Command(self(), wordProbe, "terminals", file, "outside")))
	if b, _ := os.ReadFile(file); !strings.Contains(string(b), "descriptor 0") {
		t.Errorf("without a box: %q", b)
	}
}

// A box in the background reads nothing of what is typed at the shell in front, and
// gets its line when it is brought to the foreground, as without inner.
func TestBackgroundDoesNotRead(t *testing.T) {
	for _, tail := range []string{" >$D/log &", " 2>$D/log &", " >$D/log 2>&1 &", " &", " | cat >$D/log &"} {
		x := newTerminal(t)
		x.shell()
		file := filepath.Join(t.TempDir(), "got")
		j := interactive("read a; echo \"$a\" > " + file)
		x.send("$L " + j.file(t) + tail + "\r")
		x.expect("<prompt>")
		stopped := false
		for i := range 20 {
			x.send(fmt.Sprintf("echo $((%d+1000)); jobs\r", i))
			if stopped = strings.Contains(x.expect("<prompt>"), "Stopped") || stopped; stopped && i > 5 {
				break
			}
			syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 50_000})
		}
		if !stopped {
			t.Errorf("%q: not stopped for reading: %q", tail, x.all())
		}
		x.send("read -s password; echo =$password=\r")
		eventually(t, "the shell asks", patience, func() bool { m := x.modes(); return m.Lflag&syscall.ICANON != 0 && m.Lflag&syscall.ECHO == 0 })
		x.send("hunter2\r")
		x.expect("=hunter2=")
		x.expect("<prompt>")
		if b, err := os.ReadFile(file); err == nil {
			t.Errorf("%q: the box has read %q in the background", tail, b)
		}
		x.send("fg\r")
		x.expect("\r\n$L ") // the shell is done with the terminal
		x.send("for the box\r")
		eventually(t, tail+": the box has read its line", patience, func() bool { return exists(file) })
		x.expect("<prompt>")
		if b, _ := os.ReadFile(file); string(b) != "for the box\n" {
			t.Errorf("%q: the box has read %q", tail, b)
		}
		gone(t, j.Mark)
		x.close()
	}
}

func exists(file string) bool {
	b, err := os.ReadFile(file)
	return err == nil && len(b) > 0
}

// Of another session's terminal nothing is read: nothing would stop it there.
func TestTerminalOfAnotherSession(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	file := filepath.Join(t.TempDir(), "got")
	j := interactive("read a; echo \"<$a>\" > " + file)
	x.send("setsid $L " + j.file(t) + " >/dev/null &\r")
	x.expect("<prompt>")
	x.send("echo $((40+2))\r")
	x.expect("\r\n42\r\n")
	eventually(t, "its end", patience, func() bool { return exists(file) })
	if b, _ := os.ReadFile(file); string(b) != "<>\n" {
		t.Errorf("read %q", b)
	}
}

// What others read of the terminal stays theirs, and a program whose output is no
// terminal gets its lines however it waits for them.
func TestSharedTerminal(t *testing.T) {
	x := newTerminal(t)
	shell := x.shell()
	j := sh("echo rea''dy >&2; exec sleep 1000")
	j.Interactive = true
	j.Timeout = 3 * time.Second
	x.send("$L " + j.file(t) + " | sh -c 'read x </dev/tty; echo \"other $x\"; cat'\r")
	x.expect("ready\r\n")
	x.send("mine\r")
	x.expect("other mine\r\n")
	x.expect("<prompt>")

	j = probe("poll")
	j.Interactive = true
	x.send("$L " + j.file(t) + " | cat\r")
	x.expect("polling\r\n")
	x.send("a line\r")
	x.expect("polled a line\r\n")
	x.expect("<prompt>")

	// A password is not shown, and the modes the program sets are the box's.
	j = interactive("stty -echo; echo as''k >&2; read p; stty echo; echo \"<$p>\"")
	x.send("$L " + j.file(t) + " | cat\r")
	x.expect("ask\r\n")
	x.send("secret\r")
	if got := x.expect("<secret>\r\n"); strings.Contains(got, "secret") {
		t.Errorf("shown: %q", got)
	}
	x.expect("<prompt>")

	// ^C ends all of the pipeline before the program has the terminal, ^Z stops it.
	j = interactive("echo rea''dy >&2; exec sleep 1000")
	x.send("$L " + j.file(t) + " | sleep 1000; echo rc=${PIPESTATUS[*]}\r")
	x.expect("ready\r\n")
	x.send("\x1a")
	x.expect("Stopped")
	x.expect("<prompt>")
	x.send("fg\r")
	x.expect("sleep 1000")
	// bash names the job before it gives it the terminal, and ^C in between is bash's.
	eventually(t, "the job has the terminal", patience, func() bool {
		return x.foreground() != shell.Process.Pid
	})
	x.send("\x03")
	x.expect("<prompt>")
	gone(t, j.Mark)
}

// What was typed before the program started arrives as without a box, and is shown
// once: the direct run of the same commands is the referee.
func TestTypedAhead(t *testing.T) {
	for _, typed := range []string{"\x04", "one\r\x04", "one\rtwo\r\x04three\r\x04", "par\x04tial\x04\x04", "a\x16\x03b\r\x04", "a\x16\x04b\r\x04\x04", "erased\x7f\x7fX\r\x04\x04", "rest\x04"} {
		t.Run(fmt.Sprintf("%q", typed), func(t *testing.T) {
			t.Parallel()
			for _, c := range [][2]string{{`cat; echo mid; cat; echo end`, ""}, {`read a; read b; echo "<$a><$b>"; cat`, ""}, {`od -c; echo end`, ""}, {`cat; echo end`, " | cat"}} {
				run := func(boxed bool) string {
					x := newTerminal(t)
					x.resize(24, 250)
					command := "/bin/bash --norc -c '" + c[0] + "'"
					if boxed {
						j := job{Argv: []string{"/bin/bash", "--norc", "-c", c[0]}, Interactive: true}
						command = self() + " " + wordLaunch + " " + j.file(t)
					}
					cmd := exec.Command("/bin/sh", "-c", command+c[1])
					cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
					x.send(typed)
					if typed != "\x04" { // it is shown some time after it was sent
						eventually(t, "the echo", patience, func() bool { return x.all() != "" })
					}
					x.start(cmd)
					late := time.AfterFunc(time.Second, func() { _, _ = x.master.WriteString("\x04\x04\x04") }) // for what still waits
					defer late.Stop()
					if c := code(t, cmd); c != 0 {
						t.Errorf("exit code %d", c)
					}
					x.send("END\r")
					return x.expect("END")
				}
				if direct, boxed := run(false), run(true); direct != boxed {
					t.Errorf("%s%s:\ndirect %q\nboxed  %q", c[0], c[1], direct, boxed)
				}
			}
		})
	}
}

// A pipe as input and a terminal as output: bytes and their order as without a box.
func TestPipedInput(t *testing.T) {
	for _, script := range []string{`cat; echo err >&2; echo out; echo err >&2`, `for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done; cat`, `printf "no line break"`} {
		run := func(boxed bool) string {
			x := newTerminal(t)
			x.resize(24, 250)
			command := "/bin/bash --norc -c '" + script + "'"
			if boxed {
				j := job{Argv: []string{"/bin/bash", "--norc", "-c", script}, Interactive: true}
				command = self() + " " + wordLaunch + " " + j.file(t)
			}
			cmd := exec.Command("/bin/sh", "-c", "echo before; printf 'in\\n' | "+command+"; echo after")
			cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
			x.send("typed\r\x04")
			x.expect("typed\r\n")
			x.start(cmd)
			code(t, cmd)
			x.send("END\r")
			return x.expect("END")
		}
		if direct, boxed := run(false), run(true); direct != boxed {
			t.Errorf("%s:\ndirect %q\nboxed  %q", script, direct, boxed)
		}
	}
}

// The terminal's answers that come after the end are not typed into the shell.
func TestLateAnswers(t *testing.T) {
	answers := map[string]string{
		"\x1b[c": "\x1b[?62;c", "\x1bP$qm\x1b\\": "\x1bP1$r0m\x1b\\", "\x1b]11;?\x1b\\": "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1b[6n": "\x1b[1;1R", "\x1b[>q": "\x1bP>|term\x1b\\", "\x1b[5n": "\x1b[0n",
	}
	ask := `for q in '\e[c' '\eP$qm\e\\' '\e]11;?\e\\' '\e[6n' '\e[>q'; do printf "$q"; done`
	for _, tail := range []string{"", " </dev/null", " 2>&1 >/dev/tty | cat"} {
		for _, boxed := range []bool{true, false} {
			x := newTerminal(t)
			x.shell()
			done := make(chan struct{})
			go func() { // a terminal on a slow line, which answers in the order of the questions
				defer close(done)
				type late struct {
					due  time.Time
					text string
				}
				var waiting []late
				seen := 0
				for {
					select {
					case <-x.ended:
						return
					case <-time.After(20 * time.Millisecond):
					}
					text := x.all()
					for rest := text[seen:]; rest != ""; rest = text[seen:] {
						seen++
						for question, answer := range answers {
							if strings.HasPrefix(rest, question) {
								waiting = append(waiting, late{time.Now().Add(150 * time.Millisecond), answer})
							}
						}
					}
					for len(waiting) > 0 && time.Now().After(waiting[0].due) {
						_, _ = x.master.WriteString(waiting[0].text)
						waiting = waiting[1:]
					}
				}
			}()
			command := "/bin/bash -c \"$ASK\""
			if boxed {
				j := job{Argv: []string{"/bin/bash", "--norc", "-c", ask}, Interactive: true}
				command = "$L " + j.file(t)
			}
			x.send("export ASK='" + strings.ReplaceAll(ask, "'", `'\''`) + "'\r")
			x.expect("<prompt>")
			x.send(command + tail + "; sleep 0.5\r")
			x.expect("\r\n")
			x.expect("<prompt>")
			if boxed {
				x.send("echo $((40+2))\r")
				x.expect("\r\n42\r\n")
			} else { // what was typed into the shell is in its line
				eventually(t, "the answers outside", patience, func() bool { return strings.Contains(x.all(), "1;1R") })
			}
			if typed := strings.Contains(x.all(), "1;1R"); typed == boxed {
				t.Errorf("%q, boxed %v: typed into the shell: %v, %q", tail, boxed, typed, x.all())
			}
			x.close()
			<-done
		}
	}
}

// The clipboard of the terminal is out of reach, unless the profile gives it.
func TestClipboardOfTerminal(t *testing.T) {
	for _, tail := range []string{"", " </dev/null", " | cat"} {
		for _, clipboard := range []bool{false, true} {
			x := newTerminal(t)
			x.shell()
			j := sh(`printf 'a\033]52;c;Y2xpcA==\007b\n' >&2`)
			j.Interactive, j.Clipboard = true, clipboard
			x.send("$L " + j.file(t) + tail + "; echo $((40+2))\r")
			if got := x.expect("\r\n42\r\n"); strings.Contains(got, "\x1b]52;") != clipboard || !strings.Contains(got, "b") {
				t.Errorf("%q, clipboard %v: %q", tail, clipboard, got)
			}
			x.close()
		}
	}
}

// Who asks inner to end need not kill it: the box has killGrace.
func TestTermBecomesKill(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		for _, full := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v %v", sig, full), func(t *testing.T) {
				t.Parallel()
				j := interactive("trap '' TERM HUP INT; echo rea''dy; while :; do sleep 0.05; done")
				j.Result = filepath.Join(t.TempDir(), "result")
				x := newTerminal(t)
				cmd := j.command(t)
				if !full {
					cmd.Stdin, _ = os.Open("/dev/null")
				}
				x.start(cmd)
				x.expect("ready")
				start := time.Now()
				_ = cmd.Process.Signal(sig)
				c := code(t, cmd)
				if d := time.Since(start); c != 137 || d < killGrace {
					t.Errorf("code %d after %v", c, d)
				}
				if r := readResult(t, j.Result); !r.Started || r.Signal != syscall.SIGKILL {
					t.Errorf("%+v", r) // the usual end: there is a result
				}
				gone(t, j.Mark)
			})
		}
	}
}

// Whether the program died of SIGINT or ended by itself is told apart, also where its
// code is the same.
func TestDiedOrEnded(t *testing.T) {
	for script, died := range map[string]bool{
		"echo rea''dy; exec sleep 1000":                                                   true,
		"trap 'exit 130' INT; echo rea''dy; while :; do sleep 0.05; done":                 false,
		"trap 'trap - INT; kill -INT $$' INT; echo rea''dy; while :; do sleep 0.05; done": true,
		"trap 'exit 3' INT; echo rea''dy; while :; do sleep 0.05; done":                   false,
	} {
		for _, tail := range []string{"", "</dev/null"} {
			x := newTerminal(t)
			j := interactive(script)
			j.Result = filepath.Join(t.TempDir(), "result")
			cmd := j.command(t)
			if tail != "" {
				cmd.Stdin, _ = os.Open("/dev/null")
			}
			x.start(cmd)
			x.expect("ready")
			x.send("\x03")
			code(t, cmd)
			if r := readResult(t, j.Result); r.Interrupted != died && (tail == "" || tellsEnds()) {
				t.Errorf("%s %s: %+v", script, tail, r)
			}
			x.close()
		}
	}
}

// tellsEnds reports whether the kernel tells how a process that is not ours has ended.
func tellsEnds() bool {
	var u syscall.Utsname
	_ = syscall.Uname(&u)
	var major, minor int
	var release []byte
	for _, c := range u.Release {
		release = append(release, byte(c))
	}
	_, _ = fmt.Sscanf(string(release), "%d.%d", &major, &minor)
	return major > 6 || major == 6 && minor >= 15
}
