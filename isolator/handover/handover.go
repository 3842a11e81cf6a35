// Package handover takes the work of a run out of a container as one git bundle, and brings it
// to where it is reviewed. It has three parts:
//
//	Checkout  before the run, in a container of its own: the repository at one commit
//	Leaving   in the container of the program: writes one bundle when the run has ended
//	Publish   in a container that alone has the token: checks the bundle, and pushes it
//	          as a branch of inner's own
//
// The bundle is untrusted. Only its HEAD is taken from it; it is read once, its objects are
// checked (fsck), and it must build on the commit that the run began at.
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
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/helper"
	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/isolator/git/objects"
	"github.com/enr/inner/profile/gitconfig"
)

// published is the pattern of a branch of results.
var published = lazy.Regexp(`^refs/heads/inner/[a-z0-9][-a-z0-9]{0,51}/[0-9]{1,4}$`)

// Git runs git. The zero value finds it on the PATH of this process.
type Git struct {
	Program string // path of git; "" looks on PATH
	Token   string // for the servers that it fetches from and pushes to; "" for none

	checks bool      // what is fetched is checked (fsck)
	in     io.Reader // what git reads
	out    io.Writer // takes what git prints, unless it is nil
}

// run runs git in a folder, and returns what it prints.
func (g Git) run(ctx context.Context, dir string, words ...string) (string, error) {
	// What a repository's own configuration could have executed is off.
	settings := []string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never",
		"-c", "protocol.https.allow=always", "-c", "protocol.http.allow=always", "-c", "protocol.file.allow=always",
		"-c", "gc.auto=0", "-c", "commit.gpgSign=false", "-c", "advice.detachedHead=false",
		"-c", "credential.helper=",
	}
	if g.checks {
		settings = append(settings, objects.Fsck()...)
	}
	cmd := exec.CommandContext(ctx, cmp.Or(g.Program, "git"), append(settings, words...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, g.environment(), g.in
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if g.out != nil {
		cmd.Stdout = g.out
	}
	if err := helper.Run(cmd); err != nil {
		return out.String(), fmt.Errorf("git %s: %s", words[0], cmp.Or(strings.TrimSpace(complaint.String()), err.Error()))
	}
	return out.String(), nil
}

// word runs git and returns what it prints, without the end of the line.
func (g Git) word(ctx context.Context, dir string, words ...string) (string, error) {
	out, err := g.run(ctx, dir, words...)
	return strings.TrimSpace(out), err
}

// environment returns the environment of git: where to find programs and a proxy, and no
// configuration except the token, which is thus not in a list of processes or in a repository.
func (g Git) environment() []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=/bin/false", "LC_ALL=C",
		"GIT_AUTHOR_NAME=inner", "GIT_AUTHOR_EMAIL=inner@localhost",
		"GIT_COMMITTER_NAME=inner", "GIT_COMMITTER_EMAIL=inner@localhost",
	}
	for _, name := range []string{"PATH", "HOME", "http_proxy", "https_proxy", "no_proxy", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if g.Token != "" {
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader",
			"GIT_CONFIG_VALUE_0=Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("x-access-token:"+g.Token)))
	}
	return env
}

// store is a new repository for what is not trusted: nothing of it is checked out.
type store struct {
	Git
	dir string
}

func (g Git) store(ctx context.Context) (s store, err error) {
	s.Git = g
	if s.dir, err = os.MkdirTemp("", "inner-git"); err != nil {
		return s, err
	}
	if _, err = g.run(ctx, s.dir, "init", "--quiet", "--bare", "."); err != nil {
		s.Close()
	}
	return s, err
}

// Close removes it.
func (s store) Close() { _ = os.RemoveAll(s.dir) }

func (s store) fetch(ctx context.Context, g Git, words ...string) error {
	_, err := g.run(ctx, s.dir, append([]string{"fetch", "--quiet", "--no-tags"}, words...)...)
	return err
}

// checked is Git that checks what it fetches.
func (g Git) checked() Git {
	g.checks = true
	return g
}

// blob returns the content of an object of at most so many bytes.
func (s store) blob(ctx context.Context, object string, most int) ([]byte, error) {
	size, err := s.word(ctx, s.dir, "cat-file", "-s", object)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(size); err != nil || n > most {
		return nil, fmt.Errorf("%s is larger than %d KiB", object, most>>10)
	}
	text, err := s.run(ctx, s.dir, "cat-file", "blob", object)
	return []byte(text), err
}

