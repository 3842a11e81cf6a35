#!/bin/bash
# runs.sh OUT: real runs with the binary at /run/inner-old. In OUT, for each: what it printed,
# which files were made on the way, and what of the host is another one after it.
set -eu
out=$1 work=${work:?set by host.sh}
# shellcheck source=contrib/frozen/hosts.sh
. "$work/frozen/hosts.sh"
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
prepare
make_repository >/dev/null 2>&1
put .env notes/a.txt notes/b.txt ~/data/inner.txt
make_agents
git config --global user.name A
git config --global user.email a@b
mkdir -p .inner/profiles
cp "$work/features/f-words.toml" .inner/profiles/claude.toml
sed -i 's/cmd = "sh"/cmd = "claude"/' .inner/profiles/claude.toml
inner allow --yes >/dev/null 2>&1

# same: standard input without what differs from run to run: ids, times, numbers of processes,
# and random names.
same() {
	sed -E -e 's/[0-9]{8}-[0-9]{6}-[0-9a-f]+/RUN/g' -e 's/[0-9]{8}T?[0-9]{6}[-.]?[0-9]*/TIME/g' \
		-e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{5,}[0-9.]*(Z|[+-][0-9:]+)?/TIME/g' \
		-e 's#/proc/[0-9]+#/proc/PID#g; s#/task/[0-9]+#/task/PID#g' -e 's#tmp_(obj|pack|idx|rev)_[A-Za-z0-9]+#tmp_\1_X#g' \
		-e 's/\b[0-9a-f]{40}\b/HASH/g; s/\b[0-9a-f]{64}\b/SHA256/g' -e 's#/[0-9a-f]{2}/[0-9a-f]{38}#/OBJECT#g' \
		-e 's/"(pid|ms|duration_ms|millis|bytes|size|kept|version|inner|prev|hash)": ?"?[^",}]*"?/"\1":X/g' \
		-e 's/\b(mnt|ipc|uts|cgroup|net|pid|user):\[[0-9]+\]/\1:[N]/g; s/(127\.0\.0\.1|\[::1\]):[345][0-9]{4}/\1:PORT/g' -e 's/ for [0-9.]+(ms|s|m):/ for TIME:/' -e 's#/bindfile[A-Za-z0-9]{6}#/bindfileXXXXXX#g' \
		-e 's#/\.new-[0-9]+#/.new-N#g; s#/\.inner-[0-9a-f]{16}#/.inner-X#g'
}

# tree: everything there is, but for what only processes of this script have. Sizes of
# records differ by the digits of times, those of inner by its code.
tree() {
	find "$HOME" /tmp /var/tmp "/run/user/$UID" -printf '%y %m %u:%g %s %p %l\n' 2>/dev/null | sed -E 's/ [0-9]+ ([^ ]*\/logs\/refs\/[^ ]*|[^ ]*\/shims\/inner|[^ ]*\.(jsonl|json|log|cast|idx|pack|rev|out)(\.[0-9])?) / SIZE \1 /; s/^(d [^ ]+ [^ ]+) [0-9]+ /\1 SIZE /' | same | sort
}

