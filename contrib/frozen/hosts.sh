# shellcheck shell=bash disable=SC2154,SC2164 # host.sh sets work, and all of it runs under set -e
# hosts.sh: the hosts on which plans are compared. To be sourced. Of a host NAME
#
#   make_NAME    makes its files, as its user, in ~/app and around it
#   mount_NAME   as root, mounts on it, or takes something of the system away
#   enter_NAME   sets the variables and the working folder of what is compared
#
# All but the first are optional. Homes, /tmp, /var/tmp and /run are empty before.

# prepare makes what all hosts have: inner's own folder, with all profiles.
prepare() {
	mkdir -p ~/app ~/data ~/.m2/repository ~/.gradle/caches ~/.gradle/wrapper
	cp /run/inner-old /run/bin/inner
	inner init >/dev/null 2>&1
	cp "$work"/profiles/*.toml "$work"/features/*.toml ~/.inner/profiles/
	chmod 0600 ~/.inner/profiles/*.toml
	inner shim regenerate >/dev/null
	cd ~/app
}

# put FILE...: a file with something in it.
put() {
	local f
	for f; do
		mkdir -p -- "$(dirname -- "$f")"
		printf 'text of %s\n' "${f##*/}" >"$f"
	done
}

repository() { # repository DIR: with one commit
	git init -q -b main "$1"
	put "$1/file"
	git -C "$1" add file
	commit "$1"
}
commit() { git -C "$1" -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; }

make_empty() { :; }

