package launch

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// openPipes makes the pipes that stand in for standard output and error where
// these are no terminals and are to be watched. Two that are one file stay
// one, so that what is written keeps its order.
func (s *session) openPipes() error {
	if !s.o.WatchAll || s.o.Watch == nil {
		return nil
	}
	for i := 1; i <= 2; i++ {
		fd := s.stdio[i]
		switch {
		case fd < 0 || s.spec.Stdio[i] != wire.FromLauncher:
			continue
		case i == 2 && s.pipes[1] >= 0 && sameFile(fd, s.stdio[1]):
			s.pipes[2] = s.pipes[1]
			continue
		}
		var pipe [2]int
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			return fmt.Errorf("pipe2: %w", err)
		}
		_ = unix.SetNonblock(pipe[0], true)
		s.pipes[i] = pipe[1]
		s.owned = append(s.owned, pipe[1])
		r, err := newRelay(&relay{master: pipe[0], out: fd, wake: s.wakeW, watch: s.o.Watch, plain: true, release: i == 1 && isPipe(fd)})
		if err != nil {
			return err
		}
		s.pumps = append(s.pumps, r)
	}
	return nil
}

// startPumps starts what copies from those pipes, once bwrap has the other ends
// and we have closed ours.
func (s *session) startPumps() {
	for _, r := range s.pumps {
		s.running++
		go r.run()
	}
}

// finish lets go of both ends of a pump, so that the program and the reader see
// each other's end.
func (r *relay) finish() {
	unix.Close(r.master)
	r.master = -1
	if r.release {
		letGo(r.out)
	}
}

func sameFile(a, b int) bool {
	var sa, sb unix.Stat_t
	return unix.Fstat(a, &sa) == nil && unix.Fstat(b, &sb) == nil && sa.Dev == sb.Dev && sa.Ino == sb.Ino
}
