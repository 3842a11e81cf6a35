package undo_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/review"
	"github.com/enr/inner/isolator/undo"
	"github.com/enr/inner/isolator/undo/back"
)

// What is no work of anybody, or cannot be kept, is left out and named, and nothing waits for a FIFO or reads a giant.
// What a run closed, made too large or put in the place of a file is taken back.
func TestHostile(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root can read everything")
	}
	p := project(t)
	sh(t, p.Top, `mkfifo fifo was; truncate -s 1T giant; ln -s loop loop; mkdir shut node_modules target empty sub; echo 1 >shut/in; chmod 0 shut
		echo 1 >closed; chmod 0 closed; echo 1 >node_modules/m; >Cargo.toml; echo 1 >target/t; echo 1 >grows; echo 1 >becomes
		mkdir -p folder/in sub/.git; echo 1 >folder/in/f; echo 1 >sub/.git/HEAD; echo 1 >sub/file; echo 1 >mode; d=deep; i=0
		while [ $i -lt 300 ]; do d=$d/d; i=$((i+1)); done; mkdir -p $d; echo 1 >$d/f`)
	t.Cleanup(func() { sh(t, p.Top, `chmod -R u+rwX .`) })
	before := sumShut(t, p.Top)
	s := begin(t, p, "r1")
	sh(t, p.Top, `echo 2 >folder/in/f; chmod 0 folder/in folder; truncate -s 1T grows; rm becomes; mkfifo becomes; rm giant was; mkdir -p own/.git; rm Cargo.toml; echo 2 >target/t
		rm -r deep; ln -s /etc deep; echo 2 >mode; chmod 0 mode; echo 2 >sub/file; echo 2 >sub/.git/HEAD; echo 2 >node_modules/m; chmod 711 shut; mkfifo new`)
	run, err := s.End(t.Context())
	must(t, err)
	for _, want := range []string{"giant\tis larger than 10 MiB, and is gone", "new\tis a FIFO, a socket or a device, and stays", "was\tis a FIFO, a socket or a device, and is gone", "own/.git\tis git's own, and stays"} {
		if !strings.Contains(strings.Join(run.Left, "\n"), want) {
			t.Errorf("%q is not in %q", want, run.Left)
		}
	}
	if b := takeBack(t, run); len(b.Stays) != 3 { // what is there now is kept nowhere
		t.Errorf("%q", b.Stays)
	}
	sh(t, p.Top, `[ -p becomes ]; rm becomes grows`)
	b := takeBack(t, run)
	sh(t, p.Top, `for f in target/t sub/.git/HEAD node_modules/m; do read x <$f; [ $x = 2 ]; echo 1 >$f; done; [ -p new ]; rm -r new own; truncate -s 1T giant; mkfifo was; chmod 0 shut`)
	if got := sumShut(t, p.Top); got != before {
		t.Errorf("%q\nis\n%s\nwas\n%s", b.Stays, got, before)
	}
}

func sumShut(t *testing.T, top string) string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-euc", `cd "$1"; find . -name 'd*' -path './deep/*' -o -printf '%y %m %p %l\n' 2>/dev/null | sort; find . -type f -size -9 ! -name closed 2>/dev/null | sort | xargs cat`, "sh", top).Output()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
}

// TestHelper is the process that the tests below kill.
func TestHelper(t *testing.T) {
	what, home, ok := strings.Cut(os.Getenv("INNER_UNDO_HELPER"), " ")
	if !ok {
		return // it is started by other tests
	}
	p := undo.Project{Top: filepath.Join(home, "p"), Home: filepath.Join(home, "home"), Git: "/usr/bin/git"}
	in := bufio.NewReader(os.Stdin)
	wait := func() {
		fmt.Println("ready")
		_, _ = in.ReadString('\n')
	}
	switch what {
	case "full":
		must(t, os.MkdirAll(p.Home, 0o700), unix.Mount("tmpfs", p.Home, "tmpfs", 0, "size=1m,mode=700"))
		begin(t, p, "r1").Drop()
		must(t, os.WriteFile(p.Top+"/large", random(5<<20), 0o600))
		if _, err := undo.Begin(t.Context(), p, undo.About{Run: "r2"}); err == nil || !strings.Contains(err.Error(), "Out of diskspace") {
			t.Errorf("it begins: %v", err)
		}
		must(t, os.Remove(p.Top+"/large"))
		s := begin(t, p, "r3")
		must(t, os.WriteFile(p.Top+"/large", random(5<<20), 0o600), os.Remove(p.Top+"/a"))
		if _, err := s.End(t.Context()); err == nil || !strings.Contains(err.Error(), "Out of diskspace") {
			t.Errorf("it ends: %v", err)
		}
		must(t, os.Remove(p.Top+"/large"), p.Settle(t.Context()))
		list, err := back.Runs(t.Context(), p)
		must(t, err)
		takeBack(t, back.Last(list))
		if _, err := os.Lstat(p.Top + "/a"); err != nil {
			t.Error(err)
		}
	case "begin":
		wait()
		begin(t, p, fmt.Sprint("r", os.Getpid()))
	case "end":
		s := begin(t, p, "r1")
		wait()
		_, err := s.End(t.Context())
		must(t, err)
	case "back":
		list, err := back.Runs(t.Context(), p)
		must(t, err)
		b, err := back.Of(back.Last(list), t.TempDir(), fmt.Sprint("u", os.Getpid()))
		must(t, err)
		wait()
		_, err = b.Apply(t.Context(), nil, review.Apply)
		must(t, err)
	}
}

func random(n int) []byte {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func child(what string, p undo.Project) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestHelper$")
	cmd.Env = append(os.Environ(), "INNER_UNDO_HELPER="+what+" "+filepath.Dir(p.Top))
	return cmd
}

// A full disk: the run does not begin, an end that cannot be kept is kept later.
func TestFull(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `echo 1 >a`)
	cmd := child("full", p)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// kill starts a helper, and kills it a moment after it was told to go on; change is done before.
func kill(t *testing.T, p undo.Project, what string, after time.Duration, change string) {
	t.Helper()
	cmd := child(what, p)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%s: %q", what, line)
	}
	sh(t, p.Top, change)
	fmt.Fprintln(in)
	time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
}

// A git init that was killed is done again.
func TestHalfStore(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `mkdir -p -m 700 "$1/git"; touch "$1/git/config.lock"`, p.Dir())
	begin(t, p, "r1").Drop()
}

// Whenever a begin, an end or an undo is killed, nothing is lost: what follows makes up for it.
func TestKill9(t *testing.T) {
	for i := range 12 {
		after := time.Duration(i) * 5 * time.Millisecond
		p := project(t)
		sh(t, p.Top, `for i in 1 2 3 4 5 6 7 8 9 10 11 12; do mkdir d$i; echo $i >d$i/f; done`)
		kill(t, p, "begin", after, "true")
		before := sum(t, p.Top)
		kill(t, p, "end", after, `for i in 1 2 3 4 5 6 7 8; do echo new $i >d$i/f; echo $i >new$i; done; rm -r d9 d10`)
		must(t, p.Settle(t.Context()))
		if list, err := back.Runs(t.Context(), p); err != nil || back.Last(list) == nil {
			t.Fatal(after, list, err)
		}
		kill(t, p, "back", after/2, "true")
		list, err := back.Runs(t.Context(), p)
		must(t, err)
		if r := back.Last(list); r != nil {
			takeBack(t, r)
		}
		if got := sum(t, p.Top); got != before {
			t.Fatalf("%v: is\n%s\nwas\n%s", after, got, before)
		}
	}
}
