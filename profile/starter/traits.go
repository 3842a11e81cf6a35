package starter

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile/hosts"
)

// Traits is what a project is made of.
type Traits struct {
	Words []string // for people
	Allow []string // entries of network_allow
}

// marks are files that say what a project is made of, and the hosts that this takes.
func marks() []struct{ file, word, entry string } {
	return []struct{ file, word, entry string }{
		{"go.mod", "Go", "@go"},
		{"package.json", "Node", "@npm"},
		{"pyproject.toml", "Python", "@pypi"},
		{"requirements.txt", "Python", "@pypi"},
		{"setup.py", "Python", "@pypi"},
		{"Cargo.toml", "Rust", "@crates"},
		{"pom.xml", "Maven", "@maven"},
		{"build.gradle", "Gradle", "@maven"},
		{"build.gradle.kts", "Gradle", "@maven"},
	}
}

// TraitsOf looks at files of the project's root and of the folders in it, where a repository of
// several programs has them, and at its remotes.
func TraitsOf(root string) Traits {
	var t Traits
	found := filesOf(root)
	for _, k := range marks() {
		if found[k.file] {
			t.add(k.word, k.entry)
		}
	}
	for _, url := range remotes(root) {
		host, web := remoteHost(url)
		_, err := hosts.Parse(host)
		switch {
		case host == "":
		case host == "github.com", host == "gitlab.com":
			t.add("git on "+host, "@"+strings.TrimSuffix(host, ".com"))
		case web && err == nil:
			t.add("git on "+host, host)
		default:
			t.add("git on "+host, "")
		}
	}
	return t
}

func (t *Traits) add(word, entry string) {
	if !slices.Contains(t.Words, word) {
		t.Words = append(t.Words, word)
	}
	if entry != "" && !slices.Contains(t.Allow, entry) {
		t.Allow = append(t.Allow, entry)
	}
}

// remotes are the URLs in the git configuration of a project.
func remotes(root string) (urls []string) {
	data, _ := files.Read(filepath.Join(root, ".git", "config"), files.NoLinks, 1<<20) // none without a repository
	for line := range strings.Lines(string(data)) {
		if key, url, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.TrimSpace(key) == "url" {
			urls = append(urls, strings.TrimSpace(url))
		}
	}
	return urls
}

// filesOf are the names of the files in a folder and, two levels deep, in those below it that a
// person made.
func filesOf(root string) map[string]bool {
	found := map[string]bool{}
	left := 10_000 // entries: this is for a word on the screen
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		name := filepath.Base(path)
		switch {
		case path == root || err != nil:
		case !e.IsDir():
			found[name] = true
		case strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" || name == "testdata",
			strings.Count(path[len(root):], "/") > 2:
			return fs.SkipDir
		}
		return nil
	})
	return found
}

// remoteHost is the host of a remote of git, and whether it is reached by https.
func remoteHost(url string) (host string, web bool) {
	if rest, ok := strings.CutPrefix(url, "https://"); ok {
		host, _, _ = strings.Cut(rest, "/")
		return host[strings.LastIndexByte(host, '@')+1:], true
	}
	if rest, ok := strings.CutPrefix(url, "ssh://"); ok {
		url, _, _ = strings.Cut(rest, "/")
	} else if url, _, ok = strings.Cut(url, ":"); !ok || strings.Contains(url, "/") {
		return "", false
	}
	host, _, _ = strings.Cut(url[strings.LastIndexByte(url, '@')+1:], ":")
	return host, false
}