# Something at each path of the table of resources, but for what variables name.
make_secrets() {
	inner resources --json | jq -r '.[] | .kind as $k | .paths[] | select(startswith("~/")) | $k + " " + .' |
		while read -r kind path; do
			path=~/${path#"~/"}
			path=${path//\*\*/some/deep}
			path=${path//\*/x}
			path=${path//\?/y}
			path=${path//UID/$UID}
			if [ -e "$path" ]; then continue; fi
			case $kind in
			dir) put "$path/secret" ;;
			*) put "$path" ;;
			esac 2>/dev/null || :
		done
}
make_project_secrets() {
	inner resources --json | jq -r '.[] | .paths[] | select(startswith("PROJECT/"))' |
		while read -r path; do
			path=${path#PROJECT/}
			path=${path//\*\*/some}
			path=${path//\*/x}
			put "$path" "sub/$path" 2>/dev/null || :
		done
	put .env .env.local id_rsa server.key private/note a.key public.key deep/er/.env
}
make_startup() {
	repository .
	put .envrc .vscode/tasks.json .idea/workspace.xml .mcp.json .claude/settings.json .claude/commands/x.md .cursor/mcp.json \
		.gemini/settings.json .codex/config.toml opencode.json AGENTS.md .githooks/pre-commit .husky/pre-commit Makefile package.json .npmrc \
		.python-version mise.toml .tool-versions .bashrc sub/.envrc
	put ~/.bashrc ~/.bash_profile ~/.zshrc ~/.profile ~/.config/fish/config.fish
	git config core.hooksPath .githooks
}
make_repository() {
	repository .
	git tag v1
}
make_below() { # the working folder is below the repository
	repository .
	put sub/dir/file
}
enter_below() { cd ~/app/sub/dir; }
make_worktree() {
	repository ~/main
	rm -r ~/app
	git -C ~/main worktree add -q ~/app
}
make_allowed_worktree() {
	repository ~/main
	mkdir -p ~/main/.inner/profiles
	cp "$work/features/f-copies.toml" ~/main/.inner/profiles/own.toml
	printf '.inner\n' >~/main/.gitignore
	(cd ~/main && inner allow --yes >/dev/null 2>&1)
	git -C ~/main worktree add -q ~/main/tree
}
enter_allowed_worktree() { cd ~/main/tree; }
make_submodule() {
	repository ~/module
	repository .
	git -c protocol.file.allow=always submodule --quiet add ~/module module
	commit .
}
make_in_submodule() { make_submodule; }
enter_in_submodule() { cd ~/app/module; }
make_nested() {
	repository .
	repository one
	repository one/two
	git init -q --separate-git-dir ~/elsewhere three
	git clone -q --shared . four
	git -C four remote set-url origin https://user:pass@example.com/x.git
}
make_bare() {
	rm -r ~/app
	git init -q --bare ~/app
}
make_many() {
	for i in $(seq 20); do git init -q "r$i"; done
	for i in $(seq 60); do put "p$i/.env"; done
}
make_links() {
	repository ~/real
	ln -s ~/real/.git .git
	mkdir ~/conf
	put ~/conf/settings.json ~/conf/envrc
	ln -s ~/conf .claude
	ln -s ~/conf .vscode
	ln -s ~/conf/envrc .envrc
	ln -s nowhere .mcp.json
	ln -s ~/conf ~/.ssh
}
make_home_link() { make_secrets; }
enter_home_link() {
	ln -sfn "$HOME" /tmp/house
	export HOME=/tmp/house
	cd /tmp/house/app
}
make_project_link() {
	repository .
	ln -s ~/app ~/shortcut
}
enter_project_link() { cd ~/shortcut; }
make_alias() {
	make_secrets
	mkdir -p .ssh
	put .env
}
mount_alias() {
	mkdir /mnt/home
	mount --bind /home/innertest /mnt/home
}
make_project_alias() { repository .; }
mount_project_alias() {
	mkdir /mnt/app
	mount --bind /home/innertest/app /mnt/app
	mount --bind /home/innertest/data /home/innertest/app/.git/hooks
}
enter_project_alias() { cd /mnt/app; }
make_moved() {
	local d
	for d in config data state cache; do mkdir -p ~/x/$d; done
	put ~/x/config/gh/hosts.yml ~/x/data/keyrings/login.keyring ~/x/config/git/config ~/x/gnupg/key ~/x/npmrc ~/x/aws ~/x/kube
}
enter_moved() {
	export XDG_CONFIG_HOME=~/x/config XDG_DATA_HOME=~/x/data XDG_STATE_HOME=~/x/state XDG_CACHE_HOME=~/x/cache
	export GNUPGHOME=~/x/gnupg NPM_CONFIG_USERCONFIG=~/x/npmrc AWS_SHARED_CREDENTIALS_FILE=~/x/aws KUBECONFIG=~/x/kube:~/x/kube2
}
make_inner_home() { cp -r ~/.inner ~/elsewhere; }
enter_inner_home() { export INNER_HOME=~/elsewhere; }
make_in_tmp() { repository /tmp/app; }
enter_in_tmp() { cd /tmp/app; }
make_in_home() { put ~/.ssh/id_ed25519 ~/.netrc; }
enter_in_home() { cd ~; }
make_in_root() { :; }
enter_in_root() { cd /; }
make_root() { make_secrets; }
make_root_repository() {
	repository .
	make_agents
}
make_container() { :; }
mount_container() {
	mount --bind -o ro /proc/sys /proc/sys
	mount -o remount,bind,ro /proc/sys
	mount -t tmpfs -o ro tmpfs /proc/acpi 2>/dev/null || :
	local f
	for f in kcore keys latency_stats timer_list sysrq-trigger; do
		[ ! -e "/proc/$f" ] || mount --bind /dev/null "/proc/$f"
	done
	put /run/.containerenv
}
make_few_devices() { :; }
mount_few_devices() {
	local d
	mkdir /run/dev
	mount -t tmpfs -o mode=0755 tmpfs /run/dev
	for d in null zero full random urandom tty; do
		: >"/run/dev/$d"
		mount --bind "/dev/$d" "/run/dev/$d"
	done
	mkdir /run/dev/pts /run/dev/shm
	ln -s pts/ptmx /run/dev/ptmx
	ln -s /proc/self/fd /run/dev/fd
	mount --rbind /run/dev /dev
}
make_no_bwrap() { :; }
mount_no_bwrap() { mount --bind /dev/null /usr/bin/bwrap; }
make_no_git() { repository .; }
mount_no_git() { mount --bind /dev/null /usr/bin/git; }
make_sockets() {
	local s
	for s in ssh-agent bus docker.sock podman/podman.sock keyring/ssh gnupg/S.gpg-agent wayland-0 pipewire-0 pulse/native other; do
		mkdir -p "$(dirname "/run/user/$UID/$s")"
		ssh-agent -a "/run/user/$UID/$s" >/dev/null
	done
	ssh-agent -a ~/app/listening >/dev/null
	ssh-agent -a ~/data/listening >/dev/null
	ssh-agent -a /tmp/listening >/dev/null
}
mount_sockets() { ssh-agent -a /run/docker.sock >/dev/null; }
enter_sockets() {
	export SSH_AUTH_SOCK=/run/user/$UID/ssh-agent DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$UID/bus WAYLAND_DISPLAY=wayland-0
	export DOCKER_HOST=unix:///run/user/$UID/docker.sock
}
make_display() {
	mkdir -p /tmp/.X11-unix
	ssh-agent -a /tmp/.X11-unix/X7 >/dev/null
	# A file of xauth(1): family, host, display, name, key.
	printf '\377\377\0\0\0\0017\0\022MIT-MAGIC-COOKIE-1\0\0200123456789abcdef' >~/.Xauthority
}
enter_display() { export DISPLAY=:7; }
make_agents() {
	put ~/.claude/commands/x.md ~/.claude/history.jsonl ~/.gemini/GEMINI.md ~/.codex/AGENTS.md ~/.config/opencode/AGENTS.md ~/.local/share/opencode/log
	printf '{"claudeAiOauth":{"accessToken":"tok","refreshToken":"r","expiresAt":4102444800000}}\n' >~/.claude/.credentials.json
	printf '{"theme":"dark","hooks":{"Stop":[]},"mcpServers":{"x":{"command":"y"}}}\n' >~/.claude/settings.json
	printf '{"projects":{},"oauthAccount":{"a":"b"},"mcpServers":{}}\n' >~/.claude.json
	printf '{"security":{"auth":{"selectedType":"x"}}}\n' >~/.gemini/settings.json
	printf '{"access_token":"x","expiry_date":4102444800000}\n' >~/.gemini/oauth_creds.json
	printf 'model = "x"\n[mcp_servers.y]\ncommand = "z"\n' >~/.codex/config.toml
	printf '{"OPENAI_API_KEY":"k"}\n' >~/.codex/auth.json
	printf '{"model":"x","mcp":{}}\n' >~/.config/opencode/opencode.json
	printf '{"x":{"type":"api","key":"k"}}\n' >~/.local/share/opencode/auth.json
	mkdir -p .claude .codex .gemini .cursor ~/.cursor ~/.config/cursor
}
enter_agents() { export ANTHROPIC_API_KEY=k OPENAI_API_KEY=k GEMINI_API_KEY=k ANTHROPIC_BASE_URL=http://localhost:11434; }
make_agents_moved() {
	make_agents
	mv ~/.claude ~/c
	mv ~/.codex ~/x
}
enter_agents_moved() { export CLAUDE_CONFIG_DIR=~/c CODEX_HOME=~/x OPENAI_BASE_URL=https://models.example.com:8443/v1; }
make_configured() {
	cat >>~/.inner/config.toml <<'T'
[hide]
paths = ["~/data/private", "/opt/secret*"]
env = ["MYCO_*"]
[default_limits]
pids = 400
files = 300
disk = "64M"
T
	put ~/data/private/x plan.txt
}
enter_configured() { export MYCO_A=1 MYCO_TOKEN=2 GH_TOKEN=3 LC_TIME=C EDITOR=vi; }
make_project_profiles() { # allowed, with settings of its own
	repository .
	mkdir -p .inner/profiles
	cp "$work/features/f-noop.toml" .inner/profiles/f-noop.toml
	cp "$work/features/f-strict.toml" .inner/profiles/bash.toml
	printf '[hide]\npaths = ["%s/secret"]\n[default_limits]\nfiles = 111\n' "$PWD" >.inner/config.toml
	put secret/x
	inner allow --yes >/dev/null
}
make_project_untrusted() {
	make_project_profiles
	printf '\n# changed\n' >>.inner/profiles/bash.toml
	cp "$work/features/f-full.toml" .inner/profiles/new.toml
}
make_git_settings() {
	repository .
	git config --global user.name A
	git config --global user.email a@b
	git config --global commit.gpgsign true
	git config --global credential.helper store
	git config --global url.https://tok@example.com/.insteadOf gh:
	git config --global core.hooksPath ~/hooks
	git config --global include.path ~/more.gitconfig
	git config -f ~/more.gitconfig http.extraheader 'Authorization: x'
	put ~/.git-credentials ~/hooks/pre-commit
	git config remote.origin.url https://user:pass@example.com/x.git
	git config core.fsmonitor ./monitor
}
make_no_runtime() { :; }
enter_no_runtime() { unset XDG_RUNTIME_DIR SHELL; }
make_unreadable() {
	put closed/x ~/.config/closed/x
	chmod 000 closed ~/.config/closed
}
make_registries() {
	printf 'registry=https://user:pass@npm.example.com/\n//npm.example.com/:_authToken=x\n' >~/.npmrc
	put ~/.config/pip/pip.conf ~/.cargo/credentials.toml ~/.m2/settings.xml ~/.pypirc
}
enter_registries() { export HTTPS_PROXY=http://proxy.example.com:3128 PIP_INDEX_URL=https://pip.example.com/simple NVM_DIR=~/nvm; }
make_toolchains() {
	put ~/.nvm/versions/node/v1/bin/node ~/.cargo/bin/cargo ~/.pyenv/bin/python ~/.local/bin/tool ~/go/bin/x ~/.rustup/x ~/.volta/bin/x ~/.bun/bin/bun
	chmod -R a+x ~/.local/bin
}
make_nothing() { rm -r ~/.inner; } # inner's first start
