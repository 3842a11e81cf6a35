package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/runlog/records"
)

func (a *app) cmdLogPlay() *cobra.Command {
	var speed float64
	c := &cobra.Command{
		Use: "play RUN", Short: "Play a recorded session",
		Long: "Play a session that was recorded ([output] record = true), in its own time. q or ^C ends\n" +
			"it. The terminal is shown what the program wrote, escape sequences included; what it\n" +
			"answers to them is thrown away, and what they leave on is switched off; the clipboard is\n" +
			"neither written nor read. Where standard output is no terminal the text comes at once,\n" +
			"without escape sequences.",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if !(speed > 0 && speed <= 1000) {
				return cli.Usagef("--speed %v is not between 0 and 1000", speed)
			}
			r, err := a.findRun(args[0])
			if err != nil {
				return err
			}
			return a.play(r, speed)
		},
	}
	c.Flags().Float64Var(&speed, "speed", 1, "play `N` times as fast")
	return c
}

func (a *app) play(r records.Record, speed float64) error {
	f, recording, err := r.Output()
	if err == nil {
		defer f.Close()
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !recording {
		return fault.Refuse(1, "set record = true under [output]; inner log show "+r.ID, "run %s was not recorded", r.ID)
	}
	if err != nil {
		return err
	}
	out, ok := tell.FileOf(a.Out)
	if !ok || !caller.IsTerminal(out) {
		return a.showOutput(r)
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return a.showOutput(r) // nobody could take the terminal's answers
	}
	defer tty.Close()
	return a.playOn(tty, f, speed)
}

// errStopped ends a playback that somebody has had enough of.
var errStopped = errors.New("stopped")

// playOn plays a recording on a terminal. What the terminal answers to the
// recorded queries would otherwise be typed into the shell.
func (a *app) playOn(tty *os.File, recording io.Reader, speed float64) error {
	fd := int(tty.Fd())
	saved, err := term.MakeRaw(fd)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	input := make(chan []byte)
	go func() {
		defer close(input)
		for {
			buf := make([]byte, 256)
			n, err := tty.Read(buf)
			if err != nil {
				return
			}
			input <- buf[:n]
		}
	}()

	var left launch.Leftover
	show := launch.NoClipboard(io.MultiWriter(tty, &left))
	start := time.Now()
	err = records.ReadCast(recording, func(m records.CastEvent) error {
		if err := waitUntil(ctx, start.Add(time.Duration(float64(m.When)/speed)), input); err != nil {
			return err
		}
		_, err := io.WriteString(show, m.Output)
		return err
	})
	if errors.Is(err, errStopped) {
		err = nil
	}
	_, _ = tty.Write(left.Resets())
	_, _ = tty.WriteString("\r\n")
	swallow(tty, input)
	_ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH)
	return errors.Join(err, term.Restore(fd, saved))
}

// waitUntil waits for the time of an event; errStopped says that somebody ended the playback.
func waitUntil(ctx context.Context, at time.Time, input <-chan []byte) error {
	for wait := time.Until(at); wait > 0; wait = time.Until(at) {
		select {
		case <-time.After(wait):
		case p, ok := <-input:
			if !ok || string(p) == "q" || bytes.IndexByte(p, 0x03) >= 0 {
				return errStopped
			}
		case <-ctx.Done():
			return errStopped
		}
	}
	return nil
}

// swallow throws away the terminal's answers that are still on their way.
// Terminals answer in order: the one to DSR comes after all others.
func swallow(tty io.Writer, input <-chan []byte) {
	_, _ = io.WriteString(tty, "\x1b[5n")
	quiet, end := 500*time.Millisecond, time.Now().Add(2*time.Second)
	var tail []byte
	for time.Now().Before(end) {
		select {
		case <-time.After(quiet):
			return
		case p, ok := <-input:
			if !ok {
				return
			}
			tail = append(tail, p...)
			if bytes.Contains(tail, []byte("\x1b[0n")) {
				quiet = 50 * time.Millisecond // a recorded query may have asked for that one
			}
			tail = tail[max(0, len(tail)-3):]
		}
	}
}
