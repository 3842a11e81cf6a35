package visit

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// jobOf is what proc_pid_stat(5) says of a process as a job.
type jobOf struct {
	stopped               bool
	group, session, front int // front is the group that has its terminal; 0 when it is gone
	terminal              int // its controlling terminal, as a number of a device; 0 for none
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
	j.terminal, _ = strconv.Atoi(string(f[4]))
	j.front, _ = strconv.Atoi(string(f[5]))
	return j
}

// Terminal names the terminal in which a process was started, as "pts/7"; "" where it has none.
func Terminal(pid int) string {
	device := uint64(uint32(lookAt(pid).terminal))
	switch major, minor := unix.Major(device), unix.Minor(device); {
	case device == 0:
		return ""
	case major == unix98Terminals:
		return fmt.Sprint("pts/", minor)
	default:
		return fmt.Sprintf("tty %d:%d", major, minor)
	}
}

// unix98Terminals is the major number of /dev/pts (Documentation/admin-guide/devices.txt).
const unix98Terminals = 136

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
