package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// maxChain is how many files one profile may build on.
const maxChain = 32

// Loader finds and loads profiles. Its methods open files and change nothing.
type Loader struct {
	Home      string   // for "~/base.toml" in extends
	GlobalDir string   // INNER_HOME/profiles
	Project   *Project // the project in force, or nil
	// Read reads the profile and what it extends; nil is ReadFile.
	Read func(path string) (File, error)
}

// NotFoundError says that no profile has that name.
type NotFoundError struct {
	Name    string
	Nearest string // what was probably meant, or ""
}

func (e *NotFoundError) Error() string {
	switch e.Nearest {
	case "":
	case e.Name: // extends of a bare word, which is a global one
		return fmt.Sprintf("no global profile is called %q (the project's own is written \"./%s.toml\")", e.Name, e.Name)
	default:
		return fmt.Sprintf("no profile is called %q (did you mean %q?)", e.Name, e.Nearest)
	}
	return fmt.Sprintf("no profile is called %q", e.Name)
}

// Find returns the file of a profile: the project's, else the global one. A
// name is never a path. When the project's folder may not be used, a profile of
// that name in it is an error and not a reason to take the global one.
func (l *Loader) Find(name string) (path string, scope Scope, err error) {
	if err := CheckName(name); err != nil {
		return "", "", err
	}
	if l.Project != nil {
		path := filepath.Join(l.Project.Dir, "profiles", name+".toml")
		ok, err := exists(path)
		switch {
		case err != nil:
			return "", "", fmt.Errorf("profile %q cannot be inspected: %w", path, err)
		case ok && l.Project.Problem != nil:
			return "", "", fmt.Errorf("profile %q is not used: %w", path, l.Project.Problem)
		case ok:
			return path, Local, nil
		}
	}
	if path, err = l.global(name); err != nil {
		return "", "", err
	}
	return path, Global, nil
}

func (l *Loader) global(name string) (string, error) {
	path := filepath.Join(l.GlobalDir, name+".toml")
	ok, err := exists(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("profile %q cannot be inspected: %w", path, err)
	case ok:
		return path, nil
	}
	return "", &NotFoundError{Name: name, Nearest: strict.Nearest(strings.TrimSuffix(name, ".toml"), l.names())}
}

// names lists what Find finds, for a hint.
func (l *Loader) names() []string {
	var files []string
	if l.Project != nil && l.Project.Problem == nil {
		local, _ := l.Project.ProfileFiles()
		files = append(files, local...)
	}
	global, _ := profileFiles(l.GlobalDir)
	files = append(files, global...)
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = stem(f)
	}
	return names
}

// GlobalFiles returns the paths of the global profiles, sorted.
func (l *Loader) GlobalFiles() ([]string, error) { return profileFiles(l.GlobalDir) }

// IsURL reports whether a word is meant as a URL: no name and no path has this.
func IsURL(word string) bool { return strings.Contains(word, "://") }

// CheckName reports why a word cannot be the name of a profile, or nil. Shells complete names, so a name
// is nothing that one would evaluate.
func CheckName(name string) error {
	odd := func(r rune) bool {
		return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", r)
	}
	switch {
	case name == "":
		return errors.New("a profile name is empty")
	case strings.ContainsFunc(name, odd):
		return fmt.Errorf("profile name %q has more than letters, digits, dots, hyphens and underscores", name)
	case name[0] == '-' || name[0] == '.':
		return fmt.Errorf("profile name %q begins with %q", name, name[0])
	case len(name) > 200:
		return fmt.Errorf("profile name %q is too long", name[:40]+"…")
	}
	return nil
}

func stem(path string) string { return strings.TrimSuffix(filepath.Base(path), ".toml") }

// Load reads a profile and every file it extends, each once, merges them and
// checks all that can be checked without the environment. The error is
// strict.Problems with every fault of all the files, or says why the profile
// itself cannot be read.
func (l *Loader) Load(path string, scope Scope) (*Profile, error) {
	file, err := l.read(path)
	if err != nil {
		return nil, err
	}
	return l.LoadBytes(file, scope)
}

func (l *Loader) read(path string) (File, error) {
	if l.Read != nil {
		return l.Read(path)
	}
	return ReadFile(path)
}

