#!/bin/bash
# site.sh [OUT]: the site in OUT (default bin/site), made of docs/, the README and
# CONTRIBUTING.md by mkdocs. A link that leads nowhere is an error. Every page bears
# the time of the commit.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -m -- "${1:-bin/site}")
umask 022
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC

stage=$(mktemp -d)
trap 'rm -rf -- "$stage"' EXIT
mkdir -- "$stage/pages"
cp -R -- docs/. "$stage/pages"
# The site does not hold the sources: a link to one of them becomes its text. That it leads
# somewhere is seen to by lint.sh.
sed -Ei 's,\[([^]]+)\]\(\.\./[^)]+\),\1,g' "$stage"/pages/*.md
# What lies beside docs/ in the repository lies in it on the site.
sed 's,](docs/,](,g' README.md >"$stage/pages/index.md"
sed 's,](docs/,](,g' CONTRIBUTING.md >"$stage/pages/CONTRIBUTING.md"
cp -- contrib/site/mkdocs.yml "$stage"
mkdocs --quiet build --strict --clean -f "$stage/mkdocs.yml" -d "$stage/site"

# mkdocs 1.4 does not look at the part of a link after #.
broken=$(python3 contrib/site/links.py "$stage/site")
[ -z "$broken" ] || { printf '%s\n' "$broken" >&2; exit 1; }
# It works from a folder: nothing of it is fetched from elsewhere.
if grep -rlE '(src|href)="(https?:)?//[^"]*\.(js|css|woff2?)"' "$stage/site" --include='*.html' >&2; then
	printf 'inner: these pages fetch scripts, styles or fonts from another host\n' >&2
	exit 1
fi
rm -rf -- "$out"
mkdir -p -- "${out%/*}"
cp -R -- "$stage/site" "$out"
printf 'inner: %s holds %s pages\n' "$out" "$(find "$out" -name '*.html' | wc -l)"
