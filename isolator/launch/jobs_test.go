package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
// foreground it has it.
func TestStartInBackground(t *testing.T) {
	x := newTerminal(t)
	x.shell()
	j := interactive("echo rea''dy; read a; echo \"got $a\"; exit 6")
	x.send("$L " + j.file(t) + " &\r")
	x.expect("ready")
	x.send("echo $((20+3))\r")
	x.expect("\r\n23\r\n")
	x.expect("<prompt>")
	x.send("fg\r")
	eventually(t, "raw in the foreground", patience, x.isRaw)
	x.send("words\r")
	x.expect("got words\r\n")
	x.expect("<prompt>")
	x.send("echo rc=$?\r")
	x.expect("\r\nrc=6\r\n")
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
