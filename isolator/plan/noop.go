package plan

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// Programs returns the folders of the box's PATH, as host paths, and the names to
// look for in them: for [noop] mode = "hard", where the programs themselves are
// covered. hostPath is $PATH.
func Programs(rc profile.RunConfig, hostPath string) (dirs, names []string) {
	if rc.Noop.Mode != "hard" {
		return nil, nil
	}
	for _, d := range append(filepath.SplitList(BoxPath(rc, hostPath)), filepath.SplitList(DefaultPath)...) {
		dirs = append(dirs, d)
		for _, m := range rc.Mounts {
			if rest, ok := paths.Rest(m.Dest, filepath.Clean(d)); ok && m.Dest != m.Source && m.Mode != profile.Tmpfs {
				dirs = append(dirs, filepath.Join(m.Source, rest))
			}
		}
	}
	names = rc.Noop.Commands()
	for _, kv := range rc.Noop.Replacements() {
		if !filepath.IsAbs(kv.Value) {
			names = append(names, kv.Value)
		}
	}
	return dirs, names
}

// coverPrograms covers, for [noop] mode = "hard", the programs behind the commands
// by the scripts in front of them, wherever the box would see them: a script bound
// over a program is run whatever path, link or PATH led there. It refuses where that
// would take away something else.
func (b *builder) coverPrograms() error {
	if b.rc.Noop.Mode != "hard" || b.s.Noop == "" {
		return nil
	}
	commands := b.rc.Noop.Commands()
	covered := map[string]string{} // real path: the command whose script covers it
	for _, p := range b.f.Programs {
		if !slices.ContainsFunc(p.Files, func(f string) bool { return len(b.view.where(f)) > 0 }) {
			continue
		}
		i := slices.IndexFunc(commands, func(c string) bool {
			return c == p.Name || p.Copy && host.Stem(c) == host.Stem(p.Name)
		})
		if i < 0 {
			continue // of a replacement
		}
		command := commands[i]
		if err := b.oneProgram(p, command, commands); err != nil {
			return err
		}
		for _, real := range p.Files {
			if covered[real] == "" {
				covered[real] = command
			}
		}
	}
	for _, r := range b.rc.Noop.Replacements() {
		if real := b.replacement(r.Value, covered); real != "" {
			return fault.Refuse(125, `use mode = "path" under [noop]`, "profile %q: noop.rewrite %q: the replacement %q is %s, which mode = \"hard\" covers", b.rc.Name, r.Key, r.Value, real)
		}
	}
	for _, real := range slices.Sorted(maps.Keys(covered)) {
		for _, at := range b.view.where(real) {
			script := filepath.Join(b.s.Noop, covered[real])
			b.op(Op{Kind: OpReadOnly, Source: script, Dest: at, Reason: "blocked and rewritten commands, by any path (noop.mode = \"hard\")"})
			b.view.add(layer{dest: at})
		}
	}
	return nil
}

// oneProgram refuses to cover a file that is more than the command.
func (b *builder) oneProgram(p host.Program, command string, commands []string) error {
	var others []string
	for _, n := range p.Names {
		if !slices.ContainsFunc(commands, func(c string) bool { return c == n || host.Stem(c) == host.Stem(n) }) {
			others = append(others, n)
		}
	}
	shown := visible.Some(others, 6)
	hint := `use mode = "path" under [noop]`
	for _, real := range p.Files {
		switch {
		case multicall(filepath.Base(real)):
			return fault.Refuse(125, hint, "profile %q: noop: %q is one of many commands of %s, so mode = \"hard\" cannot cover it", b.rc.Name, command, real)
		case real == b.canon("/bin/sh"):
			return fault.Refuse(125, hint, "profile %q: noop: %q is %s, which runs every script and cannot be covered", b.rc.Name, command, real)
		case real == b.canon(b.s.Program):
			return fault.Refuse(125, hint, "profile %q: noop: %q is %s, the program that is to run", b.rc.Name, command, real)
		case len(others) > 0:
			return fault.Refuse(125, "name these in [noop], too, or "+hint, "profile %q: noop: %q is the same program as %s (%s), so mode = \"hard\" would take them away", b.rc.Name, command, strings.Join(shown, ", "), real)
		}
	}
	return nil
}

// multicall reports whether a program does what the name it is called by says.
func multicall(name string) bool {
	switch name {
	case "busybox", "toybox", "coreutils", "uutils", "sbase-box", "ubase-box", "crunchgen", "mise", "asdf", "snap", "volta-shim", "proto-shim":
		return true
	}
	return strings.HasPrefix(name, "busybox.") || strings.HasPrefix(name, "busybox-")
}

// replacement returns the covered file a replacement would run, or "".
func (b *builder) replacement(target string, covered map[string]string) string {
	if filepath.IsAbs(target) {
		if real := b.canon(filepath.Clean(target)); covered[real] != "" {
			return real
		}
		return ""
	}
	for _, p := range b.f.Programs {
		for _, real := range p.Files {
			if p.Name == target && covered[real] != "" {
				return real
			}
		}
	}
	return ""
}
