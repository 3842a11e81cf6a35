#!/bin/bash
# fuzz.sh: every fuzz target of the tree for FUZZTIME (default 30s) each. A crasher
# is written to the package's testdata/fuzz, to be committed with its cure.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
grep -rlE --include='*_test.go' '^func Fuzz' . | sort | while IFS= read -r file; do
	grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | while read -r _ name; do
		printf '== %s %s\n' "${file%/*}" "$name"
		"${GO:-go}" test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-30s}" "${file%/*}" </dev/null
	done
done
