// Package handover takes the work of a run out of a container as one git bundle, and brings it
// to where it is reviewed. It has four parts:
//
//	Checkout  before the run, in a container of its own: the repository at one commit
//	Leave     after the run, in the container of the program: writes one bundle with one branch
//	Publish   in a container that alone has the token: checks the bundle, and pushes it
//	          as a branch of inner's own
//	Fetch     on the reviewer's computer: fetches those branches, for inner changes
//
// The bundle is untrusted. It is copied before it is read; it must have exactly the one branch,
// Branch; its objects are checked (fsck), and it must build on the commit that the run began at.
// It is pushed only to a branch below refs/heads/inner, and never over one that exists (the lease
// of Publish), except over what an earlier try of the same task left, because an engine may run a
// task again.
//
// git is run without the configuration of any user, without hooks, and never asks for a login.
package handover

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/internal/helper"
	"github.com/enr/inner/profile/gitconfig"
)

// Branch is the only ref of a bundle.
const Branch = "refs/heads/inner"

// ErrNothing says that there is nothing to hand over.
var ErrNothing = errors.New("nothing was committed and nothing was changed")

// ErrUncommitted says that a run left changes that inner does not commit.
var ErrUncommitted = errors.New("changes that the run left without a commit are in no bundle: inner commits nothing in a repository with submodules")

// Git runs git. The zero value finds it on the PATH of this process.
type Git struct {
	Program string // path of git; "" looks on PATH
	Token   string // for the servers that it fetches from and pushes to; "" for none
	Person  bool   // a person's own settings and logins count, and ssh
}

// run runs git in a folder, and returns what it prints.
func (g Git) run(ctx context.Context, dir string, words ...string) (string, error) {
	program := g.Program
	if program == "" {
		var err error
		if program, err = exec.LookPath("git"); err != nil {
			return "", errors.New("git was not found: it belongs in the image")
		}
	}
	// What a repository's own configuration could have executed is off.
	settings := []string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never",
		"-c", "protocol.https.allow=always", "-c", "protocol.http.allow=always", "-c", "protocol.file.allow=always",
		"-c", "gc.auto=0", "-c", "commit.gpgSign=false", "-c", "advice.detachedHead=false",
	}
	if g.Person {
		settings = append(settings, "-c", "protocol.ssh.allow=always")
	} else {
		settings = append(settings, "-c", "credential.helper=")
	}
	cmd := exec.CommandContext(ctx, program, append(settings, words...)...)
	cmd.Dir = dir
	cmd.Env = g.environment()
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := helper.Run(cmd); err != nil {
		text := strings.TrimSpace(complaint.String())
		if text == "" {
			text = err.Error()
		}
		return out.String(), fmt.Errorf("git %s: %s", verb(words), g.without(text))
	}
	return out.String(), nil
}

// environment returns the environment of git: where to find programs and a proxy, and no
// configuration except the token, which is thus not in a list of processes or in a repository.
func (g Git) environment() []string {
	if g.Person {
		env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "GIT_SSH") })
		return append(env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	}
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "LC_ALL=C",
		"GIT_AUTHOR_NAME=inner", "GIT_AUTHOR_EMAIL=inner@localhost", "GIT_COMMITTER_NAME=inner", "GIT_COMMITTER_EMAIL=inner@localhost",
	}
	for _, name := range []string{"PATH", "HOME", "http_proxy", "https_proxy", "no_proxy", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if g.Token != "" {
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+g.login())
	}
	return env
}

func (g Git) login() string {
	return base64.StdEncoding.EncodeToString([]byte("x-access-token:" + g.Token))
}

// without removes the token from a text that git printed.
func (g Git) without(text string) string {
	if g.Token == "" {
		return text
	}
	return strings.NewReplacer(g.Token, "…", g.login(), "…").Replace(text)
}

