#!/bin/bash
# budget.sh [--write]: hold the tree against contrib/budget, the ceilings of its size.
#
# Every package of Go has a line there, each counted once: *.go without tests, generated
# files included. What is above its ceiling, or is not listed, is printed; so is a line
# whose package is gone. --write prints the file as it would be with the present sizes as
# ceilings; the shape of the code (bytes, wide, comments, long) keeps its ceilings.
# shellcheck disable=SC2016 # templates of Go and programs of awk have dollars
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${GO:=go}"

lines() { xargs -0r cat -- | wc -l; }
go_files() { find . \( -path ./.git -o -path ./bin \) -prune -o -name '*.go' ! -name '*_test.go' -print0; }
# linked: the lines of this module in what a typed claude starts or talks to, each once.
linked() {
	"$GO" list -tags programs -deps -f '{{if and .Module .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}' \
		./cmd/inner-shim ./cmd/inner-box ./cmd/inner-git | grep . | sort -u | tr '\n' '\0' | lines
}
# audit: what is read to believe that what a resolved profile says is enforced (docs/security.md, What to read).
audit() {
	go_files | grep -z '^\./internal/\|^\./isolator/\(host\|sensitive\|plan\|launch\|innerbox\|seccomp\|userns\|procfs\|proc\|limits\|stage\|owned\|ownhome\|copytree\|netproxy\|logins\)/' | lines
}
# Scripts, TOML and templates that ship; what only shows or tests something is under scripts.
shell_files() { find hooks shims completions isolator cmd -path '*/testdata' -prune -o \( -name '*.sh' -o -name '*.zsh' -o -name '*.fish' -o -name '*.bash' -o -name '*.elv' -o -name '*.nu' -o -name '*.tcsh' -o -name '_inner' -o -name '*.js' \) -print0; }
toml_files() { find profile isolator contrib/profiles -path '*/testdata' -prune -o \( -name '*.toml' -o -name '*.tmpl' \) -print0; }
script_files() { find contrib .ci \( -name '*.sh' -o -name '*.py' -o -name run \) -type f -print0; }

# sizes: one line each, NAME NUMBER, in the order of contrib/budget.
sizes() {
	go_files | xargs -0r wc -l | awk '$2 != "total" { f = $2; sub(/^\.\//, "", f); sub(/\/[^\/]*$/, "", f); n[f] += $1; all += $1 }
		END { for (d in n) print d, n[d] | "sort"; close("sort"); print "all", all }'
	printf 'linked %d\naudit %d\nshell %d\ntoml %d\nscripts %d\n' "$(linked)" "$(audit)" "$(shell_files | lines)" "$(toml_files | lines)" "$(script_files | lines)"
	go_files | LC_ALL=C xargs -0r awk '{
			bytes += length($0) + 1
			if (length($0) > 120) wide++
			if ($0 ~ /^[ \t]*\/\//) comments++
			if (FNR == 501) long++
		}
		END { printf "bytes %.1f\nwide %.2f\ncomments %.1f\nlong %d\n", bytes / NR, 100 * wide / NR, 100 * comments / NR, long }'
}

if [ "${1-}" = --write ]; then
	sed '/^[^#]/,$d' contrib/budget
	sizes | awk '
		NR == FNR { if ($1 ~ /^(bytes|wide|comments|long)$/) kept[$1] = $2; next }
		{ print $1, ($1 in kept ? kept[$1] : $2) }' contrib/budget - | column -t
	exit 0
fi
sizes | awk '
	NR == FNR { if ($0 ~ /^[^#]/) most[$1] = $2; next }
	{ seen[$1] = 1 }
	!($1 in most) { print $1 " has " $2 " lines and no line in contrib/budget"; next }
	$1 == "comments" { if ($2 < most[$1]) print "comments are " $2 " % of the lines, at least " most[$1] " are wanted"; next }
	$2 > most[$1] { print $1 " is " $2 ", its ceiling is " most[$1] }
	END { for (d in most) if (!(d in seen)) print d " is in contrib/budget, and not there any more" }' contrib/budget -
