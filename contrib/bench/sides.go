package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/creack/pty"
)

// command is a command in the environment of the measurements, found in the system's folders.
func (b *bench) command(dir string, args ...string) *exec.Cmd {
	path := args[0]
	for _, d := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		if _, err := os.Stat(d + "/" + path); err == nil && !strings.Contains(args[0], "/") {
			path = d + "/" + args[0]
			break
		}
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Dir, cmd.Env = dir, append([]string{"PWD=" + dir}, b.env...)
	return cmd
}

// try runs a command and returns what it wrote.
func (b *bench) try(dir string, args ...string) (string, error) {
	cmd := b.command(dir, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return string(out), nil
}

func (b *bench) output(dir string, args ...string) string { return value(b.try(dir, args...)) }

// onTerminal runs a command with a fresh terminal as its controlling one, and returns how many bytes it showed.
func (b *bench) onTerminal(dir string, args []string) int64 {
	master, slave, err := pty.Open()
	must(err)
	defer master.Close()
	must(pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}))
	cmd := b.command(dir, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	shown := make(chan int64, 1)
	go func() {
		n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{master}, make([]byte, 256*1024)) // ends with EIO
		shown <- n
	}()
	err = cmd.Start()
	slave.Close()
	must(err)
	if err := cmd.Wait(); err != nil {
		fail("%s on a terminal: %v", strings.Join(args, " "), err)
	}
	return <-shown
}

// partner is a program that answers each line with a line.
type partner struct {
	in    io.WriteCloser
	out   *bufio.Reader
	pid   int
	close func()
}

// partner starts one, which ends with the measurements.
func (b *bench) partner(dir string, words ...string) *partner {
	cmd := b.command(dir, words...)
	p := &partner{in: value(cmd.StdinPipe()), out: bufio.NewReader(value(cmd.StdoutPipe()))}
	p.close = func() {
		_ = p.in.Close()
		_ = cmd.Wait() // it has answered
	}
	must(cmd.Start())
	p.pid = cmd.Process.Pid
	b.partners = append(b.partners, p)
	return p
}

// ask waits for the answer, a line that has something in it.
func (p *partner) ask(line, wanted string) {
	value(io.WriteString(p.in, line+"\n"))
	if answer := value(p.out.ReadString('\n')); !strings.Contains(answer, wanted) {
		fail("%q: %q", line, answer)
	}
}
