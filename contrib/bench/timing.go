package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// series are the medians of one command, one for each round, in seconds.
type series []float64

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 {
		return 0
	}
	return s[len(s)/2]
}

// over is the median of the rounds' ratios.
func (s series) over(other series) float64 {
	var r []float64
	for i := range s {
		r = append(r, s[i]/other[i])
	}
	return median(r)
}

// less is the median of the rounds' differences.
func (s series) less(other series) float64 {
	var d []float64
	for i := range s {
		d = append(d, s[i]-other[i])
	}
	return median(d)
}

func (s series) ms() string { return fmt.Sprintf("%.2f ms", median(s)*1e3) }

// beside is a row of one command beside another.
func (s series) beside(what string, other series, name, aim string) row {
	return row{what, s.ms(), name + ", " + other.ms(), fmt.Sprintf("%+.2f ms, %s", 1000*s.less(other), times(s.over(other))), aim}
}

func times(ratio float64) string {
	if ratio >= 20 {
		return fmt.Sprintf("%.0f×", ratio)
	}
	return fmt.Sprintf("%.2f×", ratio)
}

// way runs a command in a folder to its end.
type way func(dir string, args []string)

// turns times commands, one of each in turn, that many times in each round, after a few
// that are not counted.
func (b *bench) turns(runs int, in way, dir string, commands ...[]string) []series {
	out := make([]series, len(commands))
	for range b.rounds {
		all := make([][]float64, len(commands))
		for turn := range runs + 2 {
			for i, args := range commands {
				start := time.Now()
				in(dir, args)
				if turn >= 2 {
					all[i] = append(all[i], time.Since(start).Seconds())
				}
			}
		}
		for i := range all {
			out[i] = append(out[i], median(all[i]))
		}
	}
	return out
}

// plain runs a command without a terminal.
func (b *bench) plain(dir string, args []string) { b.output(dir, args...) }

// terminal runs a command with a terminal of its own.
func (b *bench) terminal(dir string, args []string) { b.onTerminal(dir, args, nil) }

// onTerminal runs a command with a fresh terminal as its controlling one and returns how
// many bytes it showed. meanwhile, when there is one, is called with the process while it runs, and ends it.
func (b *bench) onTerminal(dir string, args []string, meanwhile func(pid int)) int64 {
	master, slave, err := pty.Open()
	must(err)
	defer master.Close()
	must(pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}))
	cmd := b.command(dir, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	shown := make(chan int64, 1)
	var tail tailWriter
	go func() {
		n, _ := io.CopyBuffer(&tail, struct{ io.Reader }{master}, make([]byte, 256*1024)) // ends with EIO
		shown <- n
	}()
	err = cmd.Start()
	slave.Close()
	must(err)
	if meanwhile != nil {
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}()
		meanwhile(cmd.Process.Pid)
		return 0
	}
	err = cmd.Wait()
	n := <-shown
	if err != nil {
		fail("%s: %v\n%s", strings.Join(args, " "), err, tail)
	}
	return n
}

// tailWriter keeps the last bytes written to it.
type tailWriter []byte

func (t *tailWriter) Write(p []byte) (int, error) {
	*t = append((*t)[:0], p[max(0, len(p)-1000):]...)
	return len(p), nil
}

// partner is a program that answers each line with a line.
type partner struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (b *bench) partner(dir string, words ...string) *partner {
	p := &partner{cmd: b.command(dir, words...)}
	p.cmd.Stderr = os.Stderr
	p.in = value(p.cmd.StdinPipe())
	p.out = bufio.NewReader(value(p.cmd.StdoutPipe()))
	must(p.cmd.Start())
	return p
}

// ask returns the seconds until the answer, which has to have something in it.
func (p *partner) ask(line, wanted string) float64 {
	start := time.Now()
	value(io.WriteString(p.in, line+"\n"))
	if answer := value(p.out.ReadString('\n')); !strings.Contains(answer, wanted) {
		fail("%q: %q", line, answer)
	}
	return time.Since(start).Seconds()
}

func (p *partner) end() { must(errors.Join(p.in.Close(), p.cmd.Wait())) }
