package main

// What inner allow shows before it asks. Read from the end: next to the question stands
// what is dangerous, above it what is ordinary. What several profiles have in common
// stands once, with their names; so does each list of hosts. A text that is longer than
// the terminal goes through a pager first, and the dangerous part stands once more below
// it.

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/profile"
	"golang.org/x/term"
)

// line is one grant, or one item of it, of some of the profiles.
type line struct {
	grant profile.Grant // with at most one item
	of    []string      // the profiles, in order
}

// lines takes grants apart into items, each once, with the profiles that have it.
type lines struct {
	list  []line
	index map[string]int
}

func (l *lines) add(name string, grants []profile.Grant) {
	for _, g := range grants {
		items := g.Items
		if len(items) == 0 {
			items = []profile.Item{{}}
		}
		for _, it := range items {
			one := g
			if one.Items = nil; len(g.Items) > 0 {
				one.Items = []profile.Item{it}
			}
			key := fmt.Sprint(g.Tightens, "\x00", g.Words, "\x00", it.Text)
			i, known := l.index[key]
			if !known {
				if l.index == nil {
					l.index = map[string]int{}
				}
				i = len(l.list)
				l.index[key] = i
				l.list = append(l.list, line{grant: one})
			}
			if !slices.Contains(l.list[i].of, name) {
				l.list[i].of = append(l.list[i].of, name)
			}
		}
	}
}

// section is what the same profiles have.
type section struct {
	of     []string
	grants []profile.Grant
}

// sections puts the lines together again: those of most profiles first.
func (l *lines) sections() []section {
	var out []section
	for _, x := range l.list {
		i := slices.IndexFunc(out, func(s section) bool { return slices.Equal(s.of, x.of) })
		if i < 0 {
			i = len(out)
			out = append(out, section{of: x.of})
		}
		s := &out[i]
		j := slices.IndexFunc(s.grants, func(g profile.Grant) bool {
			return g.Kind == x.grant.Kind && g.Words == x.grant.Words && g.Tightens == x.grant.Tightens
		})
		if j < 0 || len(x.grant.Items) == 0 {
			s.grants = append(s.grants, x.grant)
			continue
		}
		s.grants[j].Items = append(slices.Clip(s.grants[j].Items), x.grant.Items...)
	}
	for i := range out {
		for j := range out[i].grants {
			out[i].grants[j].Render()
		}
	}
	slices.SortStableFunc(out, func(a, b section) int { return cmp.Compare(len(b.of), len(a.of)) })
	return out
}

// consent is the text of inner allow.
type consent struct {
	app    *app
	root   string
	detail strings.Builder
	danger strings.Builder
}

