package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// onTerminal runs a command with a fresh terminal as its controlling one and
// returns how long it took and how many bytes it showed. meanwhile, when not
// nil, is called with the process while it runs.
func (b *bench) onTerminal(dir string, args []string, meanwhile func(pid int) error) (time.Duration, int64, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return 0, 0, err
	}
	defer master.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		return 0, 0, err
	}
	cmd := b.command(dir, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	shown := make(chan int64, 1)
	var tail tailWriter
	go func() {
		n, _ := io.CopyBuffer(&tail, struct{ io.Reader }{master}, make([]byte, 256*1024)) // ends with EIO
		shown <- n
	}()
	start := time.Now()
	if err := cmd.Start(); err != nil {
		slave.Close()
		return 0, 0, err
	}
	slave.Close()
	if meanwhile != nil {
		err = meanwhile(cmd.Process.Pid)
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		<-shown
		return 0, 0, err
	}
	err = cmd.Wait()
	took := time.Since(start)
	n := <-shown
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, tail)
	}
	return took, n, nil
}

// tailWriter keeps the last bytes written to it.
type tailWriter []byte

func (t *tailWriter) Write(p []byte) (int, error) {
	*t = append((*t)[:0], p[max(0, len(p)-1000):]...)
	return len(p), nil
}

// turns times commands on terminals, one of each in turn, runs times a round.
func (b *bench) turns(runs int, commands ...[]string) ([]series, error) {
	out := make([]series, len(commands))
	for range b.rounds {
		all := make([][]float64, len(commands))
		for range runs {
			for i, args := range commands {
				took, _, err := b.onTerminal(b.app, args, nil)
				if err != nil {
					return nil, err
				}
				all[i] = append(all[i], took.Seconds())
			}
		}
		for i := range all {
			out[i] = append(out[i], median(all[i]))
		}
	}
	return out, nil
}

func (b *bench) terminals() error {
	raw, err := b.rawBwrap("prog")
	if err != nil {
		return err
	}
	s, err := b.turns(40, raw, []string{b.inner, "run", "-p", "prog"}, []string{filepath.Join(b.shims(), "prog")})
	if err != nil {
		return err
	}
	b.rows = append(b.rows,
		row{"bwrap with the same arguments, sharing your terminal", ms(median(s[0])), "", "", ""},
		row{"`inner run`, the box has a terminal of its own", ms(median(s[1])), "that bwrap", more(s[1], s[0]), "≤ +7 ms"},
		row{"shim to running program, the box has a terminal of its own", ms(median(s[2])), "that bwrap", more(s[2], s[0]), "≤ +7 ms"},
	)
	return nil
}

// throughput sends a big file to the terminal.
func (b *bench) throughput() error {
	const size = 64 << 20
	line := strings.Repeat("0123456789abcdef", 6) + "\n"
	file := filepath.Join(b.app, "big")
	if err := os.WriteFile(file, []byte(strings.Repeat(line, size/len(line))), 0o600); err != nil {
		return err
	}
	commands := [][]string{{b.inner, "run", "-p", "show", "--", file}, {"script", "-qec", "cat " + file, "/dev/null"}, {"cat", file}}
	out := make([]series, len(commands))
	for range b.rounds {
		for i, args := range commands {
			took, n, err := b.onTerminal(b.app, args, nil)
			if err != nil {
				return err
			}
			if n < size*99/100 {
				return fmt.Errorf("%s showed %d bytes of %d", args[0], n, size)
			}
			out[i] = append(out[i], float64(n)/took.Seconds())
		}
	}
	mb := func(s series) string { return fmt.Sprintf("%.0f MB/s", median(s)/1e6) }
	b.rows = append(b.rows, row{
		"bytes through the box's terminal", mb(out[0]), "script(1), " + mb(out[1]) + "; plain cat, " + mb(out[2]), times(out[0].over(out[1])), "",
	})
	return nil
}

// memory looks at the processes of a box that sleeps on a terminal.
func (b *bench) memory() error {
	type proc struct {
		name           string
		rss, peak, pss int // KiB
	}
	var list []proc
	_, _, err := b.onTerminal(b.app, []string{b.inner, "run", "-p", "nap", "--", "3600"}, func(pid int) error {
		end := time.Now().Add(20 * time.Second)
		for {
			list = nil
			asleep := false
			for _, p := range family(pid) {
				name := processName(p)
				if name == "sleep" {
					asleep = true
					continue
				}
				list = append(list, proc{name, field(p, "status", "VmRSS:"), field(p, "status", "VmHWM:"), field(p, "smaps_rollup", "Pss:")})
			}
			if asleep {
				return nil
			}
			if time.Now().After(end) {
				return fmt.Errorf("the box never slept: %v", list)
			}
			time.Sleep(20 * time.Millisecond) // between two looks
		}
	})
	if err != nil {
		return err
	}
	largest, pss := 0, 0
	var parts []string
	for _, p := range list {
		largest, pss = max(largest, p.peak), pss+p.pss
		parts = append(parts, fmt.Sprintf("%s %.1f", p.name, float64(p.peak)/1024))
	}
	b.rows = append(b.rows,
		row{"peak memory of the largest process of inner while a box runs", fmt.Sprintf("%.1f MiB", float64(largest)/1024), "", "", "≤ 8 MiB"},
		row{"all processes around the program, shared pages counted once", fmt.Sprintf("%.1f MiB", float64(pss)/1024), "peaks in MiB: " + strings.Join(parts, ", "), "", ""})
	return nil
}

// family is a process and everything below it.
func family(pid int) []int {
	all := []int{pid}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		data, _ := os.ReadFile(l) // it may be gone by now
		for _, word := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(all, family(child)...)
			}
		}
	}
	return all
}

func processName(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(string(data), "\x00")
	switch {
	case len(args) > 1 && args[1] == "__box":
		return "inner inside"
	case strings.HasSuffix(args[0], "/inner"):
		return "inner outside"
	}
	return filepath.Base(args[0])
}

// field reads a number of a file of /proc/PID.
func field(pid int, file, key string) int {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if rest, ok := strings.CutPrefix(sc.Text(), key); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}
