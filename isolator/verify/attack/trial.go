package attack

import (
	"bytes"
	"cmp"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/session"
)

// Suite is what the attacks of one profile have in common.
type Suite struct {
	Base           string // the folder of fixtures
	Build          string
	Inner, Profile string               // paths
	Parts          Parts                // of the profile
	Furnish        func(*Fixture) error // makes what the profile mounts
}

// Parts are what a profile makes writable of a working folder that is read-only otherwise.
// In a fixture they exist: of keep, names with an extension are files, and others folders.
type Parts struct {
	Zones []string // of sandbox.writable
	Keep  []string // of sandbox.keep
}

func (p Parts) named(otherwise string, file bool) string {
	i := slices.IndexFunc(p.Keep, func(name string) bool { return strings.Contains(strings.TrimLeft(name, "."), ".") == file })
	if i < 0 {
		return otherwise
	}
	return p.Keep[i]
}

// Fixture is where one attack takes place: a private folder with the home of the attacked and
// the project in it.
type Fixture struct{ Dir, Home, App string }

const fixturePrefix = "a."

// MaxBase is how long the path of the folder of fixtures may be: the name of a
// socket holds 107 bytes (unix(7)), and the deepest lies in the project.
const MaxBase = 107 - len("/"+fixturePrefix+"01234567/h/app/server.sock")

// Sweep removes what a killed suite left in base.
func Sweep(base string) {
	list, _ := filepath.Glob(filepath.Join(base, fixturePrefix+"*")) // the pattern is well-formed
	for _, p := range list {
		if fi, err := os.Lstat(p); err == nil && fi.IsDir() && time.Since(fi.ModTime()) > time.Hour {
			_ = copytree.Remove(p)
		}
	}
}

//go:embed prelude.sh
var prelude string // allowed: embed writes only to a variable

// ending is what stands behind a script: the files that the attack was to leave its mark in.
const ending = `
[ ! -e "$D/watched" ] || while read -r f; do ! grep -qs "$M" "$f" || leaked "$f was written"; done <"$D/watched"
`

// trial is one attack in one fixture.
type trial struct {
	*Suite
	Attack
	Fixture
	secret, mark string

	mu    sync.Mutex
	said  bytes.Buffer  // what the attack and the box said
	shown bytes.Buffer  // by the terminal, if there is one; this goroutine has it until it has ended
	asked chan struct{} // closed when it asks to be typed to
}

// Try makes an attack, bare or in a box, and returns what it got, or nothing. An error says that it
// could not be made; that of a box which is refused here is a *fault.Refusal.
func (s *Suite) Try(a Attack, bare bool) (leak string, err error) {
	t := &trial{Suite: s, Attack: a, secret: "secret-" + rand.Text(), mark: "mark-" + rand.Text(), asked: make(chan struct{})}
	t.Dir = filepath.Join(s.Base, fixturePrefix+rand.Text()[:8])
	t.Home, t.App = filepath.Join(t.Dir, "h"), filepath.Join(t.Dir, "h/app")
	if err := os.Mkdir(t.Dir, 0o700); err != nil {
		return "", err
	}
	defer t.remove()
	if err := os.MkdirAll(t.App, 0o700); err != nil {
		return "", err
	}
	if err := s.Furnish(&t.Fixture); err != nil {
		return "", err
	}
	err = t.run(bare)
	leak, err = t.judge(err)
	if bare && leak == "" && err == nil {
		err = errors.New(last(strings.TrimSuffix(strings.TrimSpace(t.said.String()), "was run")))
	}
	return leak, err
}

// remove takes everything away, also what lies elsewhere.
func (t *trial) remove() {
	temps, _ := os.ReadFile(filepath.Join(t.Dir, "temps")) // mostly there are none
	for _, p := range append(strings.Fields(string(temps)), t.Dir) {
		_ = copytree.Remove(p)
	}
}

// script is the whole attack as one script.
func (t *trial) script(self string, bare bool) string {
	var b strings.Builder
	set := func(name, value string) { fmt.Fprintf(&b, "%s=%s\n", name, quote.POSIX(value)) }
	set("SELF", self)
	set("INNER", t.Inner)
	set("BUILD", t.Build)
	set("P", t.Profile)
	set("D", t.Dir)
	set("H", t.Home)
	set("A", t.App)
	set("M", t.mark)
	set("SECRET", t.secret)
	set("BARE", map[bool]string{true: "bare"}[bare])
	set("Z", cmp.Or(append(slices.Clone(t.Parts.Zones), "public")...))
	set("K", t.Parts.named("node_modules", false))
	set("F", t.Parts.named("package.json", true))
	set("LAST", session.LastFile)
	set("TRY", t.Attack.Try)
	b.WriteString(prelude + t.Stage + "\nset +e\numask \"$u\"\ncd \"$A\"\n" + t.Host + "\n" + t.After + ending)
	return b.String()
}

// trialTime is how long one attack may take.
const trialTime = time.Minute

// boxEnds is how long a box may go on that outlives the script: one that was stopped in the background goes on
// when the leader of its session has ended.
const boxEnds = 15 * time.Second

