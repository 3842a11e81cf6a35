package visit

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// jobOf is what proc_pid_stat(5) says of a process as a job.
type jobOf struct {
	stopped               bool
	group, session, front int // front is the group that has its terminal; 0 when it is gone
}

func lookAt(pid int) (j jobOf) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, ok := bytes.Cut(stat, []byte(") "))
	f := bytes.Fields(rest) // state, parent, group, session, terminal, its foreground
	if err != nil || !ok || len(f) < 6 {
		return j
	}
	j.stopped = f[0][0] == 'T'
	j.group, _ = strconv.Atoi(string(f[2]))
	j.session, _ = strconv.Atoi(string(f[3]))
	j.front, _ = strconv.Atoi(string(f[5]))
	return j
}

// givePrompt has the shell of a launcher take its terminal back: the launcher stops, with its group, as for ^Z, and
// goes on in the background. Where it is no job of a shell it is left alone, and taken is false.
func givePrompt(pid int) (taken bool) {
	j := lookAt(pid)
	if j.group < 2 || j.group != j.front || j.group == j.session {
		return false
	}
	_ = unix.Kill(-j.group, unix.SIGSTOP)
	for end := time.Now().Add(joinPatience); time.Now().Before(end) && lookAt(pid).front == j.group; time.Sleep(5 * time.Millisecond) {
	}
	return unix.Kill(-j.group, unix.SIGCONT) == nil
}

// WakeUp continues a launcher that is stopped, with its group.
func WakeUp(pid int) {
	if j := lookAt(pid); j.stopped && j.group > 1 {
		_ = unix.Kill(-j.group, unix.SIGCONT)
	}
}
