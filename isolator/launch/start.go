package launch

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
)

// startable checks the words of a plan: what is executed, and that the kernel takes them whole.
func startable(p plan.Plan) error {
	if p.Container == nil && !filepath.IsAbs(p.Bwrap) {
		return fmt.Errorf("bwrap %q: not an absolute path", p.Bwrap)
	}
	if len(p.Argv) == 0 || p.Program == "" {
		return errors.New("the plan names no program")
	}
	for _, list := range [][]string{p.Words(), p.Argv, p.Env, {p.Bwrap, p.Program, p.Dir, p.DirElse}} {
		for _, w := range list {
			if strings.IndexByte(w, 0) >= 0 {
				return fmt.Errorf("argument %q: holds a NUL byte", w)
			}
		}
	}
	return nil
}

// start starts what makes the box: bwrap, a container's engine, or the first process itself. On
// error nothing is running.
//
// The order, up to [session.release]: the keyring before the fork, so that the
// box has it; descriptors close-on-exec before the fork; signals caught before
// the terminal is raw; raw before the word that lets the program start; the
// word only after the box has said that it is there.
func (s *session) start(p plan.Plan) error {
	if err := s.inbox.open(); err != nil {
		return err
	}
	fork := s.startBwrap
	if p.Container != nil {
		fork = s.startContainer
	}
	if err := fork(p); err != nil {
		return err
	}
	s.catch()
	if s.child.pidfd < 0 {
		go s.awaitChild(s.child.pid)
	}
	if s.console.full { // a program asks before its terminal has been taken
		s.o.Ask.begin(s)
	}
	return nil
}

// prepare does what comes before the fork.
func (s *session) prepare() error {
	if err := freshKeyring(); err != nil {
		return err
	}
	var err error
	if s.child.errors, err = wire.Memory(); err != nil {
		return err
	}
	if s.o.Done == nil { // else they are another program's; the first process of the box does so for its jobs
		wire.CloseOnExecFrom(3)
	}
	return nil
}

// boxWords are the words of bwrap that say what box it makes.
func boxWords(p plan.Plan) []string {
	// One processor is plenty for the first process: fewer threads to start and to
	// keep. Set by bwrap, it is in no environment that can be read.
	// That process is ours: nothing inside can trace, kill or stop it, and with it everything inside ends.
	// bwrap's own can be traced, and talked out of dying with its parent.
	words := append(append(p.Words(), "--setenv", "GOMAXPROCS", "1", "--as-pid-1"), bounding(p)...)
	if p.Map != nil {
		words = append(words, "--userns", strconv.Itoa(plan.FirstDataFD+len(p.Given())))
	}
	return words
}

// ends makes what every bwrap is started with: its descriptors, and those of the first process, by their numbers there.
// args is where it reads its words. The session has the other ends.
func (s *session) ends(args int) (files []uintptr, err error) {
	null, err := s.owned.add(wire.OpenNull())
	if err != nil {
		return nil, err
	}
	ours, sock, err := wire.Pair()
	if err != nil {
		return nil, err
	}
	s.sock, s.owned = ours, append(s.owned, sock)
	// A path descriptor is enough to execute it, and gives nothing to read.
	supervisor := cmp.Or(s.o.Supervisor, "/proc/self/exe")
	exe, err := s.owned.add(unix.Open(supervisor, unix.O_PATH|unix.O_CLOEXEC, 0))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", supervisor, err)
	}
	n := uintptr(null)
	files = []uintptr{n, n, uintptr(s.child.errors), wire.FdSocket: uintptr(sock), wire.FdExe: uintptr(exe), wire.FdArgs: uintptr(args)}
	for len(files) < plan.FirstDataFD {
		files = append(files, ^uintptr(0)) // nothing
	}
	return files, nil
}

// describe tells the first process what to do before the program.
func (s *session) describe() error {
	fd, err := wire.Seal(&s.box)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return wire.SendPatiently(s.sock, wire.Msg{Kind: wire.Make}, fd)
}

// startProgram has the box start the program.
func (s *session) startProgram() error {
	defer s.owned.close()
	null, err := s.owned.add(wire.OpenNull())
	if err != nil {
		return err
	}
	job, err := s.owned.add(wire.Seal(&s.job))
	if err != nil {
		return err
	}
	if err := s.openPipes(); err != nil {
		return err
	}
	fds := []int{job}
	for _, fd := range s.console.given {
		if fd < 0 {
			fd = null
		}
		fds = append(fds, fd)
	}
	if err := wire.SendPatiently(s.sock, wire.Msg{Kind: wire.Start, Job: wire.First}, fds...); err != nil {
		return fmt.Errorf("the box cannot be told what to run: %w", err)
	}
	return nil
}

// openPipes makes the pipes that stand in for standard output and error where
// these are no terminals and are to be watched. Two that are one file stay
// one, so that what is written keeps its order.
func (s *session) openPipes() error {
	if !s.o.WatchAll || s.o.Watch == nil {
		return nil
	}
	stdio, given := &s.console.stdio, &s.console.given
	for i := 1; i <= 2; i++ {
		switch {
		case given[i] < 0:
		case i == 2 && given[1] >= 0 && sameFile(stdio[2], stdio[1]):
			given[2] = given[1]
		default:
			var pipe [2]int
			if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
				return fmt.Errorf("pipe2: %w", err)
			}
			s.owned = append(s.owned, pipe[1])
			_ = unix.SetNonblock(pipe[0], true)
			r := &relay{master: pipe[0], out: -1, watch: s.o.Watch, plain: true, release: -1}
			s.output.pumps = append(s.output.pumps, r)
			var err error
			if r.out, err = apart(stdio[i]); err != nil {
				return err
			}
			if i == 1 && isPipe(stdio[i]) {
				r.release = stdio[i]
			}
			given[i] = pipe[1]
		}
	}
	return nil
}
