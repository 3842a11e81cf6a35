#!/bin/bash
# bench.sh: what inner costs, against bwrap, direnv, script(1) and other sandboxes in the same run.
# Prints the tables of docs/benchmarks.md. Always as a plain user; root's boxes are
# a little cheaper and nobody's. INNER_BENCH_ROUNDS (default 5) sets how often
# everything is repeated, INNER_BENCH_ONLY names the one part that is measured. Calls in
# containers are measured where podman and runc are installed, and the sandboxes of agents where
# contrib/agents.sh install srt codex has been called.
set -eu
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir=$(mktemp -d /var/tmp/inner-bench.XXXXXX)
trap 'rm -rf -- "$dir"' EXIT
chmod 0755 "$dir"
cp bin/inner "$dir/inner"
CGO_ENABLED=0 "${GO:-go}" build -buildvcs=false -trimpath -o "$dir/bench" ./contrib/bench
export INNER_TEST_BIN=$dir/inner
if command -v podman >/dev/null && command -v runc >/dev/null; then
	contrib/image.sh "$dir/image.tar"
	export INNER_BENCH_IMAGE=$dir/image.tar
else
	printf 'inner: not measured here: calls in containers (podman or runc is not installed)\n' >&2
fi
INNER_BENCH_SRT=$(contrib/agents.sh path srt)
INNER_BENCH_CODEX=$(contrib/agents.sh path codex)
export INNER_BENCH_SRT INNER_BENCH_CODEX
plain=$PWD/contrib/as-plain-user.sh
cd /
"$plain" "$dir/bench"
