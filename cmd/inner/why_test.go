package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/isolator/why"
)

// whyProfiles are the boxes that answers are compared with.
func whyProfiles() map[string]string {
	return map[string]string{
		"shell": "", "claude-one-shot": "", "guest": "", "member": "",
		"./own.toml":     "[sandbox]\nhome = \"own\"\nhome_allow = [\"~/notes\", \"~/link\"]\n[mounts]\n\"~/data\" = \"rw\"\n",
		"./minimal.toml": "[sandbox]\nbase = \"minimal\"\nhome_allow = [\"~/notes\"]\n[mounts]\n\"~/data\" = \"rw\"\n",
		"./hide.toml":    "[sandbox]\nhide = [\"*.log\", \"secret/\", \"~/notes/a\"]\n[mounts]\n\"~/data\" = \"rw\"\n",
		"./copy.toml":    "[sandbox]\nhome = \"isolated\"\n[mounts]\n\"~/data\" = \"safe-rw\"\n\"~/notes\" = \"safe-rw\"\n",
		"./keep.toml":    "[sandbox]\nhome = \"isolated\"\nworkdir_mode = \"keep\"\nkeep = [\"ro-file\", \"public\", \"AGENTS.md\"]\n",
		"./ro.toml":      "[sandbox]\nworkdir_mode = \"ro\"\nhome = \"isolated\"\nhome_allow = [\"~/notes\", \"~/link\"]\n",
	}
}

// TestWhy asks about a thousand paths, and looks at each of them in the real box.
func TestWhy(t *testing.T) {
	need(t, "bwrap", "bash", "git")
	home, app := whyHome(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	whyLinks(t, random, home, app)
	all := whyPaths(home, app)
	for name, text := range whyProfiles() {
		t.Run(strings.Trim(name, "./"), func(t *testing.T) {
			if text != "" {
				whyFile(t, filepath.Join(app, name), "schema_version = \"1\"\n"+text+"[entrypoint]\ncmd = \"bash\"\n")
			}
			var asked []string
			for _, i := range random.Perm(len(all))[:1000] {
				asked = append(asked, all[i])
			}
			asked = append(asked, "/", "/home", "/etc", "/tmp", "/var/tmp", "/run", "/etc/shadow", "/dev/null", "/dev/shm", "/run/.innerenv", home, app, app+"/.env", app+"/.git/config", app+"/.git",
				app+"/.inner", home+"/.ssh", home+"/.ssh/id_rsa", home+"/.bashrc", home+"/.inner", home+"/.inner/shims/bin", "/root", app+"/.claude", app+"/pipe", app+"/closed", app+"/closed/x", app+"/.vscode")
			table, err := withProgram(cli.Of(home, filepath.Join(home, ".inner"), version)).whyTable(name, cli.WhoFlags{})
			if err != nil {
				t.Fatal(err)
			}
			var answers []why.Answer
			var places []string // in the box
			for _, p := range asked {
				a := table.Path(p)
				answers, places = append(answers, a), append(places, cmp.Or(a.Box, p))
			}
			served := unix.Access("/dev/fuse", unix.R_OK|unix.W_OK) == nil
			wrong := 0
			list := whyLook(t, name, append(places, asked...))
			for i, a := range answers {
				seen := list[len(asked)+i]
				if strings.HasPrefix(a.Box, "/run/inner/git/") { // objects, which git reads there
					seen = list[i]
				}
				// Two answers are right of objects/info: the box's store has one as well. What is in a clone is known when it is made.
				unsure := asked[i] == app+"/.git/objects/info" || !served && strings.HasPrefix(asked[i], app+"/.git/")
				if why := seen.differs(a); why != "" && !unsure {
					t.Errorf("%s: %s, seen: %+v, answer: %s %q (%s)", asked[i], why, seen, a.Access, a.How, a.Box)
					if wrong++; wrong > 20 {
						t.Fatal("and more")
					}
				}
			}
		})
	}
}

// whySeen is what a box says of a path.
type whySeen struct {
	there, read, write, empty bool
	blocked                   bool // writing was tried, and failed
	made                      bool // nothing was there, and a file could be made
}

// differs says in what an answer is wrong.
func (s whySeen) differs(a why.Answer) string {
	write := s.write && !s.blocked // Landlock keeps the box from what test -w promises
	switch a.Access {
	case why.ReadWrite, why.ReadOnly:
		switch {
		case !s.read:
			return "it cannot be read"
		case write != (a.Access == why.ReadWrite):
			return "writing is otherwise"
		}
	case why.Hidden:
		// What holds the home is empty but for that.
		if s.read && !s.empty && !strings.HasPrefix(os.Getenv("HOME"), a.Box+"/") || write {
			return "it is not hidden"
		}
	default:
		switch {
		case s.there && !s.made:
			return "it is there"
		case a.Makes && !s.made:
			return "it cannot be made"
		}
	}
	return ""
}

// whyLook asks a real box about paths.
func whyLook(t *testing.T, profile string, paths []string) []whySeen {
	t.Helper()
	script := `while IFS= read -r -d '' p; do
		e=0 r=0 w=0 z=0 b=0 m=0
		if [ ! -e "$p" ] && [ ! -L "$p" ] && { : >"$p"; } 2>/dev/null; then m=1; rm -f "$p"; fi
		[ -e "$p" ] && e=1; [ -r "$p" ] && r=1; [ -w "$p" ] && w=1
		if [ -d "$p" ]; then [ -z "$(find "$p" -maxdepth 3 -type f -print -quit 2>/dev/null)" ] && z=1; else
			[ -s "$p" ] || z=1
			[ -f "$p" ] && [ -r "$p" ] && IFS= read -r l <"$p" && case $l in "# hidden by inner; "*) z=1 ;; esac # what a mask says
		fi
		if [ $w = 1 ]; then
			case $p/ in # git writes a file beside, and renames it
				*/.git/config/) ;;
				*/.git/*) l=$p.lock; [ -d "$p" ] && l=$p/why.lock; { if [ -d "$p" ]; then : >"$l" && rm "$l"; else cp "$p" "$l" && mv -f "$l" "$p"; fi; } 2>/dev/null || { b=1; rm -f "$l"; } 2>/dev/null; echo "$e $r $w $z $b $m"; continue ;;
			esac
			if [ -d "$p" ]; then { echo x >"$p/.why-test"; } 2>/dev/null || b=1; rm -f "$p/.why-test" 2>/dev/null
			elif [ -f "$p" ]; then { : >>"$p"; } 2>/dev/null || b=1
			elif [ -p "$p" ]; then { exec 7<>"$p"; } 2>/dev/null || b=1; fi
		fi
		echo "$e $r $w $z $b $m"
	done`
	cmd := exec.Command(filepath.Join(os.Getenv("INNER_TEST_DIR"), "bin", "inner"), "run", "-p", profile, "--entrypoint", "bash", "--no-interactive", "--", "-c", script)
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, &errs)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(paths) {
		t.Fatalf("%d answers to %d questions: %s", len(lines), len(paths), &errs)
	}
	seen := make([]whySeen, len(lines))
	for i, line := range lines {
		w := strings.Split(line, " ")
		seen[i] = whySeen{w[0] == "1", w[1] == "1", w[2] == "1", w[3] == "1", w[4] == "1", w[5] == "1"}
	}
	return seen
}

