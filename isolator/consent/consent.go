// Package consent composes what `inner allow` shows before it asks, in ten lines for a profile. Read it from the
// end: next to the question stands what is dangerous, above it what is ordinary, one line for what can be changed,
// read, reached, and so on. Of a profile that builds on a built-in one what it has more is shown, of several
// profiles what they have in common once.
//
//	list, wrong := consent.Read(settings, place, files, record, config)
//	page := consent.Page{Settings: settings, Place: place, List: list, Config: config}
//	detail, danger := page.Text()
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
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/picture"
	"github.com/enr/inner/isolator/run"
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
	Width     int                            // of the terminal in columns; 0 where no line is broken
	Paint     func(code, text string) string // a text in a colour, an SGR code (ECMA-48)
}

// page is the text of a Page.
type page struct {
	Page
	detail strings.Builder
	danger strings.Builder
}

// Text is the page, and the part of it that stands next to the question.
func (p Page) Text() (detail, danger string) {
	t := page{Page: p}
	for i := range t.List {
		if c := &t.List[i]; !c.Settled() {
			c.hidden, c.Stops = look(p.Settings, c.Profile, c.At)
		}
	}
	t.write()
	return t.detail.String(), t.dangers()
}

// Stops is why a profile would not start at a place; a program that is not installed yet is
// no reason.
func Stops(s *settings.Settings, p *profile.Profile, at profile.Context) error {
	_, err := look(s, p, at)
	return err
}

// look is that, and what there is in the project that the box would not see.
func look(s *settings.Settings, p *profile.Profile, at profile.Context) (hidden []string, err error) {
	b, err := run.Show(s, run.Call{Profile: p, Context: at}, false)
	if fault.Code(err) == launch.CodeNotFound {
		at.Overrides.Entrypoint = "/bin/sh" // the box is the same
		b, err = run.Show(s, run.Call{Profile: p, Context: at}, false)
	}
	if err != nil {
		return nil, err
	}
	return picture.Unseen(b), nil
}

func (t *page) write() {
	var settled []string
	var asked []Candidate
	for _, c := range t.List {
		if c.Settled() {
			settled = append(settled, c.Profile.Name)
		} else {
			asked = append(asked, c)
		}
	}
	if len(settled) > 0 {
		t.line("", "%s %s: allowed already, unchanged", plural(len(settled), "profile", "profiles"), strings.Join(settled, ", "))
	}
	if t.Config.File != nil && len(asked) > 0 || t.NewConfig {
		t.config()
	}
	unsigned := false
	var fresh []Candidate
	for _, c := range asked {
		if len(c.Old) == 0 || c.State == trust.Denied { // what was denied is read as a whole
			fresh = append(fresh, c)
			unsigned = unsigned || len(features.Unsigned(t.Caller, c.Spec)) > 0
		} else {
			t.changed(c)
		}
	}
	if t.older(fresh); len(fresh) == 1 {
		t.fresh(fresh[0])
	} else if len(fresh) > 1 {
		t.several(fresh)
	}
	if unsigned {
		t.line("", "%s", features.SignLine)
	}
	if len(t.Words) > 0 {
		t.warn("no longer claimed here, so these run outside the sandbox from then on: %s", strings.Join(t.Words, ", "))
	}
}

// config shows what the config.toml asks for.
func (t *page) config() {
	parts := wordsOf(t.Config.Config)
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
	t.detail.WriteString(picture.Wrap(indent+visible.Text(fmt.Sprintf(format, args...)), t.Width))
}

func (t *page) warn(format string, args ...any) {
	t.danger.WriteString(picture.Wrap("  "+visible.Text(fmt.Sprintf(format, args...)), t.Width))
}

func (t *page) older(list []Candidate) {
	for _, c := range list {
		if c.older() {
			t.line("", "profile %s was allowed by an older inner, which did not keep the real paths of what it grants", c.Profile.Name)
		}
	}
}

// fresh shows a profile that was never allowed.
func (t *page) fresh(c Candidate) {
	name := c.Profile.Name
	safe, dangerous := t.split(c.Grants)
	base, less, more := t.builtin(c)
	if base == "" {
		t.line("", "profile %s (%s) grants:", name, t.Short(c.Profile.Path))
		t.rows("", safe)
	} else {
		t.line("", "profile %s (%s) grants what the built-in profile %s does%s", name, t.Short(c.Profile.Path), base, differs(less, more))
		changes := func(g profile.Grant) bool { return g.Key == profile.MountRW }
		t.rows("", slices.DeleteFunc(safe, func(g profile.Grant) bool { return !changes(g) }))
		safe, _ = t.split(more)
		t.rows("", slices.DeleteFunc(safe, changes))
		t.rows("less: ", less)
	}
	if n := len(c.hidden); n > 0 {
		t.line("  ", "does not see of this project: %s", strings.Join(visible.Some(c.hidden, 6), ", "))
	}
	if base != "" {
		t.line("  ", "(all of it: inner explain %s)", name)
	}
	t.dangerous(c, dangerous, "")
}

