package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/enr/inner/internal/files"
)

// TestGitKills kills a run at random moments: inner itself, the box, the whole process group, or the server of its
// repository. Each time the host's repository is whole at once, with every commit that the box was told is made, and
// after the next call of inner no lock is left. 200 times with INNER_TEST_GIT, a dozen without.
func TestGitKills(t *testing.T) {
	need(t, "bwrap", "git")
	times := 12
	if os.Getenv("INNER_TEST_GIT") != "" {
		times = 200
	}
	k := newKills(t)
	start, end := k.measure()
	hit := map[string]int{}
	missed := func() bool { return hit["start"] == 0 || hit["between"] == 0 || hit["end"] == 0 }
	runs := 0
	for i := 0; i < times || i < 5*times && missed(); i++ { // a busy machine moves the moments
		runs++
		moment := []string{"start", "between", "end"}[i%3]
		victim := []string{"inner", "box", "group", "server"}[rand.IntN(4)]
		was, killed := k.one(i, moment, victim, start, end)
		if killed {
			hit[was+" "+victim]++
			hit[was]++
		}
		k.afterwards(i, was+", "+victim)
		if t.Failed() {
			break
		}
	}
	t.Logf("start takes %v, the end %v; %d runs, killed in: %v; %s commits were made in them, and the next call of inner had to be repeated %d times at most",
		start.Round(time.Millisecond), end.Round(time.Millisecond), runs, hit, strings.TrimSpace(k.run("sh", "-c", `wc -l <"$1/made"`, "sh", k.app)), k.tries-1)
	for _, moment := range []string{"start", "between", "end"} {
		if hit[moment] == 0 && !t.Failed() {
			t.Errorf("nothing was killed in its %s", moment)
		}
	}
}

type kills struct {
	*person
	profile string
	tries   int // the most calls of inner that one crash needed
}

func newKills(t *testing.T) *kills {
	k := &kills{person: newPerson(t)}
	k.profile = k.write("box.toml", `schema_version = "1"
name = "box"
[sandbox]
network = false
home = "isolated"
home_allow = ["~/.gitconfig"]
allow = ["project-config"]
[entrypoint]
cmd = "sh"
[env]
inherit = ["PATH", "HOME", "LANG"]
`)
	for _, kv := range []string{"user.name P", "user.email p@example.org", "init.defaultBranch main", "gc.auto 0", "maintenance.auto false"} {
		key, v, _ := strings.Cut(kv, " ")
		k.run("git", "config", "--global", key, v)
	}
	k.run("inner", "init")
	k.run("sh", "-c", "cd "+k.app+" && git init -q && echo one >a && printf 'made\nstarted\nended\n' >.gitignore && git add . && git commit -qm first && git pack-refs --all")
	return k
}

// script commits twice; it has a branch of its own and removes that of the run before.
func (k *kills) script(i int) string {
	return fmt.Sprintf(`touch started; : kills-%[1]d-end
made() { git rev-parse HEAD >>made; }
echo %[1]d >>a && git commit -qam %[1]d.1 && made; git branch b%[1]d; git branch -qD b%[2]d 2>/dev/null
echo %[1]d >>a && git commit -qam %[1]d.2 && made; git tag -f last >/dev/null 2>&1; git pack-refs --all
touch ended`, i, i-1)
}

func (k *kills) begin(i int) *exec.Cmd {
	for _, name := range []string{"started", "ended"} {
		_ = os.Remove(filepath.Join(k.app, name))
	}
	path, err := lookPath("inner", k.getenv("PATH"))
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command(path, "run", "-p", k.profile, "-w", k.app, "--", "-c", k.script(i))
	cmd.Env, cmd.Dir = k.env, k.home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	return cmd
}

func (k *kills) there(name string) bool { return files.Exists(filepath.Join(k.app, name)) }

// until waits for something for ten seconds, looking all the time.
func until(done func() bool) bool {
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(300 * time.Microsecond) {
		if done() {
			return true
		}
	}
	return false
}

// measure runs to the end once: how long start and end last.
func (k *kills) measure() (start, end time.Duration) {
	begun := time.Now()
	cmd := k.begin(1_000_000)
	if !until(func() bool { return k.there("started") }) {
		k.t.Fatal("it does not start")
	}
	start = time.Since(begun)
	if !until(func() bool { return k.there("ended") }) {
		k.t.Fatal("it does not end")
	}
	ended := time.Now()
	if err := cmd.Wait(); err != nil {
		k.t.Fatal(err)
	}
	end = time.Since(ended)
	if out := k.run("sh", "-c", `cd "$1" && wc -l <made`, "sh", k.app); out != "2\n" {
		k.t.Fatalf("%s commits were made", out)
	}
	return start, end
}