func (t *trial) run(bare bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// A file, and not a word: the attack lists all command lines.
	name := filepath.Join(t.Dir, "script")
	if err := os.WriteFile(name, []byte(t.script(self, bare)), 0o600); err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", name)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = t.Home, t, t, boxEnds
	for _, kv := range os.Environ() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "HOME", "XDG_RUNTIME_DIR", "INNER_HOME":
		default:
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+t.Home, "XDG_RUNTIME_DIR="+filepath.Join(t.Dir, "run"),
		"INNER_HOME="+filepath.Join(t.Home, ".inner"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if bare && os.Geteuid() == 0 {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS // what root mounts stays its own
	}
	if t.Terminal {
		end, err := t.terminal(cmd)
		if err != nil {
			return err
		}
		defer end()
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	kill := func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) } // servers and all
	late := time.AfterFunc(trialTime, kill)
	defer late.Stop()
	err = cmd.Wait()
	for range 100 { // what was started for it takes away what it made, once the script has ended
		if unix.Kill(-cmd.Process.Pid, 0) != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	kill()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return err
}

// Write takes what is said.
func (t *trial) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said.Len() < 1<<20 {
		t.said.Write(p)
	}
	if bytes.Contains(t.said.Bytes(), []byte("is up\n")) {
		select {
		case <-t.asked:
		default:
			close(t.asked)
		}
	}
	return len(p), nil
}

// terminal gives a command a terminal that stands for the person's: it keeps what is shown, answers
// questions a little late, and is typed into when the attack says that it is up.
func (t *trial) terminal(cmd *exec.Cmd) (end func(), err error) {
	m, s, err := box.OpenPty(true)
	if err != nil {
		return nil, err
	}
	slave := os.NewFile(uintptr(s), "terminal")
	cmd.Stdin, cmd.Stdout, cmd.SysProcAttr.Setctty = slave, slave, true
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		asked := t.asked
		for buf := make([]byte, 4096); ; {
			select {
			case <-asked:
				_, _ = unix.Write(m, []byte(t.secret+"\n"))
				asked = nil
			default:
			}
			set := []unix.PollFd{{Fd: int32(m), Events: unix.POLLIN}}
			if n, err := unix.Poll(set, 50); n <= 0 || err != nil || set[0].Revents&unix.POLLIN == 0 {
				select {
				case <-stop: // and all has been shown
					return
				default:
					continue
				}
			}
			n, err := unix.Read(m, buf)
			if err != nil {
				continue
			}
			t.shown.Write(buf[:n])
			for range bytes.Count(buf[:n], []byte("\x1b[c")) {
				time.Sleep(50 * time.Millisecond)
				_, _ = unix.Write(m, []byte("\x1b[?62;22c"))
			}
		}
	}()
	return func() { close(stop); <-done; unix.Close(m); slave.Close() }, nil
}

// refusalName is the file in the fixture in which a box that does not start says why.
const refusalName = "refused"

// judge says what the attack got.
func (t *trial) judge(ended error) (leak string, err error) {
	said := t.said.String()
	found, _ := os.ReadFile(filepath.Join(t.Dir, "leak")) // mostly there is none
	leak, _, _ = strings.Cut(string(found), "\n")
	shown := strings.ReplaceAll(t.Shows, "MARK", t.mark)
	switch {
	case strings.Contains(said, t.secret):
		return "the secret was read" + where(said, t.secret), nil
	case leak != "":
		return leak, nil
	case strings.Contains(said, "allowed-"+t.mark):
		return "the kernel allowed it", nil
	case shown != "" && strings.Contains(t.shown.String(), shown):
		return "the terminal was told to change its clipboard", nil
	}
	data, err := os.ReadFile(filepath.Join(t.Dir, refusalName))
	var why fault.Refusal
	if err == nil && json.Unmarshal(data, &why) == nil {
		if why.Code == 0 {
			return "", errors.New(why.Msg)
		}
		return "", &why
	}
	if !strings.Contains(said, "was run") {
		return "", fmt.Errorf("it did not start: %s", cmp.Or(last(said), fmt.Sprint(ended)))
	}
	return "", nil
}

// last returns the last line that is not empty, of what an attack said.
func last(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// where names the lines of what was said that hold the secret.
func where(said, secret string) string {
	var out []string
	for line := range strings.SplitSeq(said, "\n") {
		if name, rest, ok := strings.Cut(line, "\t"); ok && strings.Contains(rest, secret) {
			out = append(out, name)
		}
	}
	if len(out) > 3 {
		out = append(out[:3], fmt.Sprintf("%d more", len(out)-3))
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

// Refused is how a run in a fixture says that its box does not start.
func Refused(err error) {
	why := fault.Refusal{Msg: err.Error()}
	if r := fault.AsRefusal(err); r != nil {
		why = *r
	}
	if data, err := json.Marshal(why); err == nil {
		_ = os.WriteFile(filepath.Join(os.Getenv("HOME"), "..", refusalName), data, 0o600) // else it did not start
	}
}
