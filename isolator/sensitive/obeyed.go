// Package sensitive is the table of the host's resources that a box must not have: what it
// does not see (resources.toml), start-up files of shells and sessions, and what tools
// outside execute or believe. Where they are in one run depends on homes, variables and
// the roots of projects, which are given to it as plain values (Run); it asks no disk.
//
// A file is in the part about tools outside when a program on the host starts something
// that the file names, or takes its settings from it, although the person asked neither to
// run the project nor to read that file. Such programs are the prompt and the shell when
// they enter a folder, an editor or an agent that opens one, git in any command, and a build
// tool or an interpreter that is merely asked for its version, for a list, or for help.
//
// Sources and recipes that exist to be run are not protected: they are the project, and
// nothing would be left for an agent to write. Neither is prose that an agent reads and then
// asks about. Rows of such files are Told: the end of a run names the ones that changed.
//
// Every part of inner uses this one table: what exists is read-only in a box, what a run
// makes is moved aside at its end, `inner changes apply` wants it named, `inner explain` and
// `inner verify` list it.
package sensitive

// Where says in which folders a tool looks for a file.
type Where int

const (
	// Anywhere is any folder: the tool looks in the folder that somebody enters or
	// opens, or from there upwards, and that may be each.
	Anywhere Where = iota
	// Top is the top of a work tree, or of what the box could write.
	Top
	// Home is the home of the user.
	Home
)

// Row is what one kind of tool obeys.
type Row struct {
	Tool  string   // who obeys it, for people
	Names []string // a path with slashes; "*" stands for part of a name, a slash at the end for a folder and all that is in it
	Where Where
	// Made folders are made for a run and covered, so that the box cannot make them, where a
	// tool is on this computer that would obey them at once: one of Signs is there. What the
	// box makes of all others is moved aside at the end of its run.
	Made  bool
	Signs []string // a program on PATH, or a path of the home with ~/
	// Trees is a folder in a Made one in which the tool keeps work trees of git that it made
	// itself. What lies in it is a project like others, and no part of the row.
	Trees string
	Told  bool // the end of a run names it, and that is all
}

// Rows returns the table.
func Rows() []Row { return obeyedTable }

