#!/bin/bash
# generate.sh DIR: write the files that are generated and committed into DIR.
# They are what bin/inner prints; make lint compares.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir=${1:?usage: generate.sh DIR}
mkdir -p -- "$dir"
# A home that is not there: what is printed depends on nothing of this person's.
print() { env -i HOME=/nonexistent PATH=/usr/bin:/bin bin/inner completion "$1"; }
print bash >"$dir/inner.bash"
print zsh >"$dir/_inner"
print fish >"$dir/inner.fish"
print powershell >"$dir/inner.ps1"