// Files fetches the HEAD of a repository, and returns what reads its files, each of at most
// most bytes. Its objects are checked (fsck), and the returned func removes it.
func (g Git) Files(ctx context.Context, repo string, most int) (read func(name string) ([]byte, error), remove func(), err error) {
	s, err := g.store(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := s.fetch(ctx, g.checked(), "--depth=1", "--", repo, "HEAD:refs/heads/head"); err != nil {
		s.Close()
		return nil, nil, err
	}
	return func(name string) ([]byte, error) {
		text, err := s.blob(ctx, "refs/heads/head:"+name, most)
		if err != nil {
			err = fmt.Errorf("%s has no %s that can be read: %w", repo, name, err)
		}
		return text, err
	}, s.Close, nil
}

// Checkout puts a repository at one commit into dir, which does not exist or is empty, on a
// branch called inner.
func (g Git) Checkout(ctx context.Context, repo, commit, dir string) error {
	if _, err := g.run(ctx, "", "clone", "--quiet", "--no-checkout", "--", repo, dir); err != nil {
		return err
	}
	_, err := g.run(ctx, dir, "checkout", "--quiet", "-B", "inner", commit, "--")
	return err
}

// ErrNothing says that there is nothing to hand over.
var ErrNothing = errors.New("nothing was committed and nothing was changed")

// Leaving is a run whose commits are left as a bundle when it has ended.
type Leaving struct {
	Bundle    string
	dir, base string
	folder    *os.Root // of the bundle, as it was before the run
}

// Begin finds out where a run begins. Without a repository to begin in, and with another file than
// a bundle in its place, nothing runs.
func Begin(ctx context.Context, dir, bundle string) (*Leaving, error) {
	base, err := Git{}.word(ctx, dir, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return nil, refuse("start it in a clone", "the working folder is at no commit: ", err)
	}
	if err := (Git{}).harmless(ctx, dir); err != nil {
		return nil, refuse("start it in a clone", "", err)
	}
	folder, err := os.OpenRoot(filepath.Dir(bundle))
	if err != nil {
		return nil, refuse("mkdir -p "+quote.POSIX(filepath.Dir(bundle)), "", err)
	}
	old, err := files.Head(bundle, files.NoLinks, 16)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrNotRegular):
	case err == nil && len(old) > 0 && !bundled().Match(old):
		err = fmt.Errorf("%s is there, and is no git bundle", bundle)
		fallthrough
	case err != nil:
		folder.Close()
		return nil, refuse("name another file", "", err)
	}
	return &Leaving{bundle, dir, base, folder}, nil
}

// bundled matches the beginning of a bundle.
var bundled = lazy.Regexp(`^# v[23] git bundle\n$`)

func refuse(hint, what string, err error) error {
	return &fault.Refusal{Code: 125, Kind: fault.KindWorkdir, Msg: "--bundle: " + what + err.Error(), Hint: hint}
}

// Ready removes the bundle of an earlier run, which must not count as one of this run: on an error
// the program must not start. What is no regular file stays: nobody takes it for a bundle.
func (l *Leaving) Ready() error {
	fi, err := l.folder.Lstat(l.name())
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !fi.Mode().IsRegular():
		return nil
	case err == nil:
		err = l.folder.Remove(l.name())
	}
	if err != nil {
		return refuse("rm "+quote.POSIX(l.Bundle), "", err)
	}
	return nil
}

func (l *Leaving) name() string { return filepath.Base(l.Bundle) }

// End writes the commits that the run made to the bundle. Changes that are not committed become one more
// commit. What the run itself left in the bundle's place does not stay. ErrNothing says that the run made
// no commits.
func (l *Leaving) End(ctx context.Context) error {
	defer l.folder.Close()
	if err := l.Ready(); err != nil {
		return err
	}
	if err := (Git{}).commit(ctx, l.dir); err != nil {
		return err
	}
	if head, err := (Git{}).word(ctx, l.dir, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return err
	} else if head == l.base {
		return ErrNothing
	}
	next := l.name() + ".next" // until it is whole
	if err := l.folder.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The publisher is another user, of the same group.
	out, err := l.folder.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = Git{out: out}.run(ctx, l.dir, "bundle", "create", "--quiet", "-", l.base+"..HEAD")
	if err = errors.Join(err, out.Chmod(0o640), out.Close()); err == nil {
		err = l.folder.Rename(next, l.name())
	}
	if err != nil {
		_ = l.folder.Remove(next)
	}
	return err
}

