#!/bin/bash
# lint.sh: everything about the tree that a machine can judge without running it.
# Every check runs, also after one has failed; the exit code is 1 when any did.
# make sets the tools' versions.
# shellcheck disable=SC2317,SC2016 # functions are called by name; Go templates have dollars
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
: "${GO:=go}" "${GOFUMPT:?set by make}" "${STATICCHECK:?set by make}"

failed=0
# check NAME COMMAND...: the command must succeed and print nothing.
check() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1) && [ -z "$out" ]; then
		printf 'ok    %s\n' "$name"
	else
		printf 'FAIL  %s\n' "$name"
		[ -z "$out" ] || printf '%s\n' "$out" | sed 's/^/      /'
		failed=1
	fi
}

mapfile -d '' -t scripts < <(find . \( -path ./.git -o -path ./bin \) -prune -o -type f -name '*.sh' -print0)
mapfile -d '' -t zsh < <(find . \( -path ./.git -o -path ./bin \) -prune -o -type f -name '*.zsh' -print0)
mapfile -d '' -t fish < <(find . \( -path ./.git -o -path ./bin \) -prune -o -type f -name '*.fish' -print0)

tools() { # downloads, before their output counts
	"$GO" mod download && "$GO" run "$GOFUMPT" -version && "$GO" run "$STATICCHECK" -version
} >/dev/null
tidy() { "$GO" mod tidy -diff 2> >(grep -v '^go: downloading ' >&2); }
zsh_syntax() { local f; for f in ${zsh[@]+"${zsh[@]}"}; do zsh -f -n "$f"; done; }
fish_syntax() { local f; for f in ${fish[@]+"${fish[@]}"}; do fish --no-config --no-execute "$f"; done; }

# The house rules that grep can see. A line that must break one says why, in a
# comment with the word "allowed:" on the same line.
ban() { # ban REASON PATTERN [PATH...]: no Go file outside tests may hold the pattern
	local reason=$1 pattern=$2 hits
	shift 2
	hits=$(grep -rnE --include='*.go' --exclude='*_test.go' --exclude-dir=.git -e "$pattern" -- "${@:-.}" | grep -v 'allowed:')
	[ -z "$hits" ] || printf '%s\n%s\n' "$reason:" "$hits"
}
bans() {
	ban 'os.Create follows links and truncates' '\bos\.Create\('
	ban 'os.CopyFS loosens modes' '\bos\.CopyFS\('
	ban 'a shell between us and a program quotes nothing' 'exec\.Command\("(/bin/)?(ba)?sh", "-c"'
	ban 'an init function is work nobody asked for' '^func init\(\)'
	ban 'a panic is not an answer to input' '\bpanic\('
	ban 'only the outputs of package cmd/internal/tell print' '\bfmt\.Print(f|ln)?\(|\bprintln\(|\blog\.(Print|Fatal|Panic)' cmd profile isolator shims hooks internal completions
	ban 'the repository has no notes to self' '\b(TODO|FIXME|XXX)\b'
	# Nothing generated has an env shebang: a shim called bash would call itself.
	hits=$(grep -rnE -e '^#! ?/usr/bin/env' --exclude-dir=.git --exclude-dir=bin --exclude='*_test.go' --exclude='*.txtar' --exclude='*.md' .)
	[ -z "$hits" ] || printf 'an env shebang:\n%s\n' "$hits"
}
# Documents name what is there.
documents() {
	local package file target
	"$GO" list ./... | sed 's|^github.com/enr/inner/||' | while read -r package; do
		grep -qF "\`$package\`" docs/architecture.md || printf 'docs/architecture.md has no line for %s\n' "$package"
	done
	find . -name .git -prune -o -name '*.md' -print | while read -r file; do
		grep -oE '\]\([^)#]+' "$file" | sed 's/^](//' | grep -v '://' | while read -r target; do
			[ -e "$(dirname "$file")/$target" ] || printf '%s links to %s, which does not exist\n' "$file" "$target"
		done
	done
}
one_importer() { # each outside library has one package that imports it, besides tests
	# x/sys is the kernel's names and numbers, and cobra, with its flags, is the skeleton of all commands.
	"$GO" list -f '{{$p := .ImportPath}}{{range .Imports}}{{.}} {{$p}}
{{end}}' ./... | awk '
		$1 ~ /^[^\/]*\.[^\/]*\// && $1 !~ /^github\.com\/enr\/inner(\/|$)/ && $1 !~ /^golang\.org\/x\/sys/ && $2 !~ /\/contrib\// && !($1 ~ /\/spf13\// && $2 ~ /\/inner\/cmd\//) {
			if (n[$1]++) who[$1] = who[$1] ", " $2; else who[$1] = $2
		}
		END { for (l in n) if (n[l] > 1) print l " is imported by " who[l] }'
}
# A start of inner runs the init functions of all that is linked: what speaks http is a program of its own.
# And what of inner is behind the shims or in a box is small (docs/security.md).
starts_light() {
	"$GO" list -e -tags programs,carries -deps ./cmd/inner | grep -xE 'net/http|crypto/tls|crypto/x509' | sed 's/$/ is linked into inner/'
	"$GO" list -e -tags programs,carries -deps ./cmd/inner |
		grep -xE 'github\.com/enr/inner/isolator/(agenthook|git/share|agentsettings|export|mcp|needs|verify)' | sed 's/$/ is linked into inner/'
	"$GO" list -e -tags programs -deps ./cmd/inner-shim |
		grep -xE 'net/http|crypto/tls|text/template|github\.com/spf13/.*|github\.com/enr/inner/(completions|contrib/.*|hooks/(script|watch)|isolator(/(agenthook|git/share|agentsettings|calls|container|escape/shown|export|features/waiting|handover|learn|mcp|picture|preview|consent|needs|review|roles|session|streams|undo/back|verify(/attack)?|visit|why))?|internal/sshsig|profile/(builtin|config/keys|listing|remote|shared))' |
		sed 's/$/ is linked into inner-shim/'
	"$GO" list -deps ./cmd/inner-box | grep -E '^net(/|$)|^[^/]*\.[^/]*/' |
		grep -vxE 'golang\.org/x/sys/.*|github\.com/enr/inner/(cmd/inner-box|internal/(deep|paths|visible)|isolator/(launch/(box|outside|wire)|limits|proc|seccomp))' |
		sed 's/$/ is linked into inner-box/'
}

tools || exit 1
check gofumpt "$GO" run "$GOFUMPT" -l .
check 'go vet' "$GO" vet ./...
check staticcheck "$GO" run "$STATICCHECK" ./...
check 'go mod tidy' tidy
check shellcheck shellcheck -x -- .ci/run ${scripts[@]+"${scripts[@]}"}
check 'zsh syntax' zsh_syntax
check 'fish syntax' fish_syntax
check 'house rules' bans
check 'one importer per library' one_importer
check 'what a start loads' starts_light
check documents documents
check budget contrib/budget.sh
exit "$failed"