// showConsent prints what the profiles and the config.toml grant.
func (a *app) showConsent(pl place, list []candidate, cfg configRead, newConfig bool) {
	t := consent{app: a, root: pl.root()}
	var settled []string
	var fresh, changed []candidate
	for _, c := range list {
		switch {
		case c.settled():
			settled = append(settled, c.profile.Name)
		case len(c.old) == 0:
			fresh = append(fresh, c)
		default:
			changed = append(changed, c)
		}
	}
	if len(settled) > 0 {
		t.line("", "%s %s: allowed already, unchanged", plural(len(settled), "profile", "profiles"), strings.Join(settled, ", "))
	}
	if cfg.file != nil && len(fresh)+len(changed) > 0 || newConfig {
		if parts := configLines(cfg.config); len(parts) > 0 {
			t.line("", "config (%s):", a.short(filepath.Join(pl.project.Dir, "config.toml")))
			for _, part := range parts {
				t.line("  ", "%s", part)
			}
		}
	}
	t.changed(changed)
	t.fresh(fresh)
	t.print()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (t *consent) line(indent, format string, args ...any) {
	t.detail.WriteString(indent + printable(fmt.Sprintf(format, args...)) + "\n")
}

func (t *consent) warn(format string, args ...any) {
	t.danger.WriteString("  " + printable(fmt.Sprintf(format, args...)) + "\n")
}

// fresh shows profiles that were never allowed.
func (t *consent) fresh(list []candidate) {
	if len(list) == 0 {
		return
	}
	var all, bad lines
	var names []string
	for _, c := range list {
		names = append(names, c.profile.Name)
		safe, dangerous := t.split(c.grants)
		all.add(c.profile.Name, safe)
		bad.add(c.profile.Name, dangerous)
		var hosts []profile.Grant
		for _, text := range t.app.reachLines(c.profile, c.at, c.rc, true) {
			hosts = append(hosts, profile.Grant{Kind: "hosts", Words: text})
		}
		all.add(c.profile.Name, hosts)
		if c.stale || c.rec != nil && c.rec.WasApproved() {
			t.line("", "profile %s was allowed by an older inner, which did not keep the real paths of what it grants", c.profile.Name)
		}
	}
	one := len(list) == 1
	if one {
		t.line("", "profile %s (%s) grants:", names[0], t.app.short(list[0].profile.Path))
	} else {
		t.line("", "%d profiles of %s: %s", len(list), t.app.short(t.root), strings.Join(names, ", "))
	}
	for _, s := range all.sections() {
		var texts, hosts, less []string
		for _, g := range s.grants {
			switch {
			case g.Kind == "hosts":
				hosts = append(hosts, strings.TrimPrefix(g.Text, "can reach "))
			case g.Tightens && !one:
				less = append(less, g.Text)
			default:
				texts = append(texts, g.Text)
			}
		}
		if len(hosts) > 0 {
			texts = append(texts, "can reach "+strings.Join(hosts, "; "))
		}
		if len(less) > 0 {
			texts = append(texts, strings.Join(less, "; "))
		}
		switch {
		case one:
		case len(s.of) == len(names): // what is common, a line for each
			t.line("", "%s:", who(s.of, len(names)))
		default:
			texts = []string{who(s.of, len(names)) + ": " + strings.Join(texts, "; ")}
		}
		for _, text := range texts {
			t.line("  ", "%s", text)
		}
	}
	for _, s := range bad.sections() {
		for _, g := range s.grants {
			if one {
				t.warn("%s", g.Text)
			} else {
				t.warn("%s: %s", who(s.of, len(names)), g.Text)
			}
		}
	}
}

// who names the profiles of a section.
func who(of []string, all int) string {
	if len(of) == all && all > 2 {
		return fmt.Sprintf("all %d", all)
	}
	return strings.Join(of, ", ")
}

// changed shows what became of profiles that were allowed as they were.
func (t *consent) changed(list []candidate) {
	type change struct {
		text string
		of   []string
	}
	var all []change
	for _, c := range list {
		wider, narrower := profile.DiffGrants(c.old, c.grants)
		var b strings.Builder
		for _, g := range narrower {
			fmt.Fprintf(&b, "  %s %s\n", paint(t.app.stderr, "32", "narrower:"), printable(changeText(g, false)))
		}
		for _, g := range wider {
			fmt.Fprintf(&b, "  %s %s\n", paint(t.app.stderr, "31", "wider:   "), printable(changeText(g, true)))
		}
		if len(wider)+len(narrower) == 0 {
			b.WriteString("  nothing in what it grants\n")
		}
		if _, dangerous := t.split(wider); len(dangerous) > 0 {
			for _, g := range dangerous {
				t.warn("%s, new: %s", c.profile.Name, g.Text)
			}
		}
		if i := slices.IndexFunc(all, func(x change) bool { return x.text == b.String() }); i >= 0 {
			all[i].of = append(all[i].of, c.profile.Name)
		} else {
			all = append(all, change{b.String(), []string{c.profile.Name}})
		}
	}
	for _, x := range all {
		t.line("", "%s %s changed since %s allowed:", plural(len(x.of), "profile", "profiles"), strings.Join(x.of, ", "), plural(len(x.of), "it was", "they were"))
		t.detail.WriteString(x.text)
	}
}

// split parts what stays within the project and the box from what does not.
func (t *consent) split(grants []profile.Grant) (safe, dangerous []profile.Grant) {
	for _, g := range grants {
		if g.Tightens {
			safe = append(safe, g)
			continue
		}
		if len(g.Items) == 0 {
			if g.Dangerous() {
				dangerous = append(dangerous, g)
			} else {
				safe = append(safe, g)
			}
			continue
		}
		in, out := g, g
		in.Items, out.Items = nil, nil
		for _, it := range g.Items {
			switch {
			case g.Dangerous(), g.Key == profile.MountRW && !inside(it.Path, t.root):
				out.Items = append(out.Items, it)
			case it.Path != "" && special(it.Path):
				it.Text += " (a socket or a device)"
				out.Items = append(out.Items, it)
			default:
				in.Items = append(in.Items, it)
			}
		}
		for _, part := range []struct {
			g  *profile.Grant
			to *[]profile.Grant
		}{{&in, &safe}, {&out, &dangerous}} {
			if len(part.g.Items) > 0 {
				part.g.Render()
				*part.to = append(*part.to, *part.g)
			}
		}
	}
	return safe, dangerous
}

// special reports whether something on the host is more than files.
func special(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode()&(fs.ModeSocket|fs.ModeDevice|fs.ModeNamedPipe) != 0
}

const dangerHead = "and this reaches beyond the project and the box:\n"

// print writes the text, through a pager when it is longer than the terminal.
func (t *consent) print() {
	danger := t.danger.String()
	if danger != "" {
		danger = paint(t.app.stderr, "31", strings.TrimSuffix(dangerHead, "\n")) + "\n" + danger
	}
	if f, ok := fileOf(t.app.stderr); ok && isTerminal(f) && isTerminal(t.app.stdin) {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && rows(t.detail.String()+danger, width)+1 > height {
			if t.app.page(t.detail.String() + danger) {
				fmt.Fprint(t.app.stderr, danger)
				return
			}
		}
	}
	fmt.Fprint(t.app.stderr, t.detail.String(), danger)
}

// rows is how many rows of a terminal a text takes.
func rows(text string, width int) int {
	n := 0
	for line := range strings.Lines(text) {
		n += 1 + max(0, len([]rune(strings.TrimSuffix(line, "\n")))-1)/max(1, width)
	}
	return n
}

// page shows a text in the user's pager, and reports whether it did.
func (a *app) page(text string) bool {
	words := strings.Fields(cmp.Or(os.Getenv("PAGER"), "less"))
	if len(words) == 0 || words[0] == "cat" {
		return false
	}
	program, err := a.pager(words[0])
	if err != nil {
		return false
	}
	cmd := exec.Command(program, words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "LESS=R", "LESSSECURE=1")
	return cmd.Run() == nil
}
