package main

// Git does in a box what it does outside: each story of testdata/twins is played twice,
// once with all hands outside and no inner, once with boxes of the built-in profile of
// Claude Code that stay open from the first step to the last. After each step what git
// printed is compared, and at the end all that it knows of the repository (state.sh).
// All begin with the repository of base.sh. A line of a story is one of:
//
//	# TEXT                    a comment
//	setup: LINE               shell, outside, before anybody opens a box
//	in: DIR                   the hands work in this folder of the home, not in app
//	out: LINE                 a step of the person outside
//	box: LINE  box2: LINE     a step in a box, or in another one
//	without: LINE -- REASON   what the plain twin types in place of the step above
//	differs: RE -- REASON     lines that may differ in what the step above printed
//	end: RE -- REASON         lines that may differ at the end
//
// A step that ends in " &" and the one after it are typed at the same moment: what they
// print is not compared. Expressions match whole lines, in which the home is "~".

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const twinsFolder = "testdata/twins"

type twinStory struct {
	setup []string
	dir   string // below the home
	steps []twinStep
	end   []*regexp.Regexp
}

type twinStep struct {
	hand, line string
	without    string // in place of line, where nobody is in a box
	together   bool   // with the step after it
	differs    []*regexp.Regexp
}

// A twinScene is what is compared: the answer to a step, or a state.
type twinScene struct {
	title, text string
	differs     []*regexp.Regexp
}

// TestTwins plays the stories with INNER_TEST_TWINS, and without only reads them. With
// INNER_TEST_TWINS=control no side has boxes, so that what differs is the story's own fault.
// INNER_TEST_TWINS_SEED and INNER_TEST_TWINS_RANDOM are the seed and the number of those made at random.
func TestTwins(t *testing.T) {
	needServed(t)
	stories := readTwins(t)
	mode := os.Getenv("INNER_TEST_TWINS")
	if mode == "" {
		return
	}
	need(t, "bwrap", "git")
	var same, all atomic.Int32
	t.Cleanup(func() { t.Logf("%d of %d the same", same.Load(), all.Load()) })
	tell := func(t *testing.T, s *twinStory) bool {
		t.Parallel()
		all.Add(1)
		// In one folder, one after the other: commits may have its name in them. A short
		// one, for the sockets below it.
		work, err := os.MkdirTemp(os.Getenv("INNER_TEST_DIR"), "w")
		if err != nil {
			t.Fatal(err)
		}
		first := firstDifference(s.play(t, work, false), s.play(t, work, mode != "control"))
		if first == "" {
			same.Add(1)
			t.Logf("%s: same", t.Name())
			return true
		}
		t.Errorf("%s: %s", t.Name(), first)
		return false
	}
	for name, s := range stories {
		t.Run(name, func(t *testing.T) { tell(t, s) })
	}
	t.Run("random", func(t *testing.T) {
		seed := twinNumber("INNER_TEST_TWINS_SEED", 1)
		for n := range twinNumber("INNER_TEST_TWINS_RANDOM", 50) {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				s := randomTwin(uint64(seed), uint64(n))
				if !tell(t, s) {
					t.Logf("INNER_TEST_TWINS_SEED=%d\n%s", seed, s)
				}
			})
		}
	})
}

