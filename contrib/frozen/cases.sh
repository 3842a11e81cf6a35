#!/bin/bash
# cases.sh HOST OUT: what both binaries print on this host, compared. As the user of the host.
set -eu
host=$1 out=$2 work=${work:?set by host.sh}
# shellcheck source=contrib/frozen/hosts.sh
. "$work/frozen/hosts.sh"
cd ~/app
if declare -F "enter_$host" >/dev/null; then "enter_$host"; fi

# The profiles, each with what is printed of it.
profiles=(claude-interactive claude-one-shot cursor-interactive gemini-interactive gemini-one-shot shell shell-oneshot)
for f in "$work"/profiles/*.toml "$work"/features/*.toml; do
	f=${f##*/}
	profiles+=("${f%.toml}")
done

# case_ NAME COMMAND...: what it prints, and its exit code.
case_() {
	local name=$1 code=0
	shift
	names+=("$name")
	[ -z "$only" ] || [[ $only == *" $name "* ]] || return 0
	"$@" >"$to/$name" 2>"$to/$name.err" </dev/null || code=$?
	printf 'exit code %d\n' "$code" >>"$to/$name.err"
	cat "$to/$name.err" >>"$to/$name"
	rm -- "$to/$name.err"
}

# all FOLDER: everything, or with only set what it names.
all() {
	to=$out/$1
	names=()
	mkdir -p "$to"
	local p shell word
	for p in "${profiles[@]}"; do
		case_ "$p.plan.json" inner run --dry-run --json -p "$p" -- one two
		case $host/$p in
		empty/* | */shell-oneshot | */claude-one-shot | */f-full | */f-strict | */node) case_ "$p.explain.json" inner explain --json -p "$p" ;;
		esac
		[ "$host" = empty ] || continue # these say much the same on every host
		case_ "$p.paste" inner run --dry-run -p "$p"
		case_ "$p.explain" inner explain -p "$p"
		case_ "$p.show.json" inner profile show --json "$p"
		case_ "$p.show-explain" inner profile show --explain "$p"
		case_ "$p.validate.json" inner profile validate --json "$p"
		case_ "$p.diff.json" inner profile diff --json shell "$p"
		case_ "$p.flags.json" inner run --dry-run --json -p "$p" --network -m /usr:/mnt:ro -e A=b --limit-files 100 --timeout 3s --entrypoint true
	done
	for word in bash claude git python3 nothing; do
		case_ "which-$word.json" inner which --json "$word"
		case_ "which-$word" inner which "$word"
	done
	case_ status.json inner status --json
	case_ status inner status
	case_ list.json inner profile list --json
	case_ shims.json inner shim list --json
	case_ check inner shim regenerate --check
	case_ config.json inner config show --json
	case_ get.json inner config get --json default_limits.pids
	case_ allow inner allow
	case_ doctor.json inner doctor --json
	if [ "$host" = empty ]; then
		case_ resources.json inner resources --json
		case_ audit.json inner audit --json
		case_ log.json inner log list --json
		case_ changes.json inner changes list --json
		case_ version.json inner version --json
		case_ help inner help
		for shell in bash zsh fish; do
			case_ "hook.$shell" inner hook "$shell"
			case_ "completion.$shell" inner completion "$shell"
		done
	fi
	# The version, times, and how long something took.
	find "$to" -type f -exec sed -Ei \
		-e 's/"(version|commit|built)": "[^"]*"/"\1": ""/' -e 's/inner [0-9a-f]{7,}(-dirty)?/inner VERSION/g' \
		-e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{5,}[0-9.]*(Z|[+-][0-9:]+)?/TIME/g' \
		-e 's/\b[0-9.]+ ?(ms|us|µs)( ago)?\b/DURATION/g' {} +
}

# use VERSION: the same path holds the other binary.
use() {
	cp "/run/inner-$1" /run/bin/inner.new
	mv /run/bin/inner.new /run/bin/inner
}
only=
use old
# What is asked once and remembered: the folder of inner itself.
inner profile show --explain f-agents >/dev/null 2>&1 || :
inner profile show --explain claude-one-shot >/dev/null 2>&1 || :
all old
use new
all new
# What is not the same is asked of the old one once more: it may be the host that changed.
for name in "${names[@]}"; do
	cmp -s "$out/old/$name" "$out/new/$name" || only="$only $name "
done
if [ -n "$only" ]; then
	use old
	all again
	for name in $only; do
		cmp -s "$out/again/$name" "$out/new/$name" || diff -U2 "$out/old/$name" "$out/new/$name" || :
	done >"$out/diff"
fi
printf '%d\n' "${#names[@]}" >"$out/count"
