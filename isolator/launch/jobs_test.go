package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStopAndContinue(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	j := probe("line")
	j.Interactive, j.Mark = true, marked()
	x.send("$L " + j.file(t) + "\r")
	x.expect("ready\r\n")
	for range 3 {
		x.send("\x1a")
		x.expect("Stopped")
		x.expect("<prompt>")
		// The shell is itself again: it echoes, and runs commands.
		x.send("echo $((20+3))\r")
		x.expect("\r\n23\r\n")
		x.expect("<prompt>")
		x.resize(30, 90)
		x.send("fg\r")
		x.expect("continued\r\n")
	}
	if strings.Count(x.all(), "continued\r\n") != 3 {
		t.Errorf("continued more than once per fg: %q", x.all())
	}
	eventually(t, "raw again", patience, x.isRaw)
	x.send("words\r")
	x.expect("got words\r\n30 90\r\n")
	x.expect("<prompt>")
	x.send("echo rc=$?\r")
	x.expect("\r\nrc=6\r\n")
	gone(t, j.Mark, time.Second)
}

func TestStopAndBackground(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	stop := filepath.Join(t.TempDir(), "stop")
	j := interactive("echo rea''dy; while ! test -e " + stop + "; do sleep 0.02; done; echo do''ne; exit 6")
	x.send("$L " + j.file(t) + "\r")
	x.expect("ready\r\n")
	x.send("\x1a")
	x.expect("Stopped")
	x.expect("<prompt>")
	x.send("bg\r")
	x.expect("<prompt>")
	x.send("echo $((20+3))\r")
	x.expect("\r\n23\r\n")
	x.expect("<prompt>")
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x.expect("done")
	x.send("wait %1; echo rc=$?\r")
	x.expect("\r\nrc=6\r\n")
	gone(t, j.Mark, time.Second)
}