func twinNumber(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func readTwins(t *testing.T) map[string]*twinStory {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(twinsFolder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	stories := map[string]*twinStory{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := &twinStory{dir: "app"}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if err := s.read(strings.TrimSpace(line)); err != nil {
				t.Errorf("%s:%d: %v", file, n, err)
			}
		}
		if len(s.steps) == 0 || s.steps[len(s.steps)-1].together {
			t.Errorf("%s: no steps, or nothing follows the last one's \"&\"", file)
		}
		stories[strings.TrimSuffix(filepath.Base(file), ".txt")] = s
	}
	return stories
}

func (s *twinStory) read(line string) error {
	if line == "" || line[0] == '#' {
		return nil
	}
	word, text, ok := strings.Cut(line, ": ")
	if !ok {
		return fmt.Errorf("no word and colon in %q", line)
	}
	last := &twinStep{}
	if len(s.steps) > 0 {
		last = &s.steps[len(s.steps)-1]
	}
	switch word {
	case "setup":
		s.setup = append(s.setup, text)
	case "in":
		s.dir = text
	case "out", "box", "box2":
		text, together := strings.CutSuffix(text, " &")
		s.steps = append(s.steps, twinStep{hand: word, line: text, together: together})
	case "without", "differs", "end":
		text, reason, _ := strings.Cut(text, " -- ")
		if reason == "" || last.hand == "" {
			return fmt.Errorf("no reason, or no step above, in %q", line)
		}
		if word == "without" {
			last.without = text
			return nil
		}
		re, err := regexp.Compile("^(?:" + text + ")$")
		if err != nil {
			return err
		}
		if word == "end" {
			s.end = append(s.end, re)
		} else {
			last.differs = append(last.differs, re)
		}
	default:
		return fmt.Errorf("no such word: %q", word)
	}
	return nil
}

// String is the story as a file would have it.
func (s *twinStory) String() string {
	var b strings.Builder
	for _, line := range s.setup {
		fmt.Fprintf(&b, "setup: %s\n", line)
	}
	for _, step := range s.steps {
		fmt.Fprintf(&b, "%s: %s\n", step.hand, step.line)
	}
	return b.String()
}

// firstDifference is one line, or nothing where the two are the same.
func firstDifference(plain, boxed []twinScene) string {
	for i, want := range plain {
		if i >= len(boxed) {
			return want.title + ": not reached"
		}
		wanted, got := want.lines(), boxed[i].lines()
		for n := range max(len(wanted), len(got)) {
			var w, g string
			if n < len(wanted) {
				w = wanted[n]
			}
			if n < len(got) {
				g = got[n]
			}
			if w != g {
				return fmt.Sprintf("%s: %q is %q in the box", want.title, w, g)
			}
		}
	}
	return ""
}

var sparseSentence = regexp.MustCompile(`1 You are in a sparse checkout with \d+% of tracked files present\.\n(1 \n)?`)

// lines are those that count.
func (s twinScene) lines() []string {
	text := sparseSentence.ReplaceAllString(s.text, "") // allowed in each story
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return slices.ContainsFunc(s.differs, func(re *regexp.Regexp) bool { return re.MatchString(line) })
	})
}

// play plays the story in a home in a folder, which it removes.
func (s *twinStory) play(t *testing.T, work string, boxed bool) []twinScene {
	t.Helper()
	p := personIn(t, work)
	defer removeAll(work)
	p.app = filepath.Join(p.home, s.dir)
	s.prepare(p, boxed)

	hands := map[string]*twinHand{}
	defer func() {
		for _, h := range hands {
			h.close()
		}
	}()
	for _, step := range s.steps { // all are there from the first step on
		if hands[step.hand] == nil {
			h := openHand(t, p, boxed && step.hand != "out")
			hands[step.hand] = h
			h.type_(":")
			if text, ok := h.answer(); !ok {
				t.Fatalf("%s does not start: %s", step.hand, text)
			}
		}
	}
	var scenes []twinScene
	record := func(title, text string, differs []*regexp.Regexp) {
		scenes = append(scenes, twinScene{title, strings.ReplaceAll(text, p.home, "~"), differs})
	}
	for n, end := 0, 0; n < len(s.steps); n = end {
		if boxed && n > 0 && s.steps[n].hand != s.steps[n-1].hand {
			time.Sleep(twinSettle)
		}
		for end = n + 1; s.steps[end-1].together; {
			end++
		}
		group := s.steps[n:end]
		for _, step := range group {
			hands[step.hand].type_(twinDates(n+1) + "; " + step.typed(boxed))
		}
		for _, step := range group {
			text, ok := hands[step.hand].answer()
			if len(group) > 1 && ok {
				text = ""
			}
			record(fmt.Sprintf("step %d, %s: %s", n+1, step.hand, step.line), text, step.differs)
			if !ok {
				return scenes
			}
		}
	}
	state := func(title, boxes string) {
		record(title, p.run("bash", filepath.Join(p.home, "state.sh"), p.app, boxes), s.end)
	}
	if boxed {
		time.Sleep(twinSettle)
	}
	state("at the end", "open")
	for _, h := range hands {
		h.close()
	}
	state("when the boxes have ended", "ended")
	return scenes
}

