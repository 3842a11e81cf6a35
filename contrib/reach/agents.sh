# shellcheck shell=bash disable=SC2154,SC2034
# agents.sh: real Claude Code, Codex and Gemini CLI in boxes, with logins that they cannot read, before services at their
# own names that hold each request against what was given out (peer/agents.go). The built-in profiles say so. Sourced by user.sh.
export LAB_TOKEN=$INNER_TEST_REACH_TOKEN
export TMUX_TMPDIR=$HOME # the terminals of another run are in other networks
service() { curl -sS --fail "http://192.175.48.1/agents/$1/$2"; }
# asked AGENT VERDICT [HOST]: what it asked since the last call of since, with a login of this kind.
since() { before=$(wc -l <"$S/logs/peer"); }
asked() { tail -n "+$((before + 1))" "$S/logs/peer" | grep -E "^$1 $2 [A-Z]+ ${3-}"; }
# check NAME COMMAND...: the command succeeds.
check() {
	local out
	if out=$("${@:2}" 2>&1); then printf 'ok      %s\n' "$1"; else
		printf 'FAILED  %s\n' "$1"
		tail -n 12 <<<"$out" | sed 's/^/            /'
		failures=1
	fi
}
not() { ! "$@"; }
# screen COMMAND...: it runs in a terminal. want PATTERN: which is seen there within a minute. enter TEXT: it is typed.
screen() { tmux -L reach -f /dev/null new-session -d -x 120 -y 50 "$(printf '%q ' "$@"); echo ended \$?; exec sleep 600"; }
want() {
	local end=$((SECONDS + 60))
	until tmux -L reach capture-pane -p | grep -qE -e "$1"; do
		if [ $SECONDS -ge $end ]; then
			printf 'wanted "%s", seen:\n' "$1"
			tmux -L reach capture-pane -p -S - | grep -v '^ *$'
			return 1
		fi
		sleep 0.1
	done
}
enter() {
	tmux -L reach send-keys -l "$1"
	want "$(cut -c1-20 <<<"$1")"
	sleep 0.5 # an Enter that comes at once is one of text that is pasted
	tmux -L reach send-keys Enter
}
# ended: nobody is at the terminal any more, and the box has ended, which keeps its home until then.
ended() {
	local end=$((SECONDS + 60))
	tmux -L reach kill-server
	until inner ps 2>&1 | grep -q 'no box is running' || [ $SECONDS -ge $end ]; do sleep 0.1; done
}
# anywhere TEXT: where boxes have it, their memory and files included.
anywhere() {
	printf '%s\n' "$1" >"$S/search"
	cat "$S/found"
}

# An agent of each kind, as its owner has it.
git init -q
mkdir "$HOME/.codex" "$HOME/.gemini"
printf '{"hasCompletedOnboarding": true, "theme": "dark", "numStartups": 3}\n' >"$HOME/.claude.json"
# With gpt-5.5 this version has a shell that is called exec_command. It takes a key from a variable only where a provider says so.
printf 'model = "gpt-5.5"\n[model_providers.key]\nname = "key"\nbase_url = "https://api.openai.com/v1"\nenv_key = "CODEX_API_KEY"\nwire_api = "responses"\n[notice.model_migrations]\n"gpt-5.5" = "gpt-6-sol"\n' >"$HOME/.codex/config.toml"
printf '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n' >"$HOME/.gemini/settings.json"
declare -A pipe=(
	[claude]='args = ["-p", "--dangerously-skip-permissions"]'
	[codex]='args = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]'
	[gemini]='args = ["--yolo", "-m", "gemini-2.5-pro", "-p"]'
) term=(
	[claude]='args = ["--dangerously-skip-permissions"]'
	[codex]='args = ["-c", "model_provider=key", "--dangerously-bypass-approvals-and-sandbox"]'
	[gemini]='args = ["--yolo", "-m", "gemini-2.5-pro"]'
)
for agent in claude codex gemini; do
	for kind in pipe term; do
		declare -n args=$kind
		cat >"$HOME/.inner/profiles/$agent-$kind-key.toml" <<-END
			schema_version = "1"
			extends = "$agent-interactive"
			[entrypoint]
			interactive = $([ $kind = term ] && echo true || echo false)
			${args[$agent]}
		END
	done
done
ANTHROPIC_API_KEY=$(service claude key) CODEX_API_KEY=$(service codex key) GEMINI_API_KEY=$(service gemini key)
export ANTHROPIC_API_KEY CODEX_API_KEY GEMINI_API_KEY

for agent in claude codex gemini; do
	printf '\n# %s with a key that it cannot read\n' "$agent"
	since
	seen=$(inner run -p "$agent-pipe-key" -- "please do ~~touch made-by-$agent~~" 2>&1 </dev/null) || failures=1
	also "$agent, in a pipe" '^turn 1 is done'
	check 'it used its shell in the box' test -e "made-by-$agent"
	check 'the service got the key' asked "$agent" key
	screen inner run -p "$agent-term-key"
	case $agent in
	claude) check 'it starts in a terminal, and asks nothing' want 'API Usage Billing' ;;
	codex) check 'it starts in a terminal, and asks nothing' want 'Ask Codex to do' ;;
	gemini) check 'it starts in a terminal, and asks nothing' want 'Type your message' ;;
	esac
	check 'a prompt is typed' enter "please do ~~touch typed-by-$agent~~"
	check 'it is answered' want 'turn 1 is done'
	check 'it used its shell in the box' test -e "typed-by-$agent"
	seen=$(anywhere "$LAB_TOKEN")
	also 'the value is nowhere in the box, in no memory either' '^[1-9][0-9]* processes: $'
	seen=$(anywhere "$(service $agent key | cut -c1-4)")
	also 'its placeholder is' 'environ of'
	ended
	# Codex shows its key to ChatGPT, too, which is none of its hosts here.
	check 'no service got a placeholder' not asked "$agent" STRANGE '[^c]'
