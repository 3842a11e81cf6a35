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
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/helper"
	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/isolator/git/objects"
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
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "LC_ALL=C",
		"GIT_AUTHOR_NAME=inner", "GIT_AUTHOR_EMAIL=inner@localhost", "GIT_COMMITTER_NAME=inner", "GIT_COMMITTER_EMAIL=inner@localhost",
	}
	for _, name := range []string{"PATH", "HOME", "http_proxy", "https_proxy", "no_proxy", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if g.Token != "" {
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("x-access-token:"+g.Token)))
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