// LoadBytes is Load for a profile that was read already and need not be on this
// disk: f.Path is what the faults name, a URL for example. What it extends is
// read as ever; a Remote profile may build only on global ones, by name.
func (l *Loader) LoadBytes(f File, scope Scope) (*Profile, error) {
	p := &Profile{Name: stem(f.Path), Path: f.Path, Scope: scope, src: source{Doc: strict.NewDoc(language())}}
	if err := CheckName(p.Name); err != nil && (scope == Local || scope == Global) {
		return nil, fmt.Errorf("%q: %w", p.Path, err)
	}
	chain, problems := l.chain(p, f)
	if len(problems) > 0 {
		return nil, problems
	}
	for _, src := range slices.Backward(chain) {
		problems = append(problems, merge(&p.src, src)...)
		for _, fault := range contradictions(&p.src, src.Value("schema_version").At.File) {
			if !slices.Contains(problems, fault) {
				problems = append(problems, fault)
			}
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	p.Description, p.Experimental = p.src.Value("description").V, p.src.Value("experimental").On()
	return p, nil
}

// chain reads the files that a profile extends, the nearest first, and notes them in p behind its own.
func (l *Loader) chain(p *Profile, file File) (chain []*source, problems strict.Problems) {
	var seen []fs.FileInfo
	for {
		// The same file by whatever name, or hard link; what cannot be inspected is told when it is read.
		self, _ := os.Stat(file.Path)
		src, faults := parse(file)
		problems = append(problems, faults...)
		p.Files, chain, seen = append(p.Files, file), append(chain, src), append(seen, self)
		extends := src.Value("extends")
		path, err := l.base(extends.V, file.Path, p.Scope == Remote && len(chain) == 1)
		if err == nil && path != "" {
			self, _ := os.Stat(path)
			if first := slices.IndexFunc(seen, func(fi fs.FileInfo) bool { return os.SameFile(fi, self) }); first >= 0 {
				err = fmt.Errorf("%q extends itself: %s", path, cycle(p.Files[first:]))
			} else if len(chain) > maxChain {
				err = fmt.Errorf("%q builds on more than %d files", p.Path, maxChain)
			} else {
				file, err = l.read(path)
			}
		}
		problems.Judge(extends.At, "extends", err)
		if err != nil || path == "" {
			return chain, problems
		}
	}
}

// cycle shows the files between the two mentions of one file.
func cycle(files []File) string {
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f.Path))
	}
	return strings.Join(append(names, names[0]), " → ")
}

// base returns the file that extends names, "" when there is none. A bare word
// is a global profile; anything with a slash or a ~ is a file, relative to the
// one that says so. A downloaded profile names no file.
func (l *Loader) base(extends, from string, downloaded bool) (string, error) {
	switch {
	case downloaded && strings.ContainsAny(extends, "/~"):
		return "", fmt.Errorf("%q is a file: a remote profile extends only profiles of your own, by name", extends)
	case extends == "":
		return "", nil
	case IsURL(extends):
		return "", fmt.Errorf("%q is a URL: extends takes the name of a profile, or a file (inner profile install fetches one)", extends)
	case strings.HasPrefix(extends, "~/"):
		if !filepath.IsAbs(l.Home) {
			return "", fmt.Errorf("%q needs a home folder, and HOME is not set", extends)
		}
		return filepath.Join(l.Home, extends[2:]), nil
	case strings.HasPrefix(extends, "~"):
		return "", fmt.Errorf(`%q: only your own home can be written with "~/"`, extends)
	case filepath.IsAbs(extends):
		return filepath.Clean(extends), nil
	case strings.Contains(extends, "/"):
		return filepath.Join(filepath.Dir(from), extends), nil
	}
	if err := CheckName(extends); err != nil {
		return "", err
	}
	return l.global(extends)
}

// parse decodes one file and checks it by itself.
func parse(file File) (*source, strict.Problems) {
	doc, problems := strict.Decode(file.Path, file.Data, language())
	src := &source{Doc: doc}
	src.Value("schema_version").At.File = file.Path // also when the key is missing
	if slices.ContainsFunc(problems, func(p strict.Problem) bool { return p.Key == "" || p.Msg == strict.Twice }) {
		return src, problems // not TOML: nothing else is known
	}
	v := validator{Problems: problems, s: src}
	v.source()
	return src, v.Sorted()
}
