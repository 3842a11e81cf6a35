// Command play runs a program in a pseudo-terminal and follows steps (package
// terminal), so that a dialogue can be shown where there is no terminal:
//
//	play [-record FILE] STEPS-FILE COMMAND [ARG...]
//
// It prints what the terminal shows, without escape sequences. The exit code is
// 0 only when every step came true. With -record the session is also written to
// FILE as an asciicast v2, which contrib/screenshot draws.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/enr/inner/contrib/terminal"
	"github.com/enr/inner/isolator/runlog"
)

func main() {
	record := flag.String("record", "", "write the session to `FILE` as well, as an asciicast v2")
	flag.Parse()
	if err := play(flag.Args(), *record); err != nil {
		fmt.Fprintf(os.Stderr, "\ninner: play: %v\n", err)
		os.Exit(1)
	}
}

func play(args []string, record string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: play [-record FILE] STEPS-FILE COMMAND [ARG...]")
	}
	steps, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var echo io.Writer
	if record != "" {
		f, err := os.OpenFile(record, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		c := &cast{json: json.NewEncoder(f), start: time.Now()}
		if err := c.json.Encode(runlog.Header{Version: 2, Width: 80, Height: 24, Title: "A recorded session"}); err != nil {
			return err
		}
		echo = c
	}
	t, err := terminal.StartEcho(exec.Command(args[1], args[2:]...), echo)
	if err != nil {
		return err
	}
	defer t.Close()
	err = t.Follow(string(steps), os.Getenv)
	if _, werr := io.WriteString(os.Stdout, t.Text()); err == nil {
		err = werr
	}
	return err
}

// cast writes what the terminal shows as the events of an asciicast.
type cast struct {
	json  *json.Encoder
	start time.Time
}

func (c *cast) Write(p []byte) (int, error) {
	return len(p), c.json.Encode([]any{time.Since(c.start).Seconds(), "o", string(p)})
}
