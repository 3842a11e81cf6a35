// Package consent composes what `inner allow` shows before it asks. Read it from the end:
// next to the question stands what is dangerous, above it what is ordinary. What several
// profiles have in common stands once, with their names; so does each list of hosts.
//
//	list, wrong := consent.Read(settings, place, files, record, config)
//	page := consent.Page{Settings: settings, Place: place, List: list, Config: config}
//	detail, danger := page.Text(fits)
package consent

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
)

// Page is what is shown of some profiles of a project and of its config.toml.
type Page struct {
	*settings.Settings
	Place     settings.Place
	List      []Candidate
	Config    settings.ConfigRead
	NewConfig bool                           // the config.toml is asked about
	Words     []string                       // commands that a yes would no longer guard
	Paint     func(code, text string) string // a text in a colour, an SGR code (ECMA-48)
}

// page is a text of a Page that leaves out as much as brief says.
type page struct {
	Page
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

// Text is as much of the page as fits, and the part of it that stands next to the question.
// What fits nowhere is told whole.
func (p Page) Text(fits func(text string) bool) (detail, danger string) {
	for i, c := range p.List {
		if !c.Settled() {
			p.List[i].reach = features.ReachLines(p.Settings, c.Profile, c.At, c.Spec)
			p.List[i].Stops = Stops(p.Settings, c.Profile, c.At)
		}
	}
	for b := nothing; b <= ofNames; b++ {
		t := page{Page: p, brief: b}
		t.write()
		if b == nothing || fits(t.detail.String()+t.dangers()) {
			detail, danger = t.detail.String(), t.dangers()
		}
		if fits(detail + danger) {
			break
		}
	}
	return detail, danger
}

// Stops is why a profile would not start at a place; a program that is not installed yet is
// no reason.
func Stops(s *settings.Settings, p *profile.Profile, at profile.Context) error {
	_, err := isolator.Show(s, isolator.Call{Profile: p, Context: at}, false)
	if fault.Code(err) == launch.CodeNotFound {
		return nil
	}
	return err
}

func (t *page) write() {
	var settled []string
	var fresh, changed []Candidate
	for _, c := range t.List {
		switch {
		case c.Settled():
			settled = append(settled, c.Profile.Name)
		case len(c.Old) == 0, c.State == trust.Denied: // what was denied is read as a whole
			fresh = append(fresh, c)
		default:
			changed = append(changed, c)
		}
	}
	if len(settled) > 0 {
		t.line("", "%s %s: allowed already, unchanged", plural(len(settled), "profile", "profiles"), strings.Join(settled, ", "))
	}
	if t.Config.File != nil && len(fresh)+len(changed) > 0 || t.NewConfig {
		t.config()
	}
	t.changed(changed)
	t.fresh(fresh)
	t.signing(fresh)
	t.claims(changed)
}

// config shows what the project's config.toml says.
func (t *page) config() {
	parts := t.Config.Config.Describe()
	if len(parts) > 0 {
		t.line("", "config (%s):", t.Short(filepath.Join(t.Place.Project.Dir, "config.toml")))
	}
	for _, part := range parts {
		t.line("  ", "%s", part)
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (t *page) line(indent, format string, args ...any) {
	t.detail.WriteString(indent + visible.Text(fmt.Sprintf(format, args...)) + "\n")
}

func (t *page) warn(format string, args ...any) {
	t.danger.WriteString("  " + visible.Text(fmt.Sprintf(format, args...)) + "\n")
}

// signing says once that commits of the box are not signed, where git outside signs them.
func (t *page) signing(list []Candidate) {
	var of []string
	for _, c := range list {
		if len(features.Unsigned(t.Caller, c.Spec)) > 0 {
			of = append(of, c.Profile.Name)
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
func (t *page) fresh(list []Candidate) {
	if len(list) == 0 {
		return
	}
	var all, bad, behind lines
	var names []string
	for _, c := range list {
		name := t.called(c, list)
		names = append(names, c.Profile.Name)
		safe, dangerous := t.split(c.Grants)
		all.add(name, safe)
		bad.add(name, dangerous)
		behind.add(name, t.hosts(c.reach, len(list) == 1))
		if c.older() {
			t.line("", "profile %s was allowed by an older inner, which did not keep the real paths of what it grants", name)
		}
	}
	if len(list) == 1 {
		t.line("", "profile %s (%s) grants:", names[0], t.Short(list[0].Profile.Path))
		for _, v := range slices.Concat(all.verbs(), behind.verbs()) {
			t.line("  ", "%s", v.text(1))
		}
	} else {
		t.line("", "%d profiles of %s: %s", len(list), t.Short(t.Place.Root()), strings.Join(names, ", "))
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
func (t *page) called(c Candidate, list []Candidate) string {
	words := c.Profile.Commands()
	if t.brief < ofNames || len(words) != 1 {
		return c.Profile.Name
	}
	others := 0
	for _, o := range list {
		if slices.Contains(o.Profile.Commands(), words[0]) || o.Profile.Name == words[0] {
			others++
		}
	}
	if others > 1 {
		return c.Profile.Name
	}
	return words[0]
}

// paragraphs are the texts of verbs, with those together that say what can be read, and
// those that take away. What was left out is named where it belongs.
func (t *page) paragraphs(verbs []verb, all int) []string {
	const read = "can read"
	var out, less []string
	reads := -1
	for _, v := range verbs {
		text := t.briefly(v, all)
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

// briefly is the text of a verb, which says that hosts are left out where they are.
func (t *page) briefly(v verb, all int) string {
	if v.grant.Words == "gets a copy of your login and settings of" && t.brief >= ofAgents {
		v.grant.Words = "gets a copy of your login and settings, and can reach the hosts, of"
	}
	text := v.text(all)
	if v.grant.Words == "can reach" && t.brief >= ofGroups {
		text += " (which hosts: inner profile show --explain NAME)"
	}
	return text
}

// network are grants of the network.
type network []profile.Grant

func (n *network) say(text string) {
	*n = append(*n, profile.Grant{Kind: "network", Words: text})
}

// reach adds hosts, each with where it comes from.
func (n *network) reach(hosts []string, from string) {
	g := profile.Grant{Kind: "network", Words: "can reach"}
	for _, h := range hosts {
		g.Items = append(g.Items, profile.Item{Text: h + from})
	}
	if len(g.Items) > 0 {
		*n = append(*n, g)
	}
}

// hosts are what is behind the words about the network, as grants. One profile has a line
// for each word.
func (t *page) hosts(list []features.ReachLine, one bool) (out network) {
	var groups []string
	for _, l := range list {
		group, capability := strings.HasPrefix(l.Origin, "@"), strings.HasPrefix(l.Origin, "capability ")
		switch {
		case group && len(l.Hosts) == 0: // nothing is granted; inner doctor says why
		case one:
			out.say(l.Text)
		case group && t.brief >= ofGroups, capability && t.brief >= ofAgents:
			out.reach(l.Own, "")
		case group:
			groups = append(groups, strings.TrimPrefix(l.Text, "can reach "))
		case capability:
			out.reach(l.Hosts, "")
		case len(l.Hosts) > 0:
			out.reach(l.Hosts, " ["+l.Origin+"]")
		default:
			out.say(l.Text)
		}
	}
	if len(groups) > 0 {
		out.say("the groups of hosts are " + strings.Join(groups, "; "))
	}
	return out
}

// changed shows what became of profiles that were allowed as they were.
func (t *page) changed(list []Candidate) {
	type change struct {
		text string
		of   []string
	}
	var all []change
	for _, c := range list {
		text := t.change(c)
		i := slices.IndexFunc(all, func(x change) bool { return x.text == text })
		if i < 0 {
			i = len(all)
			all = append(all, change{text: text})
		}
		all[i].of = append(all[i].of, c.Profile.Name)
	}
	for _, x := range all {
		t.line("", "%s %s changed since %s allowed:", plural(len(x.of), "profile", "profiles"), strings.Join(x.of, ", "), plural(len(x.of), "it was", "they were"))
		t.detail.WriteString(x.text)
	}
}

// change is what became different in a profile, as lines. What of it is dangerous stands next to
// the question, too.
func (t *page) change(c Candidate) string {
	wider, narrower := profile.DiffGrants(c.Old, c.Grants)
	_, dangerous := t.split(wider)
	for _, g := range dangerous {
		t.warn("%s, new: %s", c.Profile.Name, g.Text)
	}
	if len(wider)+len(narrower) == 0 {
		return "  it grants the same as before\n"
	}
	var b strings.Builder
	for _, text := range slices.Concat(ChangeLines(t.Paint, nil, narrower), ChangeLines(t.Paint, wider, nil)) {
		b.WriteString("  " + text + "\n")
	}
	return b.String()
}

// split parts what stays within the project and the box from what does not.
func (t *page) split(grants []profile.Grant) (safe, dangerous []profile.Grant) {
	for _, g := range grants {
		in, out := t.parts(g)
		safe, dangerous = append(safe, in...), append(dangerous, out...)
	}
	return safe, dangerous
}

// parts is split for one grant, whose items may be of both sorts.
func (t *page) parts(g profile.Grant) (safe, dangerous []profile.Grant) {
	switch {
	case g.Tightens, len(g.Items) == 0 && !g.Dangerous():
		return []profile.Grant{g}, nil
	case len(g.Items) == 0:
		return nil, []profile.Grant{g}
	}
	var in, out []profile.Item
	for _, it := range g.Items {
		switch {
		case g.Dangerous(), g.Key == profile.MountRW && !paths.Below(t.Place.Root(), it.Path):
			out = append(out, it)
		case it.Path != "" && special(it.Path):
			it.Text += " (a socket or a device)"
			out = append(out, it)
		default:
			in = append(in, it)
		}
	}
	return withItems(g, in), withItems(g, out)
}

// withItems is a grant of these items alone; of none, nothing.
func withItems(g profile.Grant, items []profile.Item) []profile.Grant {
	if len(items) == 0 {
		return nil
	}
	g.Items = items
	g.Render()
	return []profile.Grant{g}
}

// special reports whether something on the host is more than files.
func special(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode()&(fs.ModeSocket|fs.ModeDevice|fs.ModeNamedPipe) != 0
}

const dangerHead = "and this reaches beyond the project and the box:\n"

// dangers is the part next to the question.
func (t *page) dangers() string {
	if t.danger.Len() == 0 {
		return ""
	}
	return t.Paint("31", strings.TrimSuffix(dangerHead, "\n")) + "\n" + t.danger.String()
}

// claims says what of the commands that were guarded will not be.
func (t *page) claims(changed []Candidate) {
	if len(t.Words) > 0 {
		t.warn("no longer claimed here, so these run outside the sandbox from then on: %s", strings.Join(t.Words, ", "))
	}
	for _, c := range changed {
		if when := c.Profile.When(); when != "always" && c.Rec != nil && c.Rec.ShimWhen != when {
			t.warn("%s, new: when = %q; at other times its commands run outside the sandbox", c.Profile.Name, when)
		}
	}
}
