package shims

// Everyday reports whether name is a tool that daily work cannot do without.
// Entering a fresh clone must not break the prompt, an editor, git or a script, so
// a claim on such a name counts only once the user has allowed it; until then it
// is shown and not guarded. This is the one list of them.
//
// Shells are on it because every script that starts with "#!/usr/bin/env bash"
// would be refused in the clone. Interpreters and build tools are not: running the
// project's own code is what a profile is there to contain.
func Everyday(name string) bool {
	switch name {
	// Shells, and what scripts start with.
	case "sh", "bash", "dash", "ash", "busybox", "zsh", "fish", "ksh", "mksh", "csh", "tcsh", "nu", "elvish", "xonsh",
		"pwsh", "rbash":
		return true
	// GNU coreutils, as built by default.
	case "[", "arch", "b2sum", "base32", "base64", "basename", "basenc", "cat", "chcon", "chgrp", "chmod", "chown",
		"chroot", "cksum", "comm", "coreutils", "cp", "csplit", "cut", "date", "dd", "df", "dir", "dircolors", "dirname",
		"du", "echo", "expand", "expr", "factor", "false", "fmt", "fold", "groups", "head", "hostid", "hostname", "id",
		"install", "join", "kill", "link", "ln", "logname", "ls", "md5sum", "mkdir", "mkfifo", "mknod", "mktemp", "mv",
		"nice", "nl", "nohup", "nproc", "numfmt", "od", "paste", "pathchk", "pinky", "pr", "printenv", "printf", "ptx",
		"pwd", "readlink", "realpath", "rm", "rmdir", "runcon", "seq", "sha1sum", "sha224sum", "sha256sum", "sha384sum",
		"sha512sum", "shred", "shuf", "sleep", "sort", "split", "stat", "stdbuf", "stty", "sum", "sync", "tac", "tail",
		"tee", "test", "timeout", "touch", "tr", "true", "truncate", "tsort", "tty", "uname", "unexpand", "uniq",
		"unlink", "uptime", "users", "vdir", "wc", "who", "whoami", "yes":
		return true
	// The rest of what scripts and shell start-up files call.
	case "awk", "gawk", "mawk", "nawk", "sed", "grep", "egrep", "fgrep", "find", "xargs", "diff", "diff3", "cmp", "sdiff",
		"patch", "file", "which", "whereis", "locate", "getopt",
		"getconf", "getent", "locale", "iconv", "flock", "script",
		"setsid", "bc", "dc", "ed", "column", "rev", "hexdump",
		"xxd", "strings", "tput", "tset", "reset", "clear", "infocmp",
		"tic", "lesspipe", "lesskey", "dirmngr", "envsubst", "gettext",
		"logger", "mesg", "ldd", "ldconfig", "lsb_release",
		"command-not-found":
		return true
	// Archives.
	case "tar", "gzip", "gunzip", "zcat", "bzip2", "bunzip2", "bzcat", "xz", "unxz", "xzcat", "zstd", "unzstd", "zip", "unzip",
		"cpio", "lz4", "7z":
		return true
	// Processes and the system.
	case "ps", "pgrep", "pkill", "pidof", "killall", "top", "htop", "btop", "free", "vmstat", "watch", "w", "last", "lsof",
		"fuser", "strace", "ltrace", "gdb", "mount", "umount", "findmnt", "lsblk", "dmesg", "systemctl", "journalctl",
		"loginctl", "ip", "ss", "netstat", "ping", "dig", "host", "nslookup", "crontab", "at":
		return true
	// Being somebody, or somewhere else.
	case "ssh", "ssh-add", "ssh-agent", "ssh-keygen", "scp", "sftp", "mosh", "rsync", "gpg", "gpg2", "gpg-agent", "gpgconf",
		"gpg-connect-agent", "gpgv", "pinentry", "pass", "pkexec", "newgrp", "sg", "passwd", "curl", "wget":
		return true
	// Version control.
	case "git", "git-lfs", "gitk", "git-gui", "tig", "lazygit", "gh", "glab", "hub", "hg", "svn", "jj", "delta", "diff-so-fancy":
		return true
	// Editors and pagers.
	case "vi", "vim", "nvim", "view", "vimdiff", "gvim", "ex", "emacs", "emacsclient", "nano", "pico", "micro", "hx", "helix",
		"kak", "joe", "mcedit", "code", "code-insiders", "codium", "cursor", "zed", "subl", "editor", "sensible-editor",
		"less", "more", "most", "pager", "sensible-pager", "bat", "batcat", "man", "apropos", "whatis", "info":
		return true
	// Terminals, multiplexers, and what opens or copies things.
	case "tmux", "screen", "zellij", "byobu", "abduco", "dtach", "xdg-open", "sensible-browser", "open", "xclip", "xsel",
		"wl-copy", "wl-paste", "notify-send":
		return true
	// Prompts, and what shells call at every prompt or change of folder.
	case "starship", "oh-my-posh", "powerline", "powerline-render", "powerline-config", "powerline-go", "powerline-daemon",
		"gitstatusd", "vcs_info", "direnv", "mise", "rtx", "asdf", "zoxide",
		"autojump", "fasd", "z", "atuin", "mcfly", "fzf",
		"fd", "fdfind", "rg", "ag", "eza", "exa", "lsd", "tree",
		"thefuck", "carapace", "vivid", "nvm", "fnm", "pyenv", "rbenv",
		"nodenv", "goenv", "jenv", "sdk", "keychain", "jq", "yq":
		return true
	}
	return false
}
