package main

import (
	"fmt"
	"os"
	"strings"
)

// peers times the nearest equal job of other programs that sandbox a command: no network, a home that is not written,
// and a /tmp of its own where there is one. podman is measured with the calls in containers. Those that are not installed, or cannot work here, are named.
func (b *bench) peers() (rows []row) {
	for _, peer := range []struct{ what, command string }{
		{"firejail", "firejail --quiet --noprofile --net=none --private-tmp --private-dev --caps.drop=all --nonewprivs --seccomp --read-only=" + b.home},
		{"systemd-run", "systemd-run --user --quiet --wait --pipe -p PrivateNetwork=yes -p PrivateTmp=yes -p ProtectSystem=strict -p ProtectHome=read-only"},
		{"`srt`, the sandbox of Claude Code", os.Getenv("INNER_BENCH_SRT")},
		{"`codex sandbox`", os.Getenv("INNER_BENCH_CODEX") + " sandbox --"},
	} {
		words := append(strings.Fields(peer.command), b.bin+"/prog")
		if _, err := b.try(b.app, words...); err != nil {
			fmt.Fprintf(os.Stderr, "inner: not measured here: %s (%s)\n", peer.what, strings.TrimSpace(err.Error()))
			continue
		}
		rows = append(rows, row{
			part: "peers", what: "`inner run`, no terminal", against: peer.what, runs: 20,
			ours:   func() { b.output(b.app, b.inner, "run", "--no-interactive", "-p", "prog") },
			theirs: func() { b.output(b.app, words...) },
		})
	}
	return rows
}
