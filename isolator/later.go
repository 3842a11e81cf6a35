package isolator

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// configKey allows changing what later.go protects.
const configKey = "project-config"

// laterFolders are read by editors, agents and hook managers of the host, which
// start programs for what they find there.
func laterFolders() []string {
	return []string{".claude", ".codex", ".agents", ".gemini", ".cursor", ".opencode", ".vscode", ".idea", ".devcontainer", ".husky"}
}

// laterFiles are the same, one file each or a folder that fewer people have. A
// missing one cannot be kept from being made without showing up in the repository;
// a run that makes one ends with a word about it.
func laterFiles() []string {
	return []string{
		".mcp.json", ".envrc", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise", ".config/mise", ".config/mise.toml",
		"opencode.json", "opencode.jsonc", ".pre-commit-config.yaml", ".devcontainer.json",
		"lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json", ".lefthook.yml", ".lefthook.yaml", ".lefthook.toml", ".lefthook.json",
		"lefthook-local.yml", "lefthook-local.yaml", ".lefthook-local.yml", ".lefthook-local.yaml",
		".zed", ".kiro", ".windsurf", ".qwen", ".roo", ".continue", ".amp", ".crush.json", "crush.json", ".aider.conf.yml", ".hg/hgrc",
	}
}

// LaterFolders returns the folders that must be there for the run: those of the
// project and of the working folder.
func LaterFolders(rc profile.RunConfig) []string {
	if slices.Contains(rc.Allow, configKey) {
		return nil
	}
	var out []string
	for _, root := range laterRoots(rc, true) {
		for _, name := range laterFolders() {
			out = append(out, filepath.Join(root, name))
		}
	}
	return out
}

// laterRoots are the folders whose configuration is protected: what the box
// can write, only the person's own place of work when own is set.
func laterRoots(rc profile.RunConfig, own bool) []string {
	var out []string
	add := func(p string) {
		if p != "" && p != rc.HomeDir && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	if rc.WorkdirMode == profile.RW {
		add(rc.Workdir)
	}
	for _, m := range rc.Mounts {
		if m.Mode == profile.RW && (!own || m.Source == rc.Workdir || m.Source == rc.Project) {
			add(m.Source)
		}
	}
	return out
}

// laterPaths are all that is protected, whether it is there or not.
func laterPaths(rc profile.RunConfig) []string {
	if slices.Contains(rc.Allow, configKey) {
		return nil
	}
	var out []string
	for _, root := range laterRoots(rc, false) {
		for _, name := range slices.Concat(laterFolders(), laterFiles()) {
			out = append(out, filepath.Join(root, name))
		}
	}
	return out
}

// madeEmpty reports whether p is a folder that was made for the run, and
// nothing in it: a tmpfs covers it as well as a bind does, at a third of the cost.
// What opencode must find in its folder is lent to it there.
func (b *builder) madeEmpty(p string) bool {
	return filepath.Base(p) != ".opencode" && slices.ContainsFunc(b.f.Later, func(l host.Placeholder) bool { return l.Path == p })
}

// coverEmpty covers an empty folder wherever the box could write it.
func (b *builder) coverEmpty(reason, p string) {
	for _, at := range b.view.where(b.canon(p)) {
		if l, _ := b.view.at(at); l.write {
			b.arg(reason, b.emptyFolder("0555", at)...)
			b.view.add(layer{dest: at})
		}
	}
}

// later returns what is protected here.
func (b *builder) later() []string {
	var out []string
	for _, p := range laterPaths(b.rc) {
		made := slices.ContainsFunc(b.f.Later, func(l host.Placeholder) bool { return l.Path == p })
		if k := b.kind(p); made || k == host.File || k == host.Dir {
			out = append(out, p)
		}
	}
	return out
}

// laterLinks refuses a folder of editors and agents that is a link where the box
// can write: the link can be exchanged for a folder.
func (b *builder) laterLinks() error {
	if b.allowed[configKey] {
		return nil
	}
	for _, dir := range b.f.Locked {
		return refuse(125, "chmod u+w "+quote(dir)+", or workdir_mode = \"ro\" under [sandbox]",
			"profile %q: %s is yours and not writable: the program could change that, and make what editors and agents obey", b.rc.Name, dir)
	}
	for _, root := range laterRoots(b.rc, false) {
		for _, name := range laterFolders() {
			p := filepath.Join(root, name)
			at := filepath.Join(b.canon(root), name)
			if info, known := b.f.Paths[p]; known && (info.Link || info.Kind != host.Missing && info.Real != at) {
				return refuse(125, "make it a folder of its own, or allow = ["+quote(configKey)+"] under [sandbox] leaves all of them unprotected",
					"profile %q: %s is a link, which cannot be protected", b.rc.Name, p)
			}
		}
	}
	return nil
}