// Started in the background it leaves the terminal alone; brought to the
// foreground it has it, whether it has stopped for the terminal before or not.
func TestStartInBackground(t *testing.T) {
	for _, stops := range []bool{true, false} {
		x := newTerminal(t)
		x.shell()
		front := filepath.Join(t.TempDir(), "front")
		wait := ""
		if !stops {
			wait = "while ! test -e " + front + "; do sleep 0.02; done; "
		}
		j := interactive("echo rea''dy; " + wait + "read a; echo \"got $a\"; exit 6")
		x.send("$L " + j.file(t) + " &\r")
		x.expect("ready")
		if stops {
			// fg continues only what the shell has seen stop.
			eventually(t, "stopped for the terminal", patience, func() bool {
				x.send("jobs; echo $((20+2))\r")
				stopped := strings.Contains(x.expect("\r\n22\r\n"), "Stopped")
				x.expect("<prompt>")
				return stopped
			})
		}
		x.send("echo $((20+3))\r")
		x.expect("\r\n23\r\n")
		x.expect("<prompt>")
		x.send("fg\r")
		if !stops {
			x.expect("\r\n$L ") // the shell is done with the terminal
			if err := os.WriteFile(front, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "raw in the foreground", patience, x.isRaw)
		x.send("words\r")
		x.expect("got words\r\n")
		x.expect("<prompt>")
		x.send("echo rc=$?\r")
		x.expect("\r\nrc=6\r\n")
	}
}

// Brought to the foreground when its program has stopped for the terminal, and it is about to
// stop, too, it has the terminal at once: a shell continues only what it has seen stop.
func TestForegroundWhileStopping(t *testing.T) {
	x := newTerminal(t)
	dir := t.TempDir()
	ask, front, pid := filepath.Join(dir, "ask"), filepath.Join(dir, "front"), filepath.Join(dir, "pid")
	j := interactive("echo rea''dy; while ! test -e " + ask + "; do sleep 0.02; done; echo as''k; read a; echo \"got $a\"; exit 6")
	shell := exec.Command("/bin/bash", "--norc", "-c", "set -m; "+self()+" "+wordLaunch+" "+j.file(t)+" & echo $! > "+pid+"; while ! test -e "+front+"; do sleep 0.02; done; fg >/dev/null")
	shell.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	x.start(shell)
	x.expect("ready")
	// What the program has written has to be on the terminal before inner stops, and that
	// takes no output now.
	flow := func(action int) {
		if err := unix.IoctlSetInt(int(x.slave.Fd()), unix.TCXONC, action); err != nil {
			t.Fatal(err)
		}
	}
	touch := func(file string) {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flow(0) // TCOOFF
	touch(ask)
	eventually(t, "the program stops", patience, func() bool { return stoppedProcesses(j.Mark) > 0 })
	touch(front)
	eventually(t, "inner is in the foreground", patience, func() bool {
		group, err := unix.IoctlGetInt(x.fd, unix.TIOCGPGRP)
		text, _ := os.ReadFile(pid)
		return err == nil && strconv.Itoa(group) == strings.TrimSpace(string(text))
	})
	flow(1) // TCOON
	x.expect("ask")
	eventually(t, "raw in the foreground", patience, x.isRaw)
	x.send("words\r")
	x.expect("got words\r\n")
	if c := code(t, shell); c != 6 {
		t.Errorf("exit code %d", c)
	}
}

// A shell in the box has job control of its own.
func TestShellInside(t *testing.T) {
	x := newTerminal(t)
	j := interactive("")
	j.Argv = []string{"/bin/bash", "--norc", "--noprofile", "-i"}
	j.Env = []string{"PS1=<inner>", "PATH=/usr/bin:/bin", "TERM=dumb", "HISTFILE=", "INPUTRC=" + writeFile(t, "inputrc", "set enable-bracketed-paste off\n", 0o600)}
	cmd := x.start(j.command(t))
	x.expect("<inner>")
	x.send(`perl -e '$|=1; $SIG{CONT}=sub{print "goes on\n"}; print "rea","dy\n"; sleep 1000 while 1'` + "\r")
	x.expect("ready\r\n")
	x.send("\x1a")
	x.expect("Stopped")
	x.expect("<inner>")
	x.send("jobs | wc -l\r")
	x.expect("\r\n1\r\n")
	x.expect("<inner>")
	x.send("fg\r")
	x.expect("\r\ngoes on\r\n") // only now the terminal is the job's
	x.send("\x03")
	x.expect("<inner>")
	x.send("echo rc=$?\r")
	x.expect("\r\nrc=130\r\n")
	x.expect("<inner>")
	x.send("exit 4\r")
	if c := code(t, cmd); c != 4 {
		t.Errorf("exit code %d", c)
	}
	if strings.Contains(x.all(), "no job control") {
		t.Errorf("%q", x.all())
	}
	gone(t, j.Mark, time.Second)
}

// In an orphaned process group nothing can be stopped; the program goes on.
func TestStopInOrphanedGroup(t *testing.T) {
	x := newTerminal(t)
	j := probe("line")
	j.Interactive = true
	cmd := x.start(j.command(t)) // the leader of its session: orphaned
	x.expect("ready\r\n")
	x.send("\x1a")
	x.expect("continued\r\n")
	eventually(t, "raw again", patience, x.isRaw)
	x.send("\r")
	if c := code(t, cmd); c != 6 {
		t.Errorf("exit code %d", c)
	}
}

// ^C and ^Z where the terminal is not the box's.
func TestKeysWithPipes(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	// bash, as dash uses vfork: a child stopped before its exec keeps it from
	// stopping.
	j := sh("trap 'echo han''dled >&2; exit 7' INT; echo rea''dy >&2; while :; do sleep 0.02; done")
	j.Argv[0] = "/bin/bash"
	j.Mark = marked()
	x.send("$L " + j.file(t) + " | cat; echo rc=${PIPESTATUS[0]}\r")
	x.expect("ready\r\n")
	x.send("\x03")
	x.expect("handled\r\n")
	x.expect("<prompt>")
	gone(t, j.Mark, time.Second)

	j = sh("echo rea''dy >&2; while ! test -e $1; do sleep 0.02; done; echo do''ne; exit 6")
	j.Argv[0] = "/bin/bash"
	j.Mark = marked()
	stop := filepath.Join(t.TempDir(), "stop")
	j.Argv = append(j.Argv, "sh", stop)
	x.send("$L " + j.file(t) + " </dev/null | cat\r")
	x.expect("ready\r\n")
	x.send("\x1a")
	x.expect("Stopped")
	x.expect("<prompt>")
	eventually(t, "the job stopped", patience, func() bool { return stoppedProcesses(j.Mark) >= 2 })
	x.send("fg\r")
	eventually(t, "the job going on", patience, func() bool { return stoppedProcesses(j.Mark) == 0 })
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x.expect("done\r\n")
	x.expect("<prompt>")
	gone(t, j.Mark, time.Second)
}

// stoppedProcesses counts the stopped ones among those with the mark.
func stoppedProcesses(mark uint64) int {
	n := 0
	for _, p := range alive(mark) {
		pid, _, _ := strings.Cut(p, " ")
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && rest[0] == 'T' {
			n++
		}
	}
	return n
}