// commit commits what a run has left without one. git add would look into submodules, with what their own
// configuration has it execute: so the files are named, and what has changed in a submodule stays out.
func (g Git) commit(ctx context.Context, dir string) error {
	if err := g.harmless(ctx, dir); err != nil {
		return err
	}
	changed, err := g.run(ctx, dir, "status", "--porcelain", "-z", "--no-renames",
		"--untracked-files=all", "--ignore-submodules=all")
	if err != nil {
		return err
	}
	var names strings.Builder
	for line := range strings.SplitSeq(changed, "\x00") { // XY NAME
		if line != "" && !strings.HasSuffix(line, "/") { // a repository of its own
			names.WriteString(line[3:] + "\x00")
		}
	}
	if names.Len() == 0 {
		return nil
	}
	named := Git{in: strings.NewReader(names.String())}
	if _, err := named.run(ctx, dir, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
		return err
	}
	_, err = g.run(ctx, dir, "commit", "--quiet", "--no-verify", "--message",
		"inner: what the run left without a commit")
	return err
}

// harmless refuses a repository whose own settings could have git execute something: commit runs
// git outside of the box, on what the box has written.
func (g Git) harmless(ctx context.Context, dir string) error {
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

var runID = lazy.Regexp(`^[-0-9a-f]{0,64}$`)

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
	bundle, fi, err := files.Open(r.Bundle, files.NoLinks)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", ErrNothing
	case err != nil:
		return "", err
	}
	defer bundle.Close()
	if fi.Size() > maxBundle {
		return "", fmt.Errorf("%q is larger than %d MiB", r.Bundle, maxBundle>>20)
	}
	s, err := g.store(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if err := s.fetch(ctx, g, "--", r.Repo, "+refs/heads/*:refs/base/*"); err != nil {
		return "", err
	}
	if _, err := g.run(ctx, s.dir, "cat-file", "-e", r.Commit+"^{commit}"); err != nil {
		return "", fmt.Errorf("commit %s is on no branch of %s", r.Commit, r.Repo)
	}
	from := g.checked()
	from.in = bundle
	if err := s.fetch(ctx, from, "/dev/fd/0", "HEAD:refs/result/0"); err != nil {
		return "", err
	}
	if _, err := g.run(ctx, s.dir, "merge-base", "--is-ancestor", r.Commit, "refs/result/0"); err != nil {
		return "", fmt.Errorf("what the bundle holds does not build on %s", r.Commit)
	}
	tip, earlier := "refs/result/0", ""
	if r.Run != "" {
		if tip, err = g.word(ctx, s.dir, "commit-tree", "-p", tip, "-m", r.stamp(), tip+"^{tree}"); err != nil {
			return "", err
		}
		if earlier, err = g.earlier(ctx, s.dir, r); err != nil {
			return "", err
		}
	}
	if _, err := g.run(ctx, s.dir, "push", "--quiet", "--no-verify",
		"--force-with-lease="+r.Ref+":"+earlier, "--", r.Repo, tip+":"+r.Ref); err != nil {
		return "", err
	}
	return g.word(ctx, s.dir, "rev-parse", tip)
}

// earlier returns the commit that an earlier try of the same run pushed to its branch, as it was
// fetched; "" when there is none, when the branch is another run's, or when somebody has added
// commits. The branch can be trusted for that, because a box cannot push.
func (g Git) earlier(ctx context.Context, repo string, r Result) (string, error) {
	at := "refs/base/" + strings.TrimPrefix(r.Ref, "refs/heads/")
	out, err := g.word(ctx, repo, "for-each-ref",
		"--format=%(objectname) %(committername) %(committeremail)%0a%(contents)", at)
	commit, text, _ := strings.Cut(out, " ")
	if text != strings.TrimSpace("inner <inner@localhost>\n"+r.stamp()) {
		return "", err
	}
	return commit, err
}