# files: the names that a trace of strace -f -y has as made or changed. A call that was
# interrupted is on two lines. How far git's objects are held depends on the time a run takes.
files() {
	awk '
	{ pid = $1; sub(/^[0-9]+ +/, "") }
	/^[-+]/ { next }
	/ <unfinished \.\.\.>$/ { sub(/ <unfinished.*/, ""); begun[pid] = $0; next }
	/^<\.\.\. / { sub(/^<[^>]*>/, ""); $0 = begun[pid] $0 }
	/ = -1 / { next }
	{ call = $0; sub(/\(.*/, "", call) }
	call ~ /^open/ && !/O_CREAT/ { next }
	{
		rest = substr($0, length(call) + 2); dir = ""; what = call; target = 0
		while (match(rest, /AT_FDCWD<[^>]*>|[0-9]+<[^>]*>|"[^"]*"/)) {
			word = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
			if (word ~ /^"/) {
				word = substr(word, 2, length(word) - 2)
				if (call ~ /^symlink/ && !target++) { what = what " " word " <-"; continue }
				if (word !~ /^\// && dir != "") word = dir "/" word
				what = what " " word
			} else {
				dir = word; sub(/^[^<]*</, "", dir); sub(/>$/, "", dir)
				if (call ~ /^f(chmod|chown)$/) what = what " " dir
			}
		}
		if (what ~ / ./) print what
	}' | grep -vE ' /(proc|dev)/|memfd:|pipe:|socket:|anon_inode' | same | grep -v '/RUN/[0-9]*/hold' | sort -u
}

# run NAME COMMAND...: one of the runs.
run() {
	local name=$1 code=0
	shift
	cd ~/app
	tree >"$out/before"
	strace -f -qq -y -s 4096 -o "$out/trace" \
		-e trace=open,openat,openat2,creat,mkdir,mkdirat,mknod,mknodat,symlink,symlinkat,link,linkat,rename,renameat,renameat2,chmod,fchmod,fchmodat,chown,lchown,fchown,fchownat,bind \
		"$@" >"$out/text" 2>&1 </dev/null || code=$?
	{
		same <"$out/text"
		printf 'exit code %d\n' "$code"
	} >"$out/$name.printed"
	files <"$out/trace" >"$out/$name.files"
	tree | diff "$out/before" - | grep '^[<>]' >"$out/$name.left" || :
	rm "$out/before" "$out/trace" "$out/text"
}

# What a box looks like from inside.
cat >~/inside.sh <<'T'
echo "--- $*"
sed -E 's/^[0-9]+ [0-9]+ [0-9]+:[0-9]+ //; s/ (shared|master):[0-9]+//g; s/size=[0-9]+k/size=N/' /proc/self/mountinfo
grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Speculation)' /proc/self/status
ulimit -a | grep -v 'pending signals'
pwd; env | grep -v '^_=' | sort
ls -A ~ /tmp /run /run/inner 2>&1
find ~/.claude ~/.codex ~/.gemini ~/.config/opencode -type f 2>/dev/null | sort | while read -r f; do printf '%s ' "$(stat -c %a "$f")"; md5sum "$f"; done
cat .env ~/.ssh/id_rsa /run/.innerenv 2>&1
ls -la /proc/self/fd | wc -l
T
inside=$(cat ~/inside.sh)
tree >"$out/first.left"
box() { # box NAME PROFILE FLAG...: from inside of a box of this profile
	local name=$1 profile=$2
	shift 2
	run "$name" inner run -p "$profile" --entrypoint bash "$@" -- -c "$inside" inside
}

for p in shell-oneshot claude-one-shot claude-interactive codex opencode gemini-interactive python f-strict f-full f-limits f-agents f-words f-mounts f-network f-missing f-box; do
	box "box-$p" "$p"
done
run plain inner run -p shell-oneshot -- 'echo out; echo err >&2; exit 3'
run commit inner run -p shell-oneshot -- 'export GIT_AUTHOR_DATE="1700000001 +0000" GIT_COMMITTER_DATE="1700000001 +0000"; git checkout -qb work && echo x >new && git add new && git commit -qm new && git log --oneline | wc -l'
run copies inner run -p f-copies -- -c 'echo more >>notes/a.txt; rm notes/b.txt; mkdir made; echo x >made/y'
run copies-list inner changes list --json
run copies-show inner changes show --json
run copies-apply inner changes apply
run blocked inner run -p f-words -- -c 'apt-get install x; docker ps; pip install y'
run refused inner run -p f-clipboard
run missing inner run -p shell-oneshot --entrypoint nosuchprogram
run timeout inner run -p f-words --timeout 1s -- -c 'sleep 30'
run shim claude --version
run placeholders inner run -p f-words -- -c 'stat -c "%A %n" .claude .mcp.json .vscode .inner .git; touch .mcp.json; mkdir .cursor/x'
run terminal script -qec 'inner run -p f-recorded --entrypoint bash -- -c "echo on a terminal; tty"' /dev/null
run shell script -qec 'inner run -p shell -- -c "echo in a shell; history"' /dev/null
run recorded script -qec 'inner run -p f-recorded -- -c "stty size; echo recorded"' /dev/null
run verify inner verify --json -p shell-oneshot
run learn inner learn --json -p shell-oneshot -- sh -c 'cat ~/data/inner.txt; touch ~/data/new; echo done'
run denials inner run --explain-denials -p shell-oneshot -- 'cat ~/.claude.json'
run ports inner run -p f-network -- -c 'cat /proc/net/tcp | tail -n +2 | sed "s/.* 0A .*/listens/" | sort | uniq -c'
run log inner log list --json
run log-show inner log show --json
run audit inner audit --json
run audit-verify inner audit verify --json
run status inner status --json
run clean inner log clean --yes
run uninstall inner uninstall --yes
touch "$out/done"
