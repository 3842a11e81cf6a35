package visit

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
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

// goOn has a launcher that stops itself continue, once the shell has its terminal, and
// returns when it has told so at sock, or has ended.
func goOn(sock, pid int) {
	for end := time.Now().Add(joinPatience); time.Now().Before(end) && wire.Poll(sock, unix.POLLIN, 5) == 0; {
		if j := lookAt(pid); j.stopped && j.front != j.group {
			WakeUp(pid)
		}
	}
}

// WakeUp continues a launcher that is stopped, with its group.
func WakeUp(pid int) {
	if j := lookAt(pid); j.stopped && j.group > 1 {
		_ = unix.Kill(-j.group, unix.SIGCONT)
	}
}
