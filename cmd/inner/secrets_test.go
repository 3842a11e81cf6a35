package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/sensitive"
)

// plant is one secret: where the table lists it, and the word that gives it
// away.
type plant struct{ key, path, word string }

// plantTable puts a secret at every place of the home and the project that the
// table of resources lists. Sockets are asked by the escape suite.
func plantTable(p *person) []plant {
	p.t.Helper()
	var out []plant
	names := strings.NewReplacer("**/", "a/b/", "*", "x", "?", "y")
	for _, r := range sensitive.Resources() {
		if r.Kind == "socket" {
			continue
		}
		// Of each row some: what is asked is asked of the rows, and a home with two thousand
		// secrets is nobody's.
		for i, listed := range r.Paths {
			if i >= 8 && i < len(r.Paths)-4 {
				continue
			}
			name, ok := strings.CutPrefix(listed, "~/")
			if !ok {
				if name, ok = strings.CutPrefix(listed, "PROJECT/"); !ok {
					continue // the system's
				}
				name = "app/" + name
			}
			name = names.Replace(name)
			at := filepath.Join(p.home, name)
			word := fmt.Sprintf("PLANTED-%d-", len(out))
			text := r.Holds + `{"secret":"` + word + `"}`
			if fi, err := os.Stat(at); r.Kind == "dir" && err != nil && !strings.Contains(filepath.Base(at)[1:], ".") || err == nil && fi.IsDir() {
				p.write(name+"/secret", text)
				p.write(name+"/deep/er/secret", text)
			} else {
				p.write(name, text)
			}
			out = append(out, plant{r.Key, at, word})
		}
	}
	return out
}

// dotfiles moves what lies at the top of the home into a folder, as people do
// who keep it in a repository, and leaves links.
func dotfiles(p *person) {
	p.t.Helper()
	list, err := os.ReadDir(p.home)
	if err != nil {
		p.t.Fatal(err)
	}
	to := mkdir(filepath.Join(p.home, "dots"))
	for i, e := range list {
		if e.Name() == "app" || e.Name() == ".inner" {
			continue
		}
		target := filepath.Join(to, "dot"+e.Name())
		link := target
		if i%2 == 0 {
			link = filepath.Join("dots", filepath.Base(target))
		}
		if err := os.Rename(filepath.Join(p.home, e.Name()), target); err != nil {
			p.t.Fatal(err)
		}
		if err := os.Symlink(link, filepath.Join(p.home, e.Name())); err != nil {
			p.t.Fatal(err)
		}
	}
}

// otherNames gives each secret a link in the project.
func otherNames(p *person, plants []plant) {
	p.t.Helper()
	links := mkdir(filepath.Join(p.app, "links"))
	for i, x := range plants {
		if err := os.Symlink(x.path, filepath.Join(links, fmt.Sprint(i))); err != nil {
			p.t.Fatal(err)
		}
	}
}

// readEverything reads what there is to read, by every name, and returns the
// secrets seen.
func readEverything(p *person, profile string) map[string]bool {
	p.t.Helper()
	return readBy(p, profile, `
find -L "$HOME" /tmp /var/tmp /run /dev/shm "/proc/self/root$HOME" "/proc/1/root$HOME" -type f ! -path '/run/inner/*' -exec cat {} + 2>/dev/null
cd /proc/1/cwd; find -L ".$HOME" -type f -exec cat {} + 2>/dev/null
set +f; cat ~/.[!.]* ~/.config/* ~/app/*/* 2>/dev/null`)
}

// readBy runs a script in a box and returns the secrets it printed.
func readBy(p *person, profile, script string) map[string]bool {
	p.t.Helper()
	out := p.run("env", "-C", p.app, "inner", "run", "-p", profile, "-w", p.app, "--no-interactive", "--entrypoint", "bash", "--", "-c", script+"\necho IS-DONE")
	if !strings.Contains(out, "IS-DONE") {
		p.t.Fatalf("profile %s: the reader did not end", profile)
	}
	seen := map[string]bool{}
	for _, word := range regexp.MustCompile(`PLANTED-[0-9]+-`).FindAllString(out, -1) {
		seen[word] = true
	}
	return seen
}

// TestPlantedSecrets: what the table lists is planted, and none of it is read in
// a box; with a key of allow, what belongs to that key is.
func TestPlantedSecrets(t *testing.T) {
	need(t, "bwrap", "bash", "find", "git")
	for _, home := range []string{"plain", "dotfiles"} {
		t.Run(home, func(t *testing.T) {
			p := newPerson(t)
			p.run("inner", "init")
			p.run("git", "init", "-q", p.app)
			plants := plantTable(p)
			otherNames(p, plants)
			if home == "dotfiles" {
				dotfiles(p)
			}
			if len(plants) < 250 {
				t.Errorf("only %d secrets are planted", len(plants))
			}
			for _, profile := range []string{"shell", "claude-one-shot", "gemini-one-shot"} {
				seen := readEverything(p, profile)
				for _, x := range plants {
					// What a capability is there for: a copy of the agent's own state.
					agent, _, _ := strings.Cut(profile, "-")
					if strings.HasPrefix(x.path, filepath.Join(p.home, "."+agent)) {
						continue
					}
					if seen[x.word] {
						t.Errorf("%s: %s (%s) was read", profile, x.path, x.key)
					}
				}
			}
		})
	}
	t.Run("allow", func(t *testing.T) {
		p := newPerson(t)
		p.run("inner", "init")
		plants := plantTable(p)
		byKey := map[string][]plant{}
		for _, x := range plants {
			byKey[x.key] = append(byKey[x.key], x)
		}
		for _, key := range slices.Sorted(maps.Keys(byKey)) {
			text := "schema_version = \"1\"\nextends = \"shell\"\n[sandbox]\nallow = [\"" + key + "\"]\n"
			seen := readBy(p, p.write(".inner/profiles/allows.toml", text), `find "$HOME" -type f -exec cat {} + 2>/dev/null`)
			for _, x := range plants {
				want := x.key == key && !hiddenByAnother(x, plants) || isPart(x.key) && under(x, byKey[key])
				if seen[x.word] != want {
					t.Errorf("allow = [%q]: %s (%s): read: %v", key, x.path, x.key, seen[x.word])
				}
			}
		}
	})
}

// isPart reports whether a key shows a part of what another one hides.
func isPart(key string) bool {
	return slices.ContainsFunc(sensitive.Resources(), func(r sensitive.Resource) bool { return r.Key == key && r.Part })
}

// hiddenByAnother reports whether the secret also lies in what another key
// stands for: that one hides it.
func hiddenByAnother(x plant, plants []plant) bool {
	return !isPart(x.key) && under(x, slices.DeleteFunc(slices.Clone(plants), func(o plant) bool { return o.key == x.key }))
}

// under reports whether the secret is one of those, or lies in one.
func under(x plant, plants []plant) bool {
	return slices.ContainsFunc(plants, func(o plant) bool { return o.path == x.path || strings.HasPrefix(x.path, o.path+"/") })
}
