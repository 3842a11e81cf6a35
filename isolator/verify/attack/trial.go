package attack

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Program is the name of the attack suite. It executes itself under these words.
const (
	Program    = "inner-attack"
	Word       = "__attack"
	victimWord = "__victim"
	lineFD     = 2
)

// maxSaid bounds what an attack says.
const maxSaid = 1 << 20

// Answer is what comes back of an attack.
type Answer struct {
	Said string `json:"said"`
	Err  string `json:"err"`
}

// IsInside reports whether this process was started to attack, or as a victim.
func IsInside(args []string) bool {
	return len(args) == 2 && args[0] == Program && (args[1] == Word || strings.HasPrefix(args[1], victimWord))
}

// Inside attacks, or is a victim, and returns the exit code. It does nothing
// without a line to the half that made the fixture.
func Inside(args []string) int {
	if strings.HasPrefix(args[1], victimWord) {
		return victim()
	}
	t, err := unix.GetsockoptInt(lineFD, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || t != unix.SOCK_STREAM {
		_, _ = os.Stderr.WriteString("inner: " + Word + " is for the attack suite itself\n")
		return 2
	}
	line := os.NewFile(lineFD, "line")
	data, err := bufio.NewReader(line).ReadBytes('\n')
	var trial Trial
	if err != nil || json.Unmarshal(data, &trial) != nil {
		return 125
	}
	a, ok := Find(trial.Attack)
	if !ok || a.Try == nil {
		return 125
	}
	unix.CloseOnExec(lineFD)
	said, err := try(a, trial)
	ans := Answer{Said: said}
	if err != nil {
		ans.Err = err.Error()
	}
	if json.NewEncoder(line).Encode(ans) != nil {
		return 125
	}
	// The end of a session hangs up its terminal, and what was typed into it is
	// lost: the host looks first.
	_, _ = io.Copy(io.Discard, line)
	return 0
}

func try(a Attack, t Trial) (said string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the attack broke: %v", p)
		}
	}()
	return a.Try(t)
}

// Ask gives a trial to the other end of a line. What it returns waits for the
// answer. The other end lives until seen, which may be nil, has returned.
func Ask(line *os.File, t Trial, seen func(Answer)) func() (Answer, error) {
	data, err := json.Marshal(t)
	if err == nil {
		_, err = line.Write(append(data, '\n'))
	}
	type reply struct {
		Answer
		error
	}
	done := make(chan reply, 1)
	go func() {
		var a Answer
		err := json.NewDecoder(io.LimitReader(line, maxSaid)).Decode(&a)
		if err != nil {
			err = errors.New("no answer")
		} else if seen != nil {
			seen(a)
		}
		// Not closed: what is read from it is in use.
		if c, cerr := line.SyscallConn(); cerr == nil {
			_ = c.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
		}
		done <- reply{a, err}
	}()
	return func() (Answer, error) {
		r := <-done
		return r.Answer, errors.Join(err, r.error)
	}
}
