package attack

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/hooks/quote"
)

// GitAttack is a row of gitrows.txt, which says what its parts are.
type GitAttack struct{ Name, What, Line, Use, Inert string }

var (
	//go:embed gitrows.txt
	gitRows string // allowed: embed writes only to a variable

	//go:embed gitrows.sh
	gitWords string // allowed: as above

	// GitFixture makes the repository of the attacks in the working folder, and what belongs to it beside that.
	//
	//go:embed gitfixture.sh
	GitFixture string // allowed: as above
)

// then is the commit that the tag of that name has in the fixture.
const then = "facc16d508831bcc921ed46ab7e08b6a433c6234"

// GitAttacks returns all of them.
func GitAttacks() (list []GitAttack) {
	for _, block := range strings.Split(gitRows, "\n== ")[1:] {
		lines := strings.Split(block, "\n")
		g := GitAttack{Name: lines[0], What: lines[1]}
		for _, line := range lines[2:] {
			switch part, text, _ := strings.Cut(line, ": "); part {
			case "line":
				g.Line = text
			case "use":
				g.Use = text
			case "inert":
				g.Inert = text
			}
		}
		list = append(list, g)
	}
	return list
}

// gitDirectories returns the attacks on the project's git directory, and some of them again in a
// linked worktree.
func gitDirectories() []Attack {
	again := []string{
		"git-link-message", "git-link-stash-log", "git-link-head-log", "git-link-heads",
		"git-set-fsmonitor", "git-set-worktree", "git-hook-pre-commit", "git-hook-transaction",
		"git-place-users", "git-place-commondir", "git-gitlink-index",
		"git-state-rebase", "git-index-path", "git-object-grafts",
	}
	var list, trees []Attack
	for _, g := range GitAttacks() {
		if g.Use == "" {
			continue
		}
		list = append(list, g.attack(false))
		if slices.Contains(again, g.Name) {
			trees = append(trees, g.attack(true))
		}
	}
	return append(list, trees...)
}

var inGitDir = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.git/([A-Za-z0-9_./*$-]+)`) })

// InTree returns the line for a linked worktree, where a file of the git directory is in one of two folders.
func (g GitAttack) InTree() string {
	if strings.Contains(g.Line, "mv .git was") {
		return g.Line
	}
	return inGitDir().ReplaceAllString(g.Line, `$$(git rev-parse --git-path "$1")`)
}

// attack returns a row of the suite: the line runs bare or in a box, and then git on the host.
func (g GitAttack) attack(tree bool) Attack {
	a := Attack{
		Name: g.Name, Class: "files", What: "leave in the git directory: " + g.What,
		declared: []reason{reasonOf("git-rw"), reasonOf("home-rw")},
	}
	line, where, before, after := g.Line, "app", "rm -rf .git\n", ""
	if tree {
		a.Name, a.What = a.Name+"-tree", a.What+", in a linked worktree"
		line, where, before = g.InTree(), "main", "mkdir ../main && mv pwn ../main && cd ../main\n"
		after = "mv ../app ../was && git switch -q -c other && git worktree add -q ../app main && mv pwn ../was/.inner ../app && mkdir -p ../app/empty\n"
	}
	a.Stage = gitWords + "(\nexport $gitenv\ncd app\n" + before + GitFixture + after + ")\nprogram_ trap.git/hooks/pre-commit"
	a.Host = "before=$(outside) patience=30 # a busy machine is no hang\nrun " + quote.POSIX(line) + "\n" +
		"[ -z \"$BARE\" ] || before=$(outside) patience=3 # the line may well write there itself\n" +
		"used " + quote.POSIX(g.Use) + " " + where + " " + then
	return a.usual()
}
