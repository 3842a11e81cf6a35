package plan

import (
	"embed"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
)

// The shims of [noop] hold because they are first on PATH, and shells set PATH anew
// when they start: a login shell by /etc/profile, and every shell by the files of the
// system and of the user. So each system-wide start-up file that the host has is
// covered in the box by one of ours. Ours reads the host's, puts the shims first
// again, and makes the shell read the user's file by way of another of ours, which
// does the same. The user's files stay where they are and are read by their own names:
// many look for others beside themselves.
//
// What is not covered: PATH changed by a command, by a program, or by a file that the
// box names itself (BASH_ENV=... bash); shells without a row in shellFiles; a file
// of the user's where the host has no system-wide one.

// shellFile is a file of the host that a shell reads when it starts.
type shellFile struct {
	path string // on the host and in the box
	text string // what covers it, in the folder startup
	name string // what is put in for @name@
}

// shellFiles are the files that are covered. A ~ is the home: dash and ksh read
// ~/.profile after /etc/profile and cannot be sent elsewhere.
func shellFiles() []shellFile {
	list := []shellFile{
		{"/etc/profile", "profile.sh", ""},
		{"~/.profile", "read.sh", ""},
		{"/etc/bash.bashrc", "bashrc.sh", ""},
		{"/etc/fish/config.fish", "config.fish", ""},
	}
	// Debian and Arch keep them in /etc/zsh, others in /etc.
	for _, dir := range []string{"/etc/zsh", "/etc"} {
		for _, name := range []string{"zshenv", "zprofile", "zshrc", "zlogin"} {
			list = append(list, shellFile{dir + "/" + name, "system.zsh", name})
		}
	}
	return list
}

// staged is the name of a file of its own for each row.
func (f shellFile) staged() string {
	return strings.ReplaceAll(strings.TrimPrefix(f.path, "/"), "/", "-")
}

func (f shellFile) at(home string) string {
	if rest, ok := strings.CutPrefix(f.path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return f.path
}

//go:embed startup
var startupTexts embed.FS

// NoopStartup returns the files of the folder Staged.Startup, which [noop] needs for the shells of the box.
func NoopStartup() (map[string]string, error) {
	out := map[string]string{}
	for _, f := range append(shellFiles(), []shellFile{
		{"path", "path.sh", ""},
		{".bash_profile", "bash_profile.sh", ""},
		{".profile", "home.sh", ".profile"},
		{".bashrc", "home.sh", ".bashrc"},
		{"BASH_ENV", "variable.sh", "BASH_ENV"},
		{"ENV", "variable.sh", "ENV"},
		{".zshenv", "user.zsh", ".zshenv"},
		{".zprofile", "user.zsh", ".zprofile"},
		{".zshrc", "user.zsh", ".zshrc"},
		{".zlogin", "user.zsh", ".zlogin"},
	}...) {
		text, err := startupTexts.ReadFile("startup/" + f.text)
		if err != nil {
			return nil, err
		}
		fill := strings.NewReplacer("@noop@", paths.BoxNoop, "@start@", paths.BoxStart, "@name@",
			f.name, "@original@", paths.BoxOriginal+"/"+f.staged())
		out[f.staged()] = fill.Replace(string(text))
	}
	return out, nil
}

// coverShellFiles covers the start-up files that the box would see.
func (b *builder) coverShellFiles() {
	if b.s.Startup == "" {
		return
	}
	b.bind("start-up files of shells, which put the noop shims first", b.s.Startup, paths.BoxStart, false)
	for _, f := range shellFiles() {
		at := b.canon(f.at(b.f.Home))
		l, original := b.at(at)
		known := original == at && b.kind(f.at(b.f.Home)) == host.File ||
			original == l.Source && b.kind(l.Source) == host.File
		if !l.bound() || !known {
			continue
		}
		b.bind("a start-up file, as the host has it", original, paths.BoxOriginal+"/"+f.staged(), false)
		b.bind("a start-up file that puts the noop shims first again", filepath.Join(b.s.Startup, f.staged()), at, false)
	}
}

// shellFilesEnv has the files that variables name read by way of ours.
func shellFilesEnv(env map[string]string) {
	for _, name := range []string{"BASH_ENV", "ENV"} {
		if v := env[name]; v != "" {
			env["INNER_"+name], env[name] = v, paths.BoxStart+"/"+name
		}
	}
}