done

# The login that the agent keeps and renews, through one long session in a terminal, and what comes behind it.
unset ANTHROPIC_API_KEY CODEX_API_KEY GEMINI_API_KEY
printf '{"security": {"auth": {"selectedType": "oauth-personal"}}}\n' >"$HOME/.gemini/settings.json"
declare -A stores=([claude]=.claude/.credentials.json [codex]=.codex/auth.json [gemini]=.gemini/oauth_creds.json) resume=(
	[claude]=--continue [codex]='resume --last' [gemini]='--resume latest'
) logout=([claude]='auth logout' [codex]=logout)
term[codex]='args = ["--dangerously-bypass-approvals-and-sandbox"]'
# put AGENT WHAT: the login of the service, after this was done with it, is the host's.
put() {
	local file=$HOME/${stores[$1]}
	mkdir -p "${file%/*}"
	(umask 077 && service "$1" "$2" >"$file.new" && mv "$file.new" "$file")
}
# current AGENT: the host has the login that counts.
current() {
	service "$1" store | grep -o '"\(refreshToken\|refresh_token\|access_token\|accessToken\)":"[^"]*"' | cut -d'"' -f4 >"$HOME/want"
	[ -s "$HOME/want" ] && while read -r text; do grep -qF -- "$text" "$HOME/${stores[$1]}" || return 1; done <"$HOME/want"
}
for agent in claude codex gemini; do
	printf '\n# %s with its own login, which it cannot read: a long session\n' "$agent"
	for kind in pipe term bare; do
		args=
		[ $kind = bare ] || { declare -n of=$kind && args=${of[$agent]}; }
		cat >"$HOME/.inner/profiles/$agent-$kind-login.toml" <<-END
			schema_version = "1"
			extends = "$agent-interactive"
			[entrypoint]
			interactive = $([ $kind = term ] && echo true || echo false)
			${args:-args = []}
		END
	done
	put "$agent" store
	since
	screen inner run -p "$agent-term-login"
	check 'it starts in a terminal, and asks for no login' want 'Claude Max|Ask Codex to do|Type your message'
	check 'a prompt' enter "please do ~~touch used-by-$agent~~"
	check 'it is answered' want 'turn 1 is done'
	check 'it used its shell in the box' test -e "used-by-$agent"
	check 'the service got the token' asked "$agent" token
	seen=$(anywhere "$LAB_TOKEN")
	also 'no token is in the box' '^[1-9][0-9]* processes: $'

	turn=1
	if [ "$agent" != gemini ]; then # which takes a 401 for the end, outside as well
		since
		service "$agent" revoke >/dev/null
		check 'a prompt when the token does not count any more' enter 'please do ~~true~~'
		check 'it is answered' want "turn $((++turn)) is done"
		check 'the login was renewed' asked "$agent" renewed
		check 'the host has it' current "$agent"
	fi

	since
	put "$agent" renew
	check 'a prompt after the host has renewed' enter 'please do ~~true~~'
	check 'it is answered' want "turn $((++turn)) is done"
	check 'with the new token alone' not asked "$agent" '(old|renewed)'

	service "$agent" down >/dev/null
	check 'a prompt while the service is not there' enter 'please do ~~true~~'
	sleep 3
	service "$agent" up >/dev/null
	check 'it is answered when that is back' want "turn $((++turn)) is done"
	seen=$(anywhere "$LAB_TOKEN")
	also 'no token is in the box' '^[1-9][0-9]* processes: $'
	ended

	service "$agent" 'life?seconds=320'
	put "$agent" renew
	service "$agent" 'life?seconds=3600'
	since
	# shellcheck disable=SC2086
	screen inner run -p "$agent-term-login" -- ${resume[$agent]}
	check 'the session goes on in a new run' want "turn $turn is done"
	sleep 25 # the login ends in less than five minutes then
	check 'a prompt' enter 'please do ~~true~~'
	check 'it is answered' want "turn $((++turn)) is done"
	check 'the login was renewed before its end' asked "$agent" renewed
	check 'the host has it' current "$agent"
	ended
	check 'no service got a placeholder' not asked "$agent" STRANGE
	[ "$agent" != gemini ] || continue # which has no command for it
	cp "$HOME/${stores[$agent]}" "$HOME/before"
	since
	# shellcheck disable=SC2086
	check 'it logs out in the box' inner run -p "$agent-bare-login" -- ${logout[$agent]}
	check 'the host stays logged in' cmp "$HOME/before" "$HOME/${stores[$agent]}"
	check 'the service was not told of its login' not asked "$agent" '(token|old)' '.*/revoke'
	# shellcheck disable=SC2086
	seen=$(inner run -p "$agent-pipe-login" -- ${resume[$agent]} 'please do ~~true~~' 2>&1 </dev/null) || failures=1
	also 'the next run is logged in, and goes on' "^turn $((++turn)) is done"
	[ "$agent" = claude ] || continue
	service "$agent" end >/dev/null
	put "$agent" store
	sed -i 's/"expiresAt":[0-9]*/"expiresAt":1000/' "$HOME/${stores[$agent]}"
	refused=$(inner run -p "$agent-pipe-login" -- hello 2>&1 </dev/null)
	check 'a login that has ended, and is not renewed, starts nothing' grep -q 'OAuth token is expired and could not be refreshed' <<<"$refused"
done
