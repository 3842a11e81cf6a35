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
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
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

// verb is a sort of grant: what can be changed, read, reached. Its parts are the items,
// by the profiles that have them.
type verb struct {
	grant profile.Grant // without items
	parts []part
}

type part struct {
	of    []string
	items []profile.Item // none when the grant has none
}

// verbs puts the lines together again: for each sort what all have stands first.
func (l *lines) verbs() []verb {
	var out []verb
	for _, x := range l.list {
		i := slices.IndexFunc(out, func(v verb) bool {
			return v.grant.Words == x.grant.Words && v.grant.Tightens == x.grant.Tightens && len(x.grant.Items) > 0 && len(v.parts[0].items) > 0
		})
		if i < 0 {
			i = len(out)
			v := verb{grant: x.grant}
			v.grant.Items = nil
			out = append(out, v)
		}
		v := &out[i]
		j := slices.IndexFunc(v.parts, func(p part) bool { return slices.Equal(p.of, x.of) })
		if j < 0 {
			j = len(v.parts)
			v.parts = append(v.parts, part{of: x.of})
		}
		v.parts[j].items = append(v.parts[j].items, x.grant.Items...)
	}
	for _, v := range out {
		slices.SortStableFunc(v.parts, func(a, b part) int { return cmp.Compare(len(b.of), len(a.of)) })
	}
	return out
}

// text is a verb in words, of so many profiles. Items say in brackets whose they are,
// where not all are everybody's.
func (v verb) text(all int) string {
	if len(v.parts) == 1 {
		g := v.grant
		g.Items = v.parts[0].items
		g.Render()
		if of := v.parts[0].of; len(of) < all {
			return strings.Join(of, ", ") + ": " + g.Text
		}
		return g.Text
	}
	var parts []string
	for _, p := range v.parts {
		g := v.grant
		g.Items = p.items
		text := g.Words
		if len(g.Items) > 0 {
			text = g.List()
		}
		switch {
		case len(p.of) == all:
			text += " (all)"
		case len(p.of) > 1 || p.of[0] != text:
			text += " (" + strings.Join(p.of, ", ") + ")"
		}
		parts = append(parts, text)
	}
	return v.grant.Words + ": " + strings.Join(parts, "; ")
}

// consent is the text of inner allow.
type consent struct {
	app    *app
	root   string
	detail strings.Builder
	danger strings.Builder
	brief  brief
}

// brief is how much is left out of what several profiles grant, so that the rest fits a
// screen: first the hosts that inner itself lists behind a word (the word stays, and so
// does what the user's own settings bring in), last what only narrows the box.
type brief int

const (
	nothing    brief = iota
	ofGroups         // @github, and not its hosts
	ofAgents         // nor those that the program of a capability talks to
	ofNarrower       // nor what makes the box narrower
	ofNames          // and a profile is called by the command it claims
)

// showConsent prints what the profiles and the config.toml grant.
// A yes gives up the guard of the words.
func (a *app) showConsent(pl settings.Place, list []candidate, cfg settings.ConfigRead, newConfig bool, words []string) {
	for i, c := range list {
		if !c.settled() {
			list[i].reach = features.ReachLines(a.Settings, c.profile, c.at, c.rc, true)
			list[i].stops = a.stops(c.profile, c.at)
		}
	}
	var text, danger string
	for b := nothing; b <= ofNames; b++ {
		t := consent{app: a, root: pl.Root(), brief: b}
		t.write(pl, list, cfg, newConfig, words)
		if b == nothing || a.fits(t.detail.String()+t.dangers()) {
			text, danger = t.detail.String(), t.dangers()
		}
		if a.fits(text + danger) {
			break
		}
	}
	a.printConsent(text, danger)
	for _, c := range list {
		if c.stops != nil {
			why := strings.TrimPrefix(settings.FirstFault(c.stops), fmt.Sprintf("profile %q: ", c.profile.Name))
			a.Warn("profile %s does not start here: %s", c.profile.Name, why)
			if r := fault.AsRefusal(c.stops); r != nil && r.Hint != "" {
				a.Hint("%s", r.Hint)
			}
		}
	}
}

// stops is why a profile would not start at a place; a program that is not installed yet is
// no reason.
func (a *app) stops(p *profile.Profile, at profile.Context) error {
	_, err := isolator.Show(a.Settings, isolator.Call{Profile: p, Context: at}, false)
	if fault.Code(err) == launch.CodeNotFound {
		return nil
	}
	return err
}

