# shellcheck shell=bash
# state.sh: what git and the file system say at the end of a story, of every repository in the home.
export GIT_OPTIONAL_LOCKS=0
one() {
	cd "$1" || return
	dir=$(git rev-parse --absolute-git-dir)
	common=$(cd "$(git rev-parse --git-common-dir)" && pwd)
	sed 's/^/HEAD file: /' "$dir/HEAD"
	echo "HEAD: $(git rev-parse -q --verify HEAD)"
	git for-each-ref --format='ref: %(refname) %(objectname) %(symref) %(upstream)'
	git stash list | sed 's/^/stash: /'
	# Times, sizes and numbers of files are no git's business.
	git ls-files --stage -v -t --debug 2>&1 | sed -E '/^  (ctime|mtime|dev|uid):/d; s/^  size: [0-9]+\t/  /; s/^/index: /'
	git ls-files -t | sed 's/^/index: /'
	git status --porcelain=v2 --branch --untracked-files=all 2>&1 | sed 's/^/status: /'
	# The names at the top, and the text of those that say what is going on.
	find "$dir" -mindepth 1 -maxdepth 1 -printf 'git: %f\n' | grep -vE ' (branches|description|gc.log|packed-refs|sharedindex\..*)$' | sort
	for file in "$dir"/*HEAD "$dir"/MERGE_* "$dir"/*_MSG "$dir"/*EDITMSG "$dir"/BISECT_*; do
		if [ -f "$file" ]; then sed "s|^|${file##*/}: |" "$file"; fi
	done
	(cd "$dir" && find logs -type f 2>/dev/null | sort | while read -r log; do sed "s|^|$log: |" "$log"; done)
	find "$dir" -name '*.lock' | sed 's/^/lock: /'
	if [ "$dir" = "$common" ]; then
		git config --local --list | sort | sed 's/^/config: /'
		git fsck --strict --no-dangling 2>&1 | sed '/^notice: /d; s/^/fsck: /'
	fi
	git worktree list | sed 's/^/worktree: /'
}
find "$HOME" \( -name .inner -prune \) -o \( -name .git -o -path '*/remote/*.git' \) -print -prune | sort | while read -r found; do
	case $found in */.git) found=${found%/.git} ;; esac
	(one "$found" 2>&1) | sed "s|^|$found: |"
done
# While a box is open there are empty folders, where it has something of its own.
folders=(-true)
if [ "$2" = open ]; then folders=(! -type d); fi
cd "$1" && find . \( -name .git -o -name .inner \) -prune -o "${folders[@]}" -printf '%p %y %m %l\n' | sort
find . \( -name .git -o -name .inner \) -prune -o -type f -print0 | sort -z | xargs -0 -r sha1sum
