#!/bin/bash
# twins.sh [FLAG...]: the stories of cmd/inner/testdata/twins, a line for each.
#
# INNER_TWINS_CONTROL=1 plays both sides outside: what then differs is the fault of the
# story. The flags are those of go test: -run TestTwins/random/7 plays one story.
# make twins has run setup.sh and built bin before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export INNER_TEST_TWINS=1
[ -z "${INNER_TWINS_CONTROL-}" ] || INNER_TEST_TWINS=control
contrib/test.sh ./cmd/inner -count=1 -v -run 'TestTwins' "$@" | grep --line-buffered -vE '^(=== | *--- )'
