# shellcheck shell=bash
# stage.sh: what test.sh and mutate.sh share. To be sourced, in the root of the tree.

# test_env: the variables that tell the tests what they may count on. No test is
# skipped in silence (INNER_TEST_MUST).
test_env() {
	export INNER_TEST_MUST=1
	INNER_TEST_CLAUDE=$(contrib/agents.sh path claude)
	# Where Go itself is, for the story that builds with it in a box.
	INNER_TEST_GO=$(dirname "$(readlink -f "$(command -v "${GO:-go}")")")
	INNER_TEST_NU=$(contrib/agents.sh path nu)
	export INNER_TEST_CLAUDE INNER_TEST_GO INNER_TEST_NU
}

# copy_tree DIR: the tree as it stands into DIR, so that everybody can read it.
copy_tree() {
	mkdir -p -- "$1"
	if git ls-files -z >/dev/null 2>&1; then
		# What git knows and what is new; not what is ignored or was deleted.
		git ls-files -z --cached --others --exclude-standard |
			while IFS= read -r -d '' file; do
				if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\0' "$file"; fi
			done | tar --null --no-recursion -T - -cf - | tar -C "$1" --no-same-owner -xf -
	else
		tar --exclude=./.git --exclude=./bin -cf - . | tar -C "$1" --no-same-owner -xf -
	fi
	chmod -R a+rX,go-w "$1"
}