func (t *consent) write(pl settings.Place, list []candidate, cfg settings.ConfigRead, newConfig bool, words []string) {
	a := t.app
	var settled []string
	var fresh, changed []candidate
	for _, c := range list {
		switch {
		case c.settled():
			settled = append(settled, c.profile.Name)
		case len(c.old) == 0, c.state == trust.Denied: // what was denied is read as a whole
			fresh = append(fresh, c)
		default:
			changed = append(changed, c)
		}
	}
	if len(settled) > 0 {
		t.line("", "%s %s: allowed already, unchanged", plural(len(settled), "profile", "profiles"), strings.Join(settled, ", "))
	}
	if cfg.File != nil && len(fresh)+len(changed) > 0 || newConfig {
		if parts := cfg.Config.Describe(); len(parts) > 0 {
			t.line("", "config (%s):", a.Short(filepath.Join(pl.Project.Dir, "config.toml")))
			for _, part := range parts {
				t.line("  ", "%s", part)
			}
		}
	}
	t.changed(changed)
	t.fresh(fresh)
	t.signing(fresh)
	t.claims(words, changed)
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

// signing says once that commits of the box are not signed, where git outside signs them.
func (t *consent) signing(list []candidate) {
	var of []string
	for _, c := range list {
		if len(features.Unsigned(t.app.Caller, c.rc)) > 0 {
			of = append(of, c.profile.Name)
		}
	}
	switch {
	case len(of) == 0:
	case len(of) == len(list):
		t.line("  ", "%s", features.SignLine)
	default:
		t.line("  ", "%s: %s", strings.Join(of, ", "), features.SignLine)
	}
}

// fresh shows profiles that were never allowed.
func (t *consent) fresh(list []candidate) {
	if len(list) == 0 {
		return
	}
	var all, bad, behind lines
	var names []string
	for _, c := range list {
		name := t.called(c, list)
		names = append(names, c.profile.Name)
		safe, dangerous := t.split(c.grants)
		all.add(name, safe)
		bad.add(name, dangerous)
		behind.add(name, t.hosts(c.reach, len(list) == 1))
		if c.stale || c.rec != nil && c.rec.WasApproved() && c.state != trust.Denied {
			t.line("", "profile %s was allowed by an older inner, which did not keep the real paths of what it grants", name)
		}
	}
	if len(list) == 1 {
		t.line("", "profile %s (%s) grants:", names[0], t.app.Short(list[0].profile.Path))
		for _, v := range slices.Concat(all.verbs(), behind.verbs()) {
			t.line("  ", "%s", v.text(1))
		}
	} else {
		t.line("", "%d profiles of %s: %s", len(list), t.app.Short(t.root), strings.Join(names, ", "))
		all.list = append(all.list, behind.list...)
		for _, text := range t.paragraphs(all.verbs(), len(names)) {
			t.line("  ", "%s", text)
		}
	}
	for _, v := range bad.verbs() {
		t.warn("%s", v.text(len(names)))
	}
}

// called is how a profile is called beside what it alone grants.
func (t *consent) called(c candidate, list []candidate) string {
	words := c.profile.Commands()
	if t.brief < ofNames || len(words) != 1 {
		return c.profile.Name
	}
	others := 0
	for _, o := range list {
		if slices.Contains(o.profile.Commands(), words[0]) || o.profile.Name == words[0] {
			others++
		}
	}
	if others > 1 {
		return c.profile.Name
	}
	return words[0]
}

// paragraphs are the texts of verbs, with those together that say what can be read, and
// those that take away. What was left out is named where it belongs.
func (t *consent) paragraphs(verbs []verb, all int) []string {
	const read, reach, login = "can read", "can reach", "gets a copy of your login and settings of"
	var out, less []string
	reads := -1
	for _, v := range verbs {
		if v.grant.Words == login && t.brief >= ofAgents {
			v.grant.Words = "gets a copy of your login and settings, and can reach the hosts, of"
		}
		text := v.text(all)
		if v.grant.Words == reach && t.brief >= ofGroups {
			text += " (which hosts: inner profile show --explain NAME)"
		}
		rest, isRead := strings.CutPrefix(text, read)
		switch {
		case v.grant.Tightens:
			less = append(less, text)
		case isRead && reads >= 0:
			out[reads] += ";" + strings.TrimPrefix(rest, ":")
		default:
			if isRead {
				reads = len(out)
			}
			out = append(out, text)
		}
	}
	switch {
	case len(less) == 0:
	case t.brief >= ofNarrower:
		out = append(out, "(what makes the box narrower: inner profile show NAME)")
	default:
		out = append(out, strings.Join(less, "; "))
	}
	return out
}

// hosts are what is behind the words about the network, as grants. One profile has a line
// for each word.
func (t *consent) hosts(list []features.ReachLine, one bool) (out []profile.Grant) {
	say := func(text string) { out = append(out, profile.Grant{Kind: "network", Words: text}) }
	reach := func(hosts []string, why string) {
		g := profile.Grant{Kind: "network", Words: "can reach"}
		for _, h := range hosts {
			g.Items = append(g.Items, profile.Item{Text: h + why})
		}
		if len(g.Items) > 0 {
			out = append(out, g)
		}
	}
	var groups []string
	for _, l := range list {
		group, capability := strings.HasPrefix(l.Origin, "@"), strings.HasPrefix(l.Origin, "capability ")
		switch {
		case group && len(l.Hosts) == 0: // nothing is granted; inner doctor says why
		case one:
			say(l.Text)
		case group && t.brief >= ofGroups, capability && t.brief >= ofAgents:
			reach(l.Own, "")
		case group:
			groups = append(groups, strings.TrimPrefix(l.Text, "can reach "))
		case capability:
			reach(l.Hosts, "")
		case len(l.Hosts) > 0:
			reach(l.Hosts, " ["+l.Origin+"]")
		default:
			say(l.Text)
		}
	}
	if len(groups) > 0 {
		say("the groups of hosts are " + strings.Join(groups, "; "))
	}
	return out
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
		for _, text := range slices.Concat(changeLines(t.app.stderr, nil, narrower), changeLines(t.app.stderr, wider, nil)) {
			b.WriteString("  " + text + "\n")
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
			case g.Dangerous(), g.Key == profile.MountRW && !paths.Below(t.root, it.Path):
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

// dangers is the part next to the question.
func (t *consent) dangers() string {
	if t.danger.Len() == 0 {
		return ""
	}
	return tell.Paint(t.app.stderr, "31", strings.TrimSuffix(dangerHead, "\n")) + "\n" + t.danger.String()
}
