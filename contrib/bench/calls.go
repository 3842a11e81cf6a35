package main

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/enr/inner/isolator"
)

// calls are calls of tools: a program that does nothing, by each way that there is, beside
// bwrap with the same arguments.
func (b *bench) calls() {
	text := func(session string) string {
		return profile("true", "home = \"isolated\"\nsession = \""+session+"\"\n[output]\nrecord = \"audit\"\n")
	}
	b.allowed(b.app, map[string]string{"call": text("files"), "shared": text("box")})
	call := []string{b.inner, "exec", "-p", "call"}
	s := b.turns(40, b.plain, b.app, b.rawBwrap("call"), append(call, "--", "true"), append(call, "--session", "s1", "--", "true"))
	b.add(row{what: "bwrap with the same arguments", figure: s[0].ms()},
		s[1].beside("`inner exec`", s[0], "that bwrap", ""),
		s[2].beside("`inner exec --session`", s[0], "that bwrap", ""),
		b.served("-p", "call").beside("a call of `inner exec --serve`", s[0], "that bwrap", "≤ +4 ms"),
		b.served("-p", "shared", "--session", "s2").beside("the same in a session's box", s[0], "that bwrap", "≤ +4 ms"),
		b.library().beside("a call of the library", s[0], "that bwrap", ""))
	b.output(b.app, b.inner, "session", "end", "s2")
}

// served times calls of one server, one after another.
func (b *bench) served(flags ...string) series {
	server := b.partner(b.app, append([]string{b.inner, "exec", "--serve"}, flags...)...)
	defer server.end()
	return b.timed(func() { server.ask(`{"argv":["true"]}`, `"started":true`) })
}

// library times calls of package isolator, with this program as the supervisor of each box.
func (b *bench) library() series {
	for _, kv := range b.env { // the library is about the user and the environment of its program
		k, v, _ := strings.Cut(kv, "=")
		must(os.Setenv(k, v))
	}
	ctx := context.Background()
	p := value(isolator.Load(ctx, isolator.Options{Name: "call", Dir: b.app}))
	return b.timed(func() { value(p.Command(ctx, "true").Run()) })
}

// timed is the median of forty calls for each round, after a few that are not counted.
func (b *bench) timed(call func()) (out series) {
	for range b.rounds {
		var took []float64
		for i := range 45 {
			begun := time.Now()
			call()
			if i >= 5 {
				took = append(took, time.Since(begun).Seconds())
			}
		}
		out = append(out, median(took))
	}
	return out
}

// containers times a call in a container of rootless podman, beside podman itself with the
// same image. contrib/bench.sh says where that is, when there is podman.
func (b *bench) containers() {
	tar := os.Getenv("INNER_BENCH_IMAGE")
	if tar == "" {
		return
	}
	// crun refuses computers that mount both kinds of control groups.
	writeFiles(b.home, map[string]string{".config/containers/containers.conf": "[engine]\nruntime = \"runc\"\n"})
	as := []string{"env", "USER=" + value(user.Current()).Username} // podman looks up its user by that name
	podman := func(args ...string) []string { return append(append(as[:2:2], "podman"), args...) }
	defer func() { // the rest is removed with the home
		_, _ = b.try(b.app, podman("unshare", "rm", "-rf", filepath.Join(b.home, ".local/share/containers"))...)
		_, _ = b.try(b.app, podman("system", "migrate")...)
	}()
	b.output(b.app, podman("import", "-q", tar, "localhost/bench")...)
	id := strings.TrimSpace(b.output(b.app, podman("images", "--no-trunc", "-q", "localhost/bench")...))
	b.allowed(b.app, map[string]string{"boxed": profile("true", "home = \"isolated\"\nbase = \"minimal\"\nbackend = \"podman\"\nimage = \""+id+"\"\n[output]\nrecord = \"audit\"\n")})
	s := b.turns(5, b.plain, b.app, podman("run", "--rm", "--network", "none", id, "true"), append(as[:2:2], b.inner, "exec", "-p", "boxed", "--", "true"))
	b.add(row{what: "`podman run` of the same image", figure: s[0].ms()}, s[1].beside("`inner exec`, `backend = \"podman\"`", s[0], "that podman", ""))
}