// verb returns the subcommand in the arguments of git.
func verb(words []string) string {
	for i := 0; i < len(words); i++ {
		if words[i] == "-c" {
			i++
			continue
		}
		return words[i]
	}
	return ""
}

// Head returns the commit that a folder is at.
func (g Git) Head(ctx context.Context, dir string) (string, error) {
	return g.word(ctx, dir, "rev-parse", "--verify", "HEAD^{commit}")
}

// Checkout puts a repository at one commit into dir, which does not exist or is empty, on a
// branch called inner.
func (g Git) Checkout(ctx context.Context, repo, commit, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if _, err := g.run(ctx, "/", "clone", "--quiet", "--no-checkout", "--", repo, dir); err != nil {
		return err
	}
	_, err = g.run(ctx, dir, "checkout", "--quiet", "-B", "inner", commit, "--")
	return err
}

// Leave writes the commits that a folder has on top of base to the file bundle. Changes that are
// not committed become one more commit, unless there are submodules. Nobody else may be able to
// write the folder of bundle. The error is ErrNothing when the folder is at base, unchanged, and
// ErrUncommitted, with a bundle where there are commits, when there are such changes and submodules.
func (g Git) Leave(ctx context.Context, dir, base, bundle string) error {
	if err := g.Harmless(ctx, dir); err != nil {
		return err
	}
	changed, err := g.run(ctx, dir, "status", "--porcelain", "--untracked-files=all", "--ignore-submodules=all")
	if err != nil {
		return err
	}
	links, err := g.run(ctx, dir, "ls-files", "--stage")
	if err != nil {
		return err
	}
	// git add looks into submodules, with what their own configuration has it execute.
	var uncommitted error
	if changed != "" && gitlink().MatchString(links) {
		uncommitted = ErrUncommitted
	} else if changed != "" {
		if _, err := g.run(ctx, dir, "add", "--all", "--", "."); err != nil {
			return err
		}
		if _, err := g.run(ctx, dir, "commit", "--quiet", "--no-verify", "--message", "inner: what the run left without a commit"); err != nil {
			return err
		}
	}
	head, err := g.Head(ctx, dir)
	if err != nil {
		return err
	}
	if head == base {
		return cmp.Or(uncommitted, ErrNothing)
	}
	if _, err := g.run(ctx, dir, "update-ref", "--no-deref", Branch, head); err != nil {
		return err
	}
	_, err = g.run(ctx, dir, "bundle", "create", "--quiet", bundle, base+".."+Branch)
	return cmp.Or(err, uncommitted)
}

// Harmless refuses a repository whose own settings could have git execute something: Leave runs
// git outside of the box, on what the box has written.
func (g Git) Harmless(ctx context.Context, dir string) error {
	out, err := g.run(ctx, dir, "config", "--list", "--show-scope", "-z")
	if err != nil {
		return err
	}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "command" { // run's own
			continue
		}
		key, value, set := strings.Cut(fields[i+1], "\n")
		if !gitconfig.Harmless(gitconfig.Entry{Key: key, Value: value, Bare: !set}, func(string) bool { return false }) {
			return fmt.Errorf("the repository has the setting %q, with which git could execute a program", key)
		}
	}
	return nil
}

// Result is a bundle that is to become a branch.
type Result struct {
	Bundle       string
	Repo, Commit string // where it goes, and what the run began at
	Ref          string // refs/heads/inner/FLEET/INDEX
	Run          string // what the tries of one task share, and nothing else does: hexadecimal digits and "-"; "" is not known
}

// stamp returns the message of the commit that Publish puts on top of a result whose run is known.
func (r Result) stamp() string { return "inner: the result of a run\n\nInner-Run: " + r.Run + "\n" }

// fleetPattern is the pattern of the name of one.
const fleetPattern = `[a-z0-9][-a-z0-9]{0,51}`

