package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/escape"
	"github.com/enr/inner/isolator/runlog/records"
)

func (a *app) cmdLogPlay() *cobra.Command {
	var speed float64
	c := &cobra.Command{
		Use: "play RUN", Short: "Play a recorded session",
		Long: "Play a session that was recorded ([output] record = true), in its own time. ^C ends it.\n" +
			"The terminal is shown what the program wrote: text, and of escape sequences those that draw.\n" +
			"Where standard output is no terminal the text comes at once, without escape sequences.",
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
	return a.playOn(out, f, speed)
}

// playEnd undoes what a recording may have left: the region that scrolls, colours, character sets, and a cursor or a
// screen of its own (ctlseqs of xterm: DECSC, DECSTBM, DECRC, SGR, SCS, DECTCEM, DECAWM, mode 1049).
const playEnd = "\x1b7\x1b[r\x1b8\x1b[0m\x1b(B\x1b[?25h\x1b[?7h\x1b[?1049l\r\n"

// playOn plays a recording on a terminal, in whose modes it was made: a line feed goes down alone, and what is typed
// is not shown.
func (a *app) playOn(tty *os.File, recording io.Reader, speed float64) error {
	fd := int(tty.Fd())
	was, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	now := *was
	now.Oflag &^= unix.OPOST
	now.Lflag &^= unix.ECHO | unix.ICANON
	now.Cc[unix.VSUSP] = 0 // ^Z would leave the modes to the shell
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &now); err != nil {
		return err
	}
	show := player{to: tty}
	start := time.Now()
	err = records.ReadCast(recording, func(m records.CastEvent) error {
		select {
		case <-time.After(time.Until(start.Add(time.Duration(float64(m.When) / speed)))):
		case <-ctx.Done():
			return ctx.Err()
		}
		return show.write(m.Output)
	})
	if ctx.Err() != nil {
		err = nil // somebody has had enough
	}
	_, errEnd := tty.WriteString(playEnd)
	return errors.Join(err, errEnd, unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH),
		unix.IoctlSetTermios(fd, unix.TCSETS, was))
}

// player shows text, and of sequences those that only draw: a terminal answers none of them, and none reaches the
// clipboard or stays on after playEnd.
type player struct {
	to     io.Writer
	parser escape.Parser
}

func (p *player) write(piece string) error {
	var out []byte
	p.parser.Feed([]byte(piece))
	for e := p.parser.Next(); e != escape.None; e = p.parser.Next() {
		switch {
		case e == escape.Text:
			out = append(out, bytes.Map(plain, p.parser.Raw())...)
		case e == escape.Sequence && draws(p.parser.Kind, string(p.parser.Body()), p.parser.Final):
			out = append(out, 0x1b)
			if p.parser.Kind != 0 {
				out = append(out, p.parser.Kind)
			}
			out = append(append(out, p.parser.Body()...), p.parser.Final)
		}
	}
	_, err := p.to.Write(out)
	return err
}

// plain leaves out ENQ, which asks a terminal for its answerback, and the C1 controls (ECMA-48, 8.3.44 and 5.3).
func plain(r rune) rune {
	if r == 0x05 || r >= 0x80 && r < 0xa0 {
		return -1
	}
	return r
}

// draws reports whether a sequence only draws: it moves the cursor, erases, scrolls, colours, or switches the cursor,
// wrapping or the other screen.
func draws(kind byte, body string, final byte) bool {
	private := strings.ContainsAny(body, "<=>?")
	switch {
	case kind == 0:
		return body == "" && strings.IndexByte("78DEHMc", final) >= 0 ||
			(body == "(" || body == ")") && strings.IndexByte("0B", final) >= 0
	case !private:
		return strings.IndexByte("@ABCDEFGHIJKLMPSTXZ`abdefgmrsu", final) >= 0 && !strings.ContainsAny(body, " !\"#$%&'*+,-./")
	}
	return (final == 'h' || final == 'l') && slices.Contains([]string{"?7", "?25", "?47", "?1047", "?1049"}, body)
}
