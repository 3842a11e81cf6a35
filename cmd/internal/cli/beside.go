package cli

// Commands that only look, export, or serve agents are in programs of their own, which lie beside
// inner: what stands behind every typed command links nothing of them.

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/shims"
)

// Beside is a command of inner that a program beside it has.
type Beside struct {
	Name, Program, Short string
	Hidden               bool // help does not list it
}

// Attack is the program that inner-verify goes on as for inner verify --attack.
const Attack = "inner-attack"

// Fetch is the program that reads what is at a URL, and FetchWord what inner asks it with: see remote.Get.
const (
	Fetch     = "inner-fetch"
	FetchWord = "fetch"
)

// Besides are the commands that programs beside inner have.
func Besides() []Beside {
	return []Beside{
		{Name: "agent", Program: "inner-agent", Short: "Run the tools of an agent in boxes, and the agent itself outside"},
		{Name: "tools", Program: "inner-agent", Short: "Make shells that run in the box of a profile"},
		{Name: "mcp", Program: "inner-agent", Short: "Serve the tools bash, read, write and list in a box, to an agent"},
		{Name: "learn", Program: "inner-learn", Short: "Run a program in a profile's sandbox and print the minimal profile it needed"},
		{Name: "verify", Program: "inner-verify", Short: "Check a profile's sandbox from inside"},
		{Name: "verify", Program: Attack, Short: "Attack it, by inner verify --attack"},
		{Name: "export", Program: shim.Fleet, Short: "Write a profile as objects of Kubernetes or podman"},
		{Name: "checkout", Program: shim.Fleet, Short: "In a pod: put the repository of a task at its commit", Hidden: true},
		{Name: "publish", Program: shim.Fleet, Short: "In a pod: check the bundle that a run left, and push it", Hidden: true},
	}
}

// besideOf is the command of that name; false when inner has it itself.
func besideOf(name string) (Beside, bool) {
	list := Besides()
	i := slices.IndexFunc(list, func(b Beside) bool { return b.Name == name })
	if i < 0 {
		return Beside{}, false
	}
	return list[i], true
}

// ForBeside is the program beside inner that a command line is for, and what it is told: the command line, also that
// of a shell that completes it; for inner help COMMAND that asks for help. The program is "" when inner has the
// command itself.
func ForBeside(args []string) (program string, words []string) {
	named := args
	switch {
	case len(args) > 1 && args[0] == "help":
		named = append(slices.Clone(args[1:]), "--help")
		args = named
	case len(args) > 2 && Completes(args[0]): // else the name itself is completed
		named = args[1:]
	}
	if len(named) == 0 {
		return "", nil
	}
	b, _ := besideOf(named[0])
	return b.Program, args
}

// Completes reports whether a word is the command with which a shell asks for completions.
func Completes(word string) bool {
	return word == cobra.ShellCompRequestCmd || word == cobra.ShellCompNoDescRequestCmd
}

// Beside lists a command that a program beside inner has, and goes on as that.
func (a *App) Beside(name string) *cobra.Command {
	b, _ := besideOf(name)
	return &cobra.Command{
		Use: name, Short: b.Short, Hidden: b.Hidden, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.GoOn(b.Program, append([]string{name}, args...)...)
		},
	}
}

// GoOn goes on as a program beside inner, in the place of this one.
func (a *App) GoOn(program string, words ...string) error {
	path, err := a.FindBeside(program)
	if err != nil {
		return err
	}
	if a.Program.Write != nil && files.Exists(a.InnerHome) {
		a.Program.Write(filepath.Dir(a.Folder().Binary())) // it may make boxes
	}
	err = syscall.Exec(path, a.Command(path, words...).Args, a.Environ)
	return fault.Refuse(125, shims.PackageHint, "%q does not start: %v", path, err)
}

// Command is a program beside inner, at a path that was found, with what it is told.
func (a *App) Command(path string, words ...string) *exec.Cmd {
	cmd := exec.Command(path, append([]string{"--build=" + a.Version, "--inner=" + a.Inner}, words...)...)
	cmd.Args[0], cmd.Env = filepath.Base(path), a.Environ
	return cmd
}

// Programs are the paths of the programs beside inner that are installed.
func (a *App) Programs() (paths []string) {
	names := []string{Fetch, "inner-beside"} // the file that the others are names of
	for _, b := range Besides() {
		names = append(names, b.Program)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if path, err := a.FindBeside(name); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// FindBeside finds a program beside inner.
func (a *App) FindBeside(program string) (string, error) { return shims.FindBeside(a.Inner, program) }

// Asked is what inner told a program beside it, which is of this build: the path of inner, and the words. It refuses
// an inner of another build, which may mean something else by them.
func Asked(version string, args []string) (inner string, words []string, err error) {
	if len(args) < 3 || !strings.HasPrefix(args[1], "--build=") || !strings.HasPrefix(args[2], "--inner=/") {
		return "", nil, fault.Refuse(2, "inner --help", "%s is run by inner", filepath.Base(args[0]))
	}
	if build := strings.TrimPrefix(args[1], "--build="); build != version {
		return "", args[3:], fault.Refuse(125, "install both from the same build",
			"%s is of the build %s, and inner of %s", filepath.Base(args[0]), version, build)
	}
	return strings.TrimPrefix(args[2], "--inner="), args[3:], nil
}