// differs is how a sentence on a built-in profile ends.
func differs(less, more []profile.Grant) string {
	switch {
	case len(more) > 0:
		return ", and more:"
	case len(less) > 0:
		return ", and less:"
	}
	return ":"
}

// several shows profiles that were never allowed, without what makes each narrower.
func (t *page) several(list []Candidate) {
	var names, words []string
	var in, out [][]profile.Grant
	for _, c := range list {
		safe, dangerous := t.split(c.Grants)
		safe = slices.DeleteFunc(safe, func(g profile.Grant) bool { return g.Tightens })
		if len(c.hidden) > 0 {
			g := profile.Grant{Kind: "hides", Words: "does not see of this project"}
			for _, rest := range c.hidden {
				g.Items = append(g.Items, profile.Item{Text: rest})
			}
			safe = append(safe, g)
		}
		in, out = append(in, safe), append(out, dangerous)
		names, words = append(names, c.Profile.Name), append(words, called(c, list))
	}
	t.line("", "%d profiles of %s: %s", len(list), t.Short(t.Place.Root()), strings.Join(names, ", "))
	t.rows("", together(words, in))
	t.line("  ", "(all of one: inner explain NAME)")
	for _, g := range together(words, out) {
		t.warn("%s", g.Text)
	}
}

// called is how a profile is called beside what it grants: claude-interactive as claude, if no other is.
func called(c Candidate, list []Candidate) string {
	short := func(c Candidate) string { return strings.SplitN(c.Profile.Name, "-", 2)[0] }
	for _, o := range list {
		if o.Profile != c.Profile && short(o) == short(c) {
			return c.Profile.Name
		}
	}
	return short(c)
}

// dangerous notes what stands next to the question.
func (t *page) dangerous(c Candidate, list []profile.Grant, when string) {
	of := ""
	if len(t.List) > 1 || when != "" {
		of = c.Profile.Name + when + ": "
	}
	for _, g := range list {
		t.warn("%s%s", of, g.Text)
	}
}

// builtin is the built-in profile that one builds on, as it came with inner, and how the grants differ.
func (t *page) builtin(c Candidate) (name string, less, more []profile.Grant) {
	name, grants := t.Builtin(c.Profile, c.At)
	if name == "" {
		return "", nil, nil
	}
	more, less = profile.DiffGrants(grants, c.Grants)
	runs := func(g profile.Grant) bool { return g.Kind == "runs" }
	less = slices.DeleteFunc(less, runs)
	return name, less, more
}

// kinds are the kinds of grants in the order of the lines that tell them, those of one line together.
func kinds() [][]string {
	return [][]string{{"runs"}, {profile.MountRW}, {"writes", "copies"}, {"reads"}, {"network"}, {"capability", "login", "git"}, {"secret", "passes", "sets", "path"}}
}

// rows writes a line for each sort of grants, last what makes the box narrower.
func (t *page) rows(head string, grants []profile.Grant) {
	lines := make([][]string, len(kinds())+2)
	for _, g := range grants {
		at := slices.IndexFunc(kinds(), func(line []string) bool { return slices.Contains(line, g.Key) || slices.Contains(line, g.Kind) })
		switch {
		case g.Tightens:
			at = len(lines) - 1
		case at < 0:
			at = len(lines) - 2
		}
		text := g.Text
		if rest, more := strings.CutPrefix(text, "can read"); more && len(lines[at]) > 0 {
			text = strings.TrimLeft(rest, ": ")
		}
		lines[at] = append(lines[at], text)
	}
	for _, line := range lines {
		if len(line) > 0 {
			t.line("  ", "%s%s", head, strings.Join(line, "; "))
		}
	}
}

// changed shows how a profile differs from the version that was allowed last.
func (t *page) changed(c Candidate) {
	wider, narrower := profile.DiffGrants(c.Old, c.Grants)
	t.line("", "profile %s changed since it was allowed:", c.Profile.Name)
	for _, text := range slices.Concat(ChangeLines(t.Paint, nil, narrower), ChangeLines(t.Paint, wider, nil)) {
		t.detail.WriteString(picture.Wrap("  "+text, t.Width))
	}
	if len(wider)+len(narrower) == 0 {
		t.line("  ", "it grants the same as before")
	}
	_, dangerous := t.split(wider)
	t.dangerous(c, dangerous, ", new")
	if when := c.Profile.When(); when != "always" && c.Rec != nil && c.Rec.ShimWhen != when {
		t.warn("%s, new: when = %q; at other times its commands run outside the sandbox", c.Profile.Name, when)
	}
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