var (
	published = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^refs/heads/inner/` + fleetPattern + `/[0-9]{1,4}$`)
	})
	runID    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-0-9a-f]{0,64}$`) })
	gitlink  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^160000 `) })
	headLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64}) ` + Branch + `\n$`) })
)

// maxBundle is the largest bundle that is taken, in bytes.
const maxBundle = 1 << 30

// Publish checks a bundle and pushes it. It returns the commit. The error is ErrNothing when
// there is no bundle.
func (g Git) Publish(ctx context.Context, r Result) (commit string, err error) {
	if !published().MatchString(r.Ref) {
		return "", fmt.Errorf("%q is not refs/heads/inner/FLEET/INDEX", r.Ref)
	}
	if !runID().MatchString(r.Run) {
		return "", fmt.Errorf("%q is not a run: hexadecimal digits and \"-\"", r.Run)
	}
	dir, err := os.MkdirTemp("", "inner-publish")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	own := filepath.Join(dir, "bundle")
	if err := copyBundle(r.Bundle, own); err != nil {
		return "", err
	}
	repo := filepath.Join(dir, "repo")
	if _, err := g.run(ctx, dir, "init", "--quiet", "--bare", repo); err != nil {
		return "", err
	}
	heads, err := g.run(ctx, repo, "bundle", "list-heads", own)
	if err != nil {
		return "", err
	}
	if !headLine().MatchString(heads) {
		return "", fmt.Errorf("the bundle does not hold %s and nothing else: %q", Branch, heads)
	}
	if _, err := g.run(ctx, repo, "fetch", "--quiet", "--no-tags", "--", r.Repo, "+refs/heads/*:refs/base/*"); err != nil {
		return "", err
	}
	if _, err := g.run(ctx, repo, "cat-file", "-e", r.Commit+"^{commit}"); err != nil {
		return "", fmt.Errorf("commit %s is on no branch of %s", r.Commit, r.Repo)
	}
	if _, err := g.run(ctx, repo, "-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", own, Branch+":refs/result/0"); err != nil {
		return "", err
	}
	if _, err := g.run(ctx, repo, "merge-base", "--is-ancestor", r.Commit, "refs/result/0"); err != nil {
		return "", fmt.Errorf("what the bundle holds does not build on %s", r.Commit)
	}
	tip, earlier := "refs/result/0", ""
	if r.Run != "" {
		if tip, err = g.word(ctx, repo, "commit-tree", "-p", tip, "-m", r.stamp(), tip+"^{tree}"); err != nil {
			return "", err
		}
		if earlier, err = g.earlier(ctx, repo, r); err != nil {
			return "", err
		}
	}
	if _, err := g.run(ctx, repo, "push", "--quiet", "--no-verify", "--force-with-lease="+r.Ref+":"+earlier, "--", r.Repo, tip+":"+r.Ref); err != nil {
		return "", err
	}
	return g.word(ctx, repo, "rev-parse", tip)
}

// earlier returns the commit that an earlier try of the same run pushed to its branch, as it was
// fetched; "" when there is none, when the branch is another run's, or when somebody has added
// commits. The branch can be trusted for that, because a box cannot push.
func (g Git) earlier(ctx context.Context, repo string, r Result) (string, error) {
	at := "refs/base/" + strings.TrimPrefix(r.Ref, "refs/heads/")
	commit, err := g.word(ctx, repo, "for-each-ref", "--format=%(objectname)", at)
	if err != nil || commit == "" {
		return "", err
	}
	text, err := g.run(ctx, repo, "log", "-1", "--format=%cn <%ce>%n%B", commit)
	if err != nil || strings.TrimSpace(text) != strings.TrimSpace("inner <inner@localhost>\n"+r.stamp()) {
		return "", err
	}
	return commit, nil
}

// word runs git and returns what it prints, without the end of the line.
func (g Git) word(ctx context.Context, dir string, words ...string) (string, error) {
	out, err := g.run(ctx, dir, words...)
	return strings.TrimSpace(out), err
}