// twinSettle is how much later the other hands may see what one has done. Not a wait for
// something: nobody may have to wait longer.
const twinSettle = 100 * time.Millisecond

// typed is the step's line. In the control nobody is in a box, on either side.
func (step *twinStep) typed(boxed bool) string {
	if step.without != "" && !boxed {
		return step.without
	}
	return step.line
}

// twinDates gives each step a minute of its own, so that equal commits have equal names. They
// are later than today: gc removes what old logs alone name.
func twinDates(step int) string {
	date := fmt.Sprintf("'%d +0000'", 2_000_000_000+60*step)
	return "export GIT_AUTHOR_DATE=" + date + " GIT_COMMITTER_DATE=" + date
}

// prepare makes the repository, and what a person does once before boxes are opened.
func (s *twinStory) prepare(p *person, boxed bool) {
	p.t.Helper()
	var text []byte
	for _, name := range []string{"hand.sh", "state.sh", "base.sh"} {
		var err error
		if text, err = os.ReadFile(filepath.Join(twinsFolder, name)); err != nil {
			p.t.Fatal(err)
		}
		p.write(name, string(text))
	}
	p.write(".gitconfig", "[user]\nname = P\nemail = p@example.org\n[init]\ndefaultBranch = main\n[core]\neditor = true\n")
	p.write(".config/git/ignore", ".inner/\n")
	mkdir(filepath.Join(p.home, "remote"))
	p.run("bash", "-c", twinDates(0)+"\ncd ~/app\n"+string(text)+strings.Join(s.setup, "\n"))
	if !boxed {
		return
	}
	p.run("bash", "-c", `cd "$1" && inner init claude --yes && printf '[mounts]\n"~/remote" = "rw"\n' >>.inner/profiles/claude.toml && inner allow --yes`, "bash", p.app)
}

// A twinHand is a shell that stays open, in a box or not.
type twinHand struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string // what it answers; closed with its output
	errors *strings.Builder
	ended  bool
}

func openHand(t *testing.T, p *person, boxed bool) *twinHand {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(twinsFolder, "hand.sh"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"bash", "-c", string(text)}
	if boxed {
		args = append([]string{"inner", "exec", "-p", "claude", "--"}, args...)
	}
	path, err := lookPath(args[0], p.getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	h := &twinHand{cmd: exec.Command(path, args[1:]...), lines: make(chan string), errors: &strings.Builder{}}
	h.cmd.Env, h.cmd.Dir, h.cmd.Stderr = append(p.env, "PWD="+p.app), p.app, h.errors
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(h.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			h.lines <- line
		}
	}()
	return h
}

func (h *twinHand) type_(line string) { _, _ = io.WriteString(h.in, line+"\n") } // a dead hand gives no answer

// answer is what a step printed, and its exit code; false when there is none.
func (h *twinHand) answer() (string, bool) {
	var b strings.Builder
	patience := time.After(time.Minute)
	for {
		select {
		case line, open := <-h.lines:
			b.WriteString(line)
			switch {
			case !open:
				h.close()
				return b.String() + "ended without an answer: " + h.errors.String(), false
			case strings.HasPrefix(line, "0 "):
				return b.String(), true
			}
		case <-patience:
			_ = h.cmd.Process.Kill()
			return b.String() + "no answer for a minute", false
		}
	}
}

// close has the shell end, and waits for it.
func (h *twinHand) close() {
	if h.ended {
		return
	}
	h.ended = true
	h.in.Close()
	kill := time.AfterFunc(time.Minute, func() { _ = h.cmd.Process.Kill() })
	defer kill.Stop()
	for range h.lines { // until its output is closed
	}
	_ = h.cmd.Wait()
}