// one begins a run and kills a victim at a moment. It reports in what it was by then, and whether the victim
// was still there.
func (k *kills) one(i int, moment, victim string, start, end time.Duration) (was string, killed bool) {
	cmd := k.begin(i)
	done := make(chan struct{})
	ended := func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	go func() { _ = cmd.Wait(); close(done) }()
	switch moment {
	case "start":
		time.Sleep(time.Duration(rand.Int64N(int64(start))))
	case "between":
		until(func() bool { return ended() || k.there("started") })
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
	case "end":
		until(func() bool { return ended() || k.there("ended") })
		time.Sleep(time.Duration(rand.Int64N(int64(end))))
	}
	pid := map[string]func() int{
		"inner": func() int { return cmd.Process.Pid }, "group": func() int { return -cmd.Process.Pid },
		"box":    func() int { return childOf(cmd.Process.Pid, "bwrap") },
		"server": func() int { return childOf(cmd.Process.Pid, "exe") },
	}[victim]()
	if pid != 0 && !ended() {
		killed = syscall.Kill(pid, syscall.SIGKILL) == nil
	}
	switch {
	case !k.there("started"):
		was = "start"
	case k.there("ended"):
		was = "end"
	default:
		was = "between"
	}
	<-done
	if !until(func() bool { return !runsWith(fmt.Sprintf("kills-%d-end", i)) }) {
		k.t.Fatalf("%d: the box outlives inner", i)
	}
	return was, killed
}

// childOf returns a child of a process by the name of its program, 0 when there is none.
func childOf(parent int, name string) int {
	list, _ := os.ReadDir("/proc")
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid <= parent {
			continue
		}
		data, _ := os.ReadFile("/proc/" + e.Name() + "/stat") // PID (NAME) STATE PPID
		if rest, ok := strings.CutPrefix(string(data), e.Name()+" ("+name+") "); ok {
			if f := strings.Fields(rest); f[0] != "Z" && f[1] == strconv.Itoa(parent) {
				return pid
			}
		}
	}
	return 0
}

// runsWith reports whether a process has a text in its arguments.
func runsWith(text string) bool {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(list, func(p string) bool {
		data, _ := os.ReadFile(p)
		return strings.Contains(string(data), text)
	})
}

// afterwards looks at the host's repository, calls inner, and looks again.
func (k *kills) afterwards(i int, what string) {
	k.t.Helper()
	fsck := func() {
		if out, code := k.try("git", "-C", k.app, "fsck", "--strict", "--no-dangling"); code != 0 || strings.Contains(strings.ReplaceAll(out, "notice:", ""), "error") {
			k.t.Errorf("%d, killed in %s: git fsck: %s", i, what, out)
		}
	}
	fsck()
	missing := func() string {
		return k.run("sh", "-c", `cd "$1" && git rev-list --all >../all && grep -vxFf ../all made || :`, "sh", k.app)
	}
	if ids := missing(); ids != "" {
		k.t.Errorf("%d, killed in %s: commits that are not there: %s", i, what, ids)
	}
	locks := ""
	for try := 1; try < 100; try++ {
		k.tries = max(k.tries, try)
		k.try("inner", "run", "-p", k.profile, "-w", k.app, "--", "-c", "true")
		if locks = k.run("sh", "-c", `cd "$1" && find .git -name '*.lock' -o -name '.inner-*'`, "sh", k.app); locks == "" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if ids := missing(); ids != "" {
		k.t.Errorf("%d, killed in %s: commits that are gone: %s", i, what, ids)
	}
	if locks != "" {
		k.t.Errorf("%d, killed in %s: locks: %s", i, what, locks)
	}
	fsck()
	// A git commit that is killed has not begun, has written its index, or has moved the branch and not yet its index
	// (builtin/commit.c).
	if out := k.run("sh", "-c", `cd "$1" && git status --porcelain`, "sh", k.app); !slices.Contains([]string{"", " M a\n", "M  a\n", "MM a\n"}, out) {
		k.t.Errorf("%d, killed in %s: git status: %s", i, what, out)
	}
}
