package profile

import "slices"

// DotEntries are what a box sees of a home that is the host's, of all that begins with a dot: what
// shells, editors and git read, and installed programs. Each holds no secrets where people keep it
// as it comes, or the table of secrets (isolator/sensitive) hides those in it. What is not listed
// is not shown: a secret of tomorrow has a name that no table knows.
func DotEntries() []string {
	return slices.Concat(toolchainFolders(), []string{
		".inner", // covered by its own rule
		".bashrc", ".bashrc.d", ".bash_profile", ".bash_login", ".bash_logout",
		".bash_aliases", ".bash_prompt", ".bash_completion", ".bash_completion.d",
		".profile", ".inputrc", ".git-prompt.sh", ".git-completion.bash", ".fzf",
		".fzf.bash", ".fzf.zsh", ".config/fzf", ".local/share/blesh", ".local/share/bash-completion",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".zsh", ".config/zsh",
		".zsh_aliases", ".zsh_plugins.zsh", ".oh-my-zsh", ".p10k.zsh", ".zplug", ".antidote", ".antigen",
		".zprezto", ".zpreztorc", ".zim", ".zimrc", ".zinit", ".local/share/zinit", ".local/share/sheldon",
		".aliases", ".functions", ".exports", ".config/shell", ".mkshrc", ".kshrc", ".shrc",
		".cshrc", ".tcshrc", ".login", ".elvish", ".config/elvish", ".config/nushell",
		".config/fish/config.fish", ".config/fish/conf.d", ".config/fish/functions",
		".config/fish/completions", ".config/starship.toml",
		".vim", ".vimrc", ".config/vim", ".config/nvim", ".local/share/nvim/site",
		".local/share/nvim/lazy", ".local/share/nvim/mason", ".config/helix", ".nanorc", ".emacs",
		".emacs.d", ".config/emacs", ".doom.d",
		".editorconfig", ".ctags", ".gdbinit", ".irbrc", ".mailcap", ".latexmkrc", ".ghc",
		".tmux", ".tmux.conf", ".config/tmux", ".screenrc", ".config/zellij",
		".dircolors", ".dir_colors", ".lesskey", ".hushlogin",
		".config/bat", ".config/broot", ".config/htop", ".config/lf",
		".config/yazi", ".config/lazygit", ".config/ripgrep", ".ripgreprc",
		".gitconfig", ".gitconfig.d", ".gitmessage", ".gitignore",
		".gitignore_global", ".gitattributes", ".git-hooks", ".config/git",
		".local/lib", ".local/share/man", ".npm-packages", ".dotnet",
		".pixi", ".guix-profile", ".asdfrc", ".config/go/env",
		".cargo/registry", ".cargo/git", ".m2/repository", ".nuget/packages", // what was fetched, for a box without a network
	})
}
