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

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/picture"
	"github.com/enr/inner/isolator/preview"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
)

// Page is what is shown of some profiles of a project and of its config.toml.
type Page struct {
	*settings.Settings
	Place     settings.Place
	List      []Candidate
	Config    config.Read
	NewConfig bool                           // the config.toml is asked about
	OldConfig *trust.ProfileRecord           // the one that was decided on last, or nil
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
			b, _, err := preview.Look(p.Settings, c.Profile, c.At)
			if c.Stops = err; err == nil {
				c.hidden = picture.Unseen(b)
			}
		}
	}
	t.write()
	return t.detail.String(), t.dangers()
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
		t.line("", "allowed already, unchanged: %s", strings.Join(settled, ", "))
	}
	if t.NewConfig || len(asked) > 0 && (t.Config.File != nil || t.OldConfig.WasApproved()) {
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
	if len(fresh) == 1 {
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

// config shows what the config.toml asks for, and of one that was allowed what differs.
func (t *page) config() {
	now, was, changed := t.Config.Words(), []string(nil), ""
	if t.OldConfig.WasApproved() && (t.NewConfig || t.Config.File == nil) {
		was, changed = t.OldConfig.Words, " changed since it was allowed"
	}
	t.line("", "config (%s)%s:", t.Short(filepath.Join(t.Place.Project.Dir, "config.toml")), changed)
	for _, part := range was {
		if !slices.Contains(now, part) {
			t.line("  ", "no longer: %s", part)
		}
	}
	for _, part := range now {
		if !slices.Contains(was, part) {
			t.line("  ", "%s", part)
		}
	}
}

func (t *page) line(indent, format string, args ...any) {
	t.detail.WriteString(picture.Wrap(indent+visible.Text(fmt.Sprintf(format, args...)), t.Width))
}

func (t *page) warn(format string, args ...any) {
	t.danger.WriteString(picture.Wrap("  "+visible.Text(fmt.Sprintf(format, args...)), t.Width))
}

// fresh shows a profile that was never allowed: as a whole, or beside the built-in one that it builds on.
func (t *page) fresh(c Candidate) {
	name, shown, differs, end := c.Profile.Name, c.Grants, ":", ""
	var less []profile.Grant
	if base, grants := t.Builtin(c.Profile, c.At); base != "" {
		shown, less = beside(grants, c.Grants)
		switch {
		case slices.ContainsFunc(shown, func(g profile.Grant) bool { return g.Key != profile.MountRW }):
			differs = ", and more:"
		case len(less) > 0:
			differs = ", and less:"
		}
		differs, end = " what the built-in profile "+base+" does"+differs, "(all of it: inner explain "+name+")"
	}
	t.line("", "profile %s (%s) grants%s", name, t.Short(c.Profile.Path), differs)
	safe, _ := split(shown)
	t.rows("", safe)
	t.rows("less: ", less)
	t.rows("", c.unseen())
	if end != "" {
		t.line("  ", "%s", end)
	}
	_, far := split(c.Grants)
	t.far(c, far, "")
}

// beside is what a profile grants more and less than the built-in one that it builds on. What it
// can change is in it in any case.
func beside(builtin, grants []profile.Grant) (more, less []profile.Grant) {
	more, less = profile.DiffGrants(builtin, grants)
	changes := func(g profile.Grant) bool { return g.Key == profile.MountRW }
	more = slices.DeleteFunc(more, changes)
	for _, g := range grants {
		if changes(g) {
			more = append(more, g)
		}
	}
	return more, slices.DeleteFunc(less, func(g profile.Grant) bool { return g.Kind == "runs" })
}

// several shows profiles that were never allowed, without what makes each narrower.
func (t *page) several(list []Candidate) {
	var names, called []string
	var near, far [][]profile.Grant
	for _, c := range list {
		safe, beyond := split(slices.DeleteFunc(slices.Clone(c.Grants), func(g profile.Grant) bool { return g.Tightens }))
		near, far = append(near, append(safe, c.unseen()...)), append(far, beyond)
		names = append(names, c.Profile.Name)
		short, _, _ := strings.Cut(c.Profile.Name, "-") // claude-interactive is called claude, if no other is
		called = append(called, short)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(called)))) < len(called) {
		called = names
	}
	t.line("", "%d profiles of %s: %s", len(list), t.Short(t.Place.Root()), strings.Join(names, ", "))
	t.rows("", together(called, near))
	t.line("  ", "(all of one: inner explain NAME)")
	for _, g := range together(called, far) {
		t.warn("%s", g.Text)
	}
}

// unseen is what there is in the project that the box would not see.
func (c Candidate) unseen() []profile.Grant {
	g := profile.Grant{Kind: "hides", Words: "does not see of this project"}
	for _, rest := range visible.Some(c.hidden, 6) {
		g.Items = append(g.Items, profile.Item{Text: rest})
	}
	return withItems(g, g.Items)
}

// far notes what stands next to the question.
func (t *page) far(c Candidate, list []profile.Grant, when string) {
	of := ""
	if len(t.List) > 1 || when != "" {
		of = c.Profile.Name + when + ": "
	}
	for _, g := range list {
		t.warn("%s%s", of, g.Text)
	}
}

// rows writes a line for each sort of grants.
func (t *page) rows(head string, grants []profile.Grant) {
	for _, text := range profile.Lines(grants) {
		t.line("  ", "%s", head+text)
	}
}

// changed shows how a profile differs from the version that was allowed last.
func (t *page) changed(c Candidate) {
	wider, narrower := profile.DiffGrants(c.Old, c.Grants)
	if len(wider)+len(narrower) == 0 {
		t.line("", "profile %s grants the same as before", c.Profile.Name)
	} else {
		t.line("", "profile %s changed since it was allowed:", c.Profile.Name)
	}
	for _, text := range slices.Concat(ChangeLines(t.Paint, nil, narrower), ChangeLines(t.Paint, wider, nil)) {
		t.detail.WriteString(picture.Wrap("  "+text, t.Width))
	}
	_, far := split(wider)
	t.far(c, far, ", new")
	if when := c.Profile.When(); when != "always" && c.Rec != nil && c.Rec.ShimWhen != when {
		t.warn("%s, new: when = %q; at other times its commands run outside the sandbox", c.Profile.Name, when)
	}
}

// split parts what stays within the project and the box from what is far beyond them: grants as a whole, or items of
// them. What is more than files on this host is far.
func split(grants []profile.Grant) (safe, far []profile.Grant) {
	for _, g := range grants {
		var in, out []profile.Item
		for _, it := range g.Items {
			if !it.Far && it.Path != "" && special(it.Path) {
				it.Far, it.Text = true, it.Text+" (a socket or a device)"
			}
			if it.Far {
				out = append(out, it)
			} else {
				in = append(in, it)
			}
		}
		switch {
		case g.Far:
			far = append(far, g)
		case g.Tightens || len(g.Items) == 0:
			safe = append(safe, g)
		default:
			safe, far = append(safe, withItems(g, in)...), append(far, withItems(g, out)...)
		}
	}
	return safe, far
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

// dangers is the part next to the question.
func (t *page) dangers() string {
	if t.danger.Len() == 0 {
		return ""
	}
	return t.Paint("31", "and this reaches beyond the project and the box:") + "\n" + t.danger.String()
}