// whyHome makes a home and a project with something of every kind.
func whyHome(t *testing.T) (home, app string) {
	t.Helper()
	work, err := os.MkdirTemp(os.Getenv("INNER_TEST_DIR"), "why")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(work) })
	for _, kv := range hostEnv(work) {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	home, app = filepath.Join(work, "home"), filepath.Join(work, "home", "app")
	t.Setenv("INNER_HOME", filepath.Join(home, ".inner"))
	for _, p := range []string{
		".ssh/id_rsa", ".bashrc", ".profile", ".aws/credentials", ".netrc", "notes/a", "notes/b", "data/in/f", ".config/app/x", ".claude/settings.json", ".claude.json", "other/deep/f",
		"app/.env", "app/workspace/w", "app/memory/m.md", "app/secrets.json", "app/src/main.c", "app/src/x.log", "app/secret/k", "app/.vscode/settings.json", "app/public/a", "app/AGENTS.md", "app/node_modules/m/index.js", "app/ro-file",
	} {
		whyFile(t, filepath.Join(home, p), `{"model":"x"}`)
	}
	script := `cd "$1" && mkdir -p "$XDG_RUNTIME_DIR" && chmod 700 "$XDG_RUNTIME_DIR" && ln -s notes link && ln -s /etc/hostname app/out && ln -s ../.ssh/id_rsa app/leak && ln -s nowhere app/dangling && ln -s loop app/loop &&
		mkfifo app/pipe && mkdir app/closed && touch app/closed/x && chmod 0 app/closed && chmod 400 app/ro-file && touch app/unreadable && chmod 0 app/unreadable && cd app && git init -q . && inner init`
	if out, err := exec.Command("sh", "-c", script, "sh", home).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Chdir(app)
	return home, app
}

// whyLinks makes links from anywhere to anywhere, in the home and in the project, absolute and relative ones.
func whyLinks(t *testing.T, random *rand.Rand, home, app string) {
	t.Helper()
	dirs := []string{home, app, home + "/notes", home + "/data", home + "/other", home + "/.config", app + "/src", app + "/public"}
	names := []string{"", "/notes", "/notes/a", "/data/in", "/data/in/f", "/other/deep", "/other/deep/f", "/.config/app/x", "/.ssh/id_rsa", "/.bashrc", "/app/src", "/app/src/main.c", "/app/.env", "/nowhere", "/link", "/notes/l3", "/data/l7"}
	for i := range 60 {
		at := filepath.Join(dirs[random.IntN(len(dirs))], fmt.Sprintf("l%d", i))
		to := home + names[random.IntN(len(names))]
		if random.IntN(2) == 0 {
			to, _ = filepath.Rel(filepath.Dir(at), to)
		}
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
}

// whyPaths are paths of every kind, about a third of which are not there.
func whyPaths(home, app string) []string {
	var out []string
	most := map[string]int{"/etc": 3000, "/usr": 6000, home: 3000, app: 3000, "/var": 1000, "/opt": 500, "/dev/shm": 10}
	for root, n := range most {
		_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if n--; n < 0 {
				return filepath.SkipAll
			}
			out = append(out, p)
			if n%3 == 0 {
				out = append(out, p+"-not-there", p+"/below")
			}
			if d.Type() == fs.ModeSymlink && strings.HasPrefix(p, home) {
				below, _ := os.ReadDir(p)
				for _, child := range below {
					out = append(out, filepath.Join(p, child.Name()), filepath.Join(p, child.Name()+"-not-there"))
				}
			}
			return nil
		})
	}
	// The project and the home are few among many.
	for range 40 {
		for _, p := range out {
			if len(out) < 40000 && strings.HasPrefix(p, home) {
				out = append(out, p)
			}
		}
	}
	return out
}

func whyFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(mkdir(filepath.Dir(path)), filepath.Base(path)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