var obeyedTable = []Row{ // allowed: never changed
	// --- inner itself

	{Tool: "inner", Names: []string{".inner/"}},

	// --- agents: settings, hooks, servers that they start, commands they may run

	{Tool: "agents", Made: true, Names: []string{".claude/"}, Signs: []string{"~/.claude", "~/.config/claude", "claude"}, Trees: "worktrees"},
	{Tool: "agents", Made: true, Names: []string{".codex/"}, Signs: []string{"~/.codex", "codex"}},
	{Tool: "agents", Made: true, Names: []string{".agents/"}, Signs: []string{"~/.agents", "~/.codex", "~/.gemini", "~/.config/opencode", "codex", "gemini", "opencode", "amp", "goose"}},
	{Tool: "agents", Made: true, Names: []string{".gemini/"}, Signs: []string{"~/.gemini", "gemini"}},
	{Tool: "agents", Made: true, Names: []string{".cursor/"}, Signs: []string{"~/.cursor", "~/.config/Cursor", "~/.cursor-server", "cursor", "cursor-agent"}},
	{Tool: "agents", Made: true, Names: []string{".opencode/"}, Signs: []string{"~/.config/opencode", "~/.local/share/opencode", "opencode"}},
	{Tool: "agents", Names: []string{
		".mcp.json", ".claude.json", "opencode.json", "opencode.jsonc", ".agent/", ".amazonq/",
		".amp/", ".augment/", ".cline/", ".clinerules/", ".codebuddy/", "codebuff.json", ".continue/", ".continuerc.json",
		".copilot/", ".github/hooks/", ".github/mcp.json", ".crush/", ".crush.json", "crush.json",
		".aider.conf.yml", ".aider.conf.yaml", ".factory/", ".goose/", ".grok/",
		".iflow/", ".junie/", ".kilo/", ".kilocode/", ".kimi/", ".kiro/", ".letta/", ".openhands/", ".pi/",
		".qoder/", ".qodo/", ".qwen/", ".roo/", ".roomodes", ".trae/", ".vibe/", ".warp/",
		".windsurf/", ".zencoder/",
	}},
	{Tool: "agents", Told: true, Names: []string{
		"claude.md", "claude.local.md", "agents.md", "agents.override.md", "agent.md", "gemini.md",
		"qwen.md", "crush.md", ".cursorrules", ".windsurfrules", ".roorules", ".goosehints",
		".github/copilot-instructions.md", ".github/instructions/", ".github/prompts/", ".github/agents/",
	}},

	// --- editors: tasks, language servers, interpreters, settings

	{Tool: "VS Code", Made: true, Names: []string{".vscode/", ".devcontainer/"}, Signs: []string{
		"~/.vscode", "~/.vscode-server", "~/.vscode-insiders", "~/.vscode-oss",
		"~/.cursor", "~/.windsurf", "~/.config/Code", "~/.config/Code - OSS",
		"~/.config/VSCodium", "~/.config/Cursor", "~/.config/Windsurf",
		"~/.var/app/com.visualstudio.code", "~/.var/app/com.vscodium.codium", "~/.local/share/code-server", "code", "code-insiders",
		"codium", "cursor", "windsurf", "code-server", "devcontainer",
	}},
	{Tool: "JetBrains", Made: true, Names: []string{".idea/"}, Signs: []string{
		"~/.config/JetBrains", "~/.local/share/JetBrains", "~/.cache/JetBrains", "~/.config/Google", "idea", "idea.sh",
		"pycharm", "goland", "webstorm", "clion", "phpstorm", "rubymine",
		"rider", "rustrover", "studio", "studio.sh",
	}},
	{Tool: "VS Code", Names: []string{"*.code-workspace", ".devcontainer.json", ".theia/", ".void/"}},
	{Tool: "Zed", Names: []string{".zed/"}},
	{Tool: "Vim and Neovim", Names: []string{
		".exrc", "_exrc", ".vimrc", "_vimrc", ".gvimrc", ".lvimrc", ".vim/", ".nvim/",
		".nvimrc", ".nvim.lua", ".lazy.lua", ".neoconf.json", ".nlsp-settings/", ".vimspector.json", ".ycm_extra_conf.py",
	}},
	{Tool: "Emacs", Names: []string{".dir-locals.el", ".dir-locals-2.el"}},
	{Tool: "Helix", Names: []string{".helix/"}},
	{Tool: "Lapce", Names: []string{".lapce/"}},
	{Tool: "Sublime Text", Names: []string{"*.sublime-project", "*.sublime-workspace"}},
	{Tool: "JetBrains", Names: []string{".fleet/", ".run/", "*.ipr", "*.iws"}},
	{Tool: "Eclipse", Names: []string{".project", ".classpath", ".settings/", ".externalToolBuilders/", ".factorypath"}},
	{Tool: "Visual Studio", Names: []string{".vs/", "omnisharp.json"}},
	{Tool: "Nova", Names: []string{".nova/"}},
	{Tool: "Kate", Names: []string{".kateproject", ".kateproject.local", ".kateconfig"}},
	{Tool: "language servers", Names: []string{
		"hie.yaml", ".hie-bios", ".lsp/", "rust-analyzer.toml", "rust-project.json", ".rust-project.json",
		".merlin", ".ccls", ".phpactor.json", ".phpactor.yml", ".ruby-lsp/", ".jedi/",
	}},
	{Tool: "cloud editors", Names: []string{".gitpod.yml", ".gitpod.dockerfile", ".ona/", "devfile.yaml", ".devfile.yaml", ".idx/", ".stackblitzrc", ".codesandbox/", ".replit"}},

	// --- what runs on entering a folder

	{Tool: "direnv", Names: []string{".envrc", ".envrc.*", ".direnv/*.rc", ".direnv/bin/"}}, // nix-direnv evaluates what it kept
	{Tool: "mise", Names: []string{
		"mise.toml", "mise.*.toml", ".mise.toml", ".mise.*.toml", ".mise/", "mise/config.toml",
		"mise/config.*.toml", "mise/conf.d/", ".config/mise/", ".config/mise.toml", ".config/mise.*.toml",
		".miserc.toml", ".config/miserc.toml", ".rtx.toml", ".rtx.*.toml", ".rtx/",
	}},
	{Tool: "asdf and mise", Names: []string{".tool-versions"}},
	{Tool: "rvm and rbenv", Names: []string{".rvmrc", ".ruby-env", ".versions.conf", ".rbenv-vars"}},
	{Tool: "proto", Names: []string{".prototools", ".prototools.*"}},
	{Tool: "Hermit", Names: []string{"bin/hermit", "bin/hermit.hcl", "bin/activate-hermit", "bin/activate-hermit.*"}},
	{Tool: "SDKMAN", Names: []string{".sdkmanrc"}},
	{Tool: "opam", Names: []string{"_opam/.opam-switch/environment", "_opam/.opam-switch/switch-config"}}, // each prompt evaluates it
	{Tool: "autoenv", Names: []string{".autoenv", ".autoenv.*", ".autoenv_leave.zsh", ".env.leave"}},
	{Tool: "shadowenv", Names: []string{".shadowenv.d/"}},

	// --- hook managers

	{Tool: "husky", Names: []string{".husky/", ".huskyrc", ".huskyrc.*", "husky.config.*"}}, // core.hooksPath may name the first
	{Tool: "lefthook", Where: Top, Names: []string{
		"lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json", "lefthook.jsonc",
		".lefthook.yml", ".lefthook.yaml", ".lefthook.toml", ".lefthook.json", ".lefthook.jsonc",
		"lefthook-local.*", ".lefthook-local.*", ".config/lefthook.*",
		".config/lefthook-local.*", ".lefthook/", ".lefthook-local/",
	}},
	{Tool: "pre-commit", Where: Top, Names: []string{".pre-commit-config.yaml", ".pre-commit-config.yml", "prek.toml"}},
	{Tool: "overcommit", Where: Top, Names: []string{".overcommit.yml", ".local-overcommit.yml", ".git-hooks/"}},
	{Tool: "git hooks", Where: Top, Names: []string{
		".githooks/", ".git_hooks/", ".cargo-husky/", ".rusty-hook.toml", ".simple-git-hooks.*",
		"simple-git-hooks.*", "captainhook.json", "captainhook.config.json", "grumphp.yml", "grumphp.yml.dist",
		"hk.pkl", ".hk.pkl", "hk.local.pkl", ".gitlint", ".trunk/",
	}},
	{Tool: "lint-staged", Names: []string{".lintstagedrc", ".lintstagedrc.*", "lint-staged.config.*", ".commitlintrc", ".commitlintrc.*", "commitlint.config.*", ".czrc", ".cz.json", ".cz.toml", "cz.config.*"}},

	// --- version control besides git's own folder, which is below

	{Tool: "git", Where: Top, Names: []string{".gitmodules", ".lfsconfig"}},
	{Tool: "git", Told: true, Names: []string{".gitattributes"}},
	{Tool: "lazygit and gh-dash", Names: []string{".lazygit.yml", ".gh-dash.yml", ".gh-dash.yaml"}},
	{Tool: "Mercurial", Names: []string{".hg/hgrc", ".hg/hgrc-not-shared", ".hg/sharedpath", ".hgsub"}},
	{Tool: "Jujutsu", Names: []string{".jj/repo/config.toml", ".jj/workspace-config.toml", ".jj/repo"}},
	{Tool: "Sapling", Names: []string{".sl/config"}},
	{Tool: "Bazaar", Names: []string{".bzr/branch/branch.conf"}},
	{Tool: "repo", Names: []string{".repo/"}},
	{Tool: "Darcs", Names: []string{"_darcs/prefs/"}},
	{Tool: "Pijul", Names: []string{".pijul/config"}},
	{Tool: "Perforce", Names: []string{".p4config", "p4config.txt"}},
	{Tool: "Arcanist and RBTools", Names: []string{".arcconfig", ".arclint", ".arcunit", ".reviewboardrc"}},

	// --- build tools and package managers: what they obey when asked for anything

	{Tool: "npm and pnpm", Names: []string{".npmrc"}},
	{Tool: "yarn", Names: []string{".yarnrc", ".yarnrc.yml", ".yarn/releases/", ".yarn/plugins/", ".yarn/sdks/"}},
	{Tool: "pnpm", Names: []string{".pnpmfile.*"}},
	{Tool: "corepack", Names: []string{".corepack.env"}},
	{Tool: "bun", Names: []string{"bunfig.toml"}},
	{Tool: "cargo", Names: []string{".cargo/config", ".cargo/config.toml"}},
	{Tool: "rustup", Names: []string{"rust-toolchain", "rust-toolchain.toml"}},
	{Tool: "bazel", Names: []string{".bazelrc", ".bazeliskrc", ".bazelversion", "tools/bazel", "tools/bazel.*"}},
	{Tool: "buck", Names: []string{".buckconfig", ".buckconfig.*", ".buckconfig.d/", ".buckjavaargs", ".buckversion"}},
	{Tool: "maven", Names: []string{".mvn/"}},
	{Tool: "ansible", Names: []string{"ansible.cfg"}},
	{Tool: "uv", Names: []string{"uv.toml"}},
	{Tool: "pdm", Names: []string{".pdm-plugins/", ".pdm-python", "pdm.toml"}},
	{Tool: "poetry", Names: []string{".poetry/plugins/"}},
	{Tool: "sbt and mill", Names: []string{".sbtopts", ".jvmopts", ".mill-jvm-opts"}},
	{Tool: ".NET", Names: []string{"global.json"}}, // .NET 10 takes the SDK itself from a folder that it names
	{Tool: "bundler", Names: []string{".bundle/config"}},

	// --- interpreters that read a file of the folder they are started in

	{Tool: "R", Names: []string{".rprofile", ".renviron", ".rdata", "renv/activate.r", "packrat/init.r"}},
	{Tool: "irb and pry", Names: []string{".irbrc", "_irbrc", ".pryrc"}},
	{Tool: "pdb", Names: []string{".pdbrc", ".pdbrc.py"}},
	{Tool: "IPython and Jupyter", Names: []string{"ipython_config.py", "jupyter_*config.py", "jupyter_*config.json"}},
	{Tool: "ghci", Names: []string{".ghci", ".haskeline"}},
	{Tool: "OCaml", Names: []string{".ocamlinit"}},
	{Tool: "iex and erl", Names: []string{".iex.exs", ".erlang"}},
	{Tool: "Octave and MATLAB", Names: []string{".octaverc", "startup.m"}},
	{Tool: "gdb and lldb", Names: []string{".gdbinit", ".lldbinit"}},
	{Tool: "Valgrind", Names: []string{".valgrindrc"}},
	{Tool: "ctags and Global", Names: []string{".ctags", ".ctags.d/", "ctags.d/", "gtags.conf"}}, // editors run them by themselves

	// --- start-up files of shells, sessions and programs

	{Tool: "bash", Where: Home, Names: []string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bashrc.d/", ".profile", ".inputrc"}},
	{Tool: "zsh", Where: Home, Names: []string{".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".zsh/", ".oh-my-zsh/", ".config/zsh/"}},
	{Tool: "other shells", Where: Home, Names: []string{".config/fish/", ".config/nushell/", ".config/starship.toml", ".config/direnv/"}},
	{Tool: "sessions", Where: Home, Names: []string{
		".config/environment.d/", ".config/systemd/", ".config/autostart/", ".pam_environment",
		".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
		".config/plasma-workspace/", ".config/sway/", ".config/i3/", ".config/hypr/",
		".local/share/dbus-1/", ".local/share/applications/", ".local/share/systemd/",
	}},
	{Tool: "terminals", Where: Home, Names: []string{".tmux.conf", ".config/tmux/", ".screenrc", ".config/kitty/", ".config/wezterm/", ".wezterm.lua"}},
	{Tool: "editors", Where: Home, Names: []string{".vimrc", ".vim/", ".config/nvim/", ".emacs", ".emacs.d/"}},
	{Tool: "build tools", Where: Home, Names: []string{".cargo/config", ".cargo/config.toml", ".config/go/env", ".gradle/init.gradle", ".gradle/init.d/", ".cargo/env"}},
	{Tool: "git and hg", Where: Home, Names: []string{".gitconfig", ".config/git/", ".hgrc", ".config/hg/"}},
	{Tool: "the shell's PATH", Where: Home, Names: []string{".local/bin/", "bin/", ".cargo/bin/", "go/bin/"}},
	{Tool: "ssh", Where: Home, Names: []string{".ssh/"}},

	// --- what runs when the project is built, tested, opened as code, or pushed

	{Tool: "make and its kind", Told: true, Names: []string{
		"makefile", "gnumakefile", "*.mk", "justfile", ".justfile",
		"taskfile.yml", "taskfile.yaml", "rakefile", "gemfile", "magefile.go",
		"sconstruct", "cmakelists.txt", "cmakepresets.json", "meson.build", "configure",
		"build.ninja", "wscript", "dodo.py", "tasks.py", "procfile",
		"vagrantfile", "tiltfile", "earthfile", "mise-tasks/", ".mise-tasks/",
	}},
	{Tool: "node", Told: true, Names: []string{"package.json", "pnpm-workspace.yaml", ".pnp.cjs", ".pnp.loader.mjs", "deno.json", "deno.jsonc", "gulpfile.*", "gruntfile.*", "webpack.config.*", "vite.config.*", "rollup.config.*", "next.config.*", "babel.config.*", ".babelrc.*", "jest.config.*", "vitest.config.*", "nx.json", "turbo.json", "lerna.json"}},
	{Tool: "Python", Told: true, Names: []string{"pyproject.toml", "setup.py", "setup.cfg", "conftest.py", "tox.ini", "noxfile.py", "hatch.toml", "pytest.ini", "manage.py", ".venv/bin/", "venv/bin/", ".venv/pyvenv.cfg", ".python-version", "sitecustomize.py", "usercustomize.py"}},
	{Tool: "other builds", Told: true, Names: []string{
		"build.rs", "cargo.toml", "go.work", "build.gradle", "build.gradle.kts", "settings.gradle",
		"settings.gradle.kts", "init.gradle", "gradle.properties", "gradlew", "gradle/wrapper/", "pom.xml",
		"mvnw", "build.xml", "build.sbt", "project/plugins.sbt", ".bsp/",
		"build.bazel", "module.bazel", "workspace.bazel", "buck", "directory.build.props", "directory.build.targets",
		"nuget.config", ".config/dotnet-tools.json", "composer.json", "mix.exs", "dune-project", "stack.yaml",
		"build.zig", "project.clj", "deps.edn", "pants.toml", "config.nims", "nim.cfg",
		"rebar.config", "rebar.config.script", "platformio.ini", "_opam/bin/",
	}},
	{Tool: "linters", Told: true, Names: []string{
		".eslintrc", ".eslintrc.*", "eslint.config.*", ".prettierrc", ".prettierrc.*", "prettier.config.*",
		"stylelint.config.*", ".stylelintrc*", ".pylintrc", "pylintrc", "mypy.ini", ".mypy.ini",
		".flake8", ".rubocop.yml", ".solargraph.yml", ".rspec", ".clangd",
		"compile_commands.json", ".golangci.*", "phpstan.neon", ".php-cs-fixer.php", "tsconfig.json",
	}},
	{Tool: "nix and devbox", Told: true, Names: []string{"flake.nix", "shell.nix", "default.nix", "devenv.nix", "devenv.yaml", "devbox.json"}},
	{Tool: "loaders of variables", Told: true, Names: []string{".env", ".env.*"}},
	{Tool: "containers", Told: true, Names: []string{"dockerfile", "dockerfile.*", "containerfile", "docker-compose*.yml", "docker-compose*.yaml", "compose*.yml", "compose*.yaml", "docker-bake.*", ".actrc", ".terraform/"}},
	{Tool: "CI", Told: true, Names: []string{
		".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".circleci/", ".travis.yml",
		"jenkinsfile", "azure-pipelines.yml", ".drone.yml", ".woodpecker/", ".woodpecker.yml",
		"bitbucket-pipelines.yml", ".buildkite/", "cloudbuild.yaml", ".pre-commit-hooks.yaml",
	}},
}
