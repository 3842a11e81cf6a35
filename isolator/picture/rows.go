package picture

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/why"
	"github.com/enr/inner/profile"
)

// groups are all of them, without rows.
func groups() []Group {
	return []Group{
		{"files", "Files", nil},
		{"hidden", "Secrets", nil},
		{"network", "Network", nil},
		{"settings", "Logins and settings", nil},
		{"variables", "Environment variables", nil},
		{"commands", "Commands", nil},
		{"limits", "Limits", nil},
		{"kernel", "Kernel", nil},
		{"organisation", "Taken by " + profile.OrganisationFile, nil},
	}
}

// Groups sorts what is known of a box into groups; empty ones are left out. Of a run that would be
// refused, and has no plan, there are the grants alone.
func Groups(p *profile.Profile, b *run.Prepared) []Group {
	rows := map[string][]Row{}
	for _, g := range GrantsOf(p, b.Spec) {
		if g.Kind != "runs" { // which is told before all groups
			key := g.Verb().Group
			rows[key] = append(rows[key], grant(withoutValues(g)))
		}
	}
	rows["hidden"], rows["organisation"] = append(rows["hidden"], hidden(b)...), organisation(b)
	if b.Plan.Bwrap != "" || b.Plan.Container != nil {
		planned(b, rows)
	}
	out := groups()
	for i := range out {
		out[i].Rows = rows[out[i].Key]
	}
	return slices.DeleteFunc(out, func(g Group) bool { return len(g.Rows) == 0 })
}

// withoutValues is a grant without values of variables: a page is shown to others.
func withoutValues(g profile.Grant) profile.Grant {
	if g.Kind != "sets" {
		return g
	}
	g.Items = slices.Clone(g.Items)
	for i, it := range g.Items {
		if name, _, valued := strings.Cut(it.Text, "="); valued {
			g.Items[i].Text = name + " (value not shown)"
		}
	}
	g.Render()
	return g
}

// grant is a row for a grant.
func grant(g profile.Grant) Row {
	things := []Thing{}
	for _, it := range g.Items {
		things = append(things, Thing{Text: it.Text, Path: it.Path})
	}
	return Row{Way(g.Verb().Way), g.Words, things, g.From, g.Text}
}

// row is a row for some texts; of none, nothing.
func row(way Way, word string, list ...string) []Row {
	if len(list) == 0 {
		return nil
	}
	things := make([]Thing, len(list))
	for i, text := range list {
		things[i].Text = text
	}
	return []Row{{Way: way, Word: word, Things: things}}
}

// planned adds what the plan and the host say to the rows of the grants.
func planned(b *run.Prepared, rows map[string][]Row) {
	add := func(key string, more []Row) { rows[key] = append(rows[key], more...) }
	var kept []string
	for _, p := range protected(b) {
		kept = append(kept, b.Short(p))
	}
	add("files", row(Seen, "cannot change in there", kept...))
	add("files", row(Shut, "does not see of this project", Unseen(b)...))
	if len(b.Spec.WritableRoots()) > 0 {
		add("files", remark("what it writes that you build, test, open or start later runs without a sandbox"))
	}
	add("variables", row(Own, "has these variables", variables(b.Plan)...))
	add("variables", row(Shut, "never gets", b.Spec.Env.Never...))
	add("settings", row(Shut, "of your git settings it does not have", b.LeftOut...))
	for _, c := range b.Agents {
		add("settings", row(Own, c.Name, explain(c, b.Home, b.Spec.Uses(c.Name))...))
	}
	add("settings", servers(b))
	if len(features.Unsigned(b.Caller, b.Spec)) > 0 {
		add("settings", remark(features.SignLine))
	}
	for _, l := range ReachLines(b.Reach) {
		add("network", remark(l))
	}
	for _, h := range Holds(b) {
		key := map[string]string{"network": "network", "ports": "network", "hide": "hidden", "limits": "limits"}[h.Name]
		add(cmp.Or(key, "kernel"), row(Note, h.Name, h.Text))
	}
}

// servers are the MCP servers of the user's that the box does not have, and those that would not start in it.
func servers(b *run.Prepared) (rows []Row) {
	var left []string
	for _, s := range b.MCP(b.Spec) {
		if !b.Spec.GrantsMCP(s.Name) {
			left = append(left, s.Name)
		} else if a := why.Of(b).MCP(s.Name); !a.Granted(false) {
			rows = append(rows, remark("MCP server "+s.Name+" does not start: "+a.How)...)
		}
	}
	return append(rows, row(Shut, "of your MCP servers it does not have", left...)...)
}

func remark(text string) []Row { return []Row{{Way: Note, Word: text, Things: []Thing{}}} }

// Unseen are the places of the project, or of the working folder, that the box would not see, relative to it.
func Unseen(b *run.Prepared) (out []string) {
	for _, place := range b.Plan.Masked {
		if rest, below := paths.Rest(cmp.Or(b.Spec.Project, b.Spec.Workdir), place); below &&
			rest != "" && files.Exists(place) && b.Assets.Heads[place] == "" {
			out = append(out, rest)
		}
	}
	return out
}

// protected are the places of the host that the box can only read, in a folder that it can change.
func protected(b *run.Prepared) (out []string) {
	for _, o := range b.Plan.Ops {
		in := slices.ContainsFunc(b.Spec.WritableRoots(), func(root string) bool { return paths.Inside(root, o.Dest) })
		empty := o.Kind == plan.OpTmpfs && !o.Writable() && !strings.HasPrefix(o.Reason, "hidden:") // until the start, where nothing is
		served := slices.ContainsFunc(b.Assets.Repos, func(r plan.Repo) bool { return r.Dir == o.Dest })
		if in && !served && (empty || o.Kind == plan.OpReadOnly && o.Source == o.Dest) {
			out = append(out, o.Dest)
		}
	}
	return out
}

// variables are the names of the variables of a box; the many that carry the git settings are one.
func variables(p plan.Plan) (names []string) {
	for _, kv := range p.Env {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "GIT_CONFIG_") {
			name = "GIT_CONFIG_…"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// hidden says which kinds of things of the table are hidden, and in how many places of this host.
func hidden(b *run.Prepared) (rows []Row) {
	if b.Facts.Home == "" { // nothing was probed
		return row(Shut, "hides", "what inner profile resources lists, and what you hide yourself")
	}
	var all []Thing
	for _, r := range plan.Places(b.Spec, b.Facts) {
		if slices.Contains(b.Spec.Allow, r.Key) {
			continue
		}
		i := slices.IndexFunc(all, func(t Thing) bool { return t.Text == r.Key })
		if i < 0 {
			i, all = len(all), append(all, Thing{Text: r.Key, Why: r.What})
		}
		for _, p := range r.At {
			kind := b.Facts.Look(p).Kind
			if kind != "" && kind != host.Missing && kind != host.Denied && !b.Spec.Alone(r.Key, b.Facts.Look(p).Real) {
				all[i].Places, all[i].Count = append(all[i].Places, p), all[i].Count+1
			}
		}
	}
	here := slices.DeleteFunc(slices.Clone(all), func(t Thing) bool { return t.Count == 0 })
	if len(here) > 0 {
		rows = append(rows, Row{Way: Shut, Word: "hides, in so many places here", Things: here})
	}
	if absent := len(all) - len(here); absent > 0 {
		rows = append(rows, row(Shut, "hides if it appears", strconv.Itoa(absent)+" more kinds of things (inner profile resources)")...)
	}
	return rows
}

// organisation says what the administrator of this computer takes from the box, each with its
// line in the file.
func organisation(b *run.Prepared) (rows []Row) {
	for _, o := range b.Spec.Organisation {
		rows = append(rows, row(Shut, strings.TrimPrefix(o.Key, "sandbox."), o.Text()+" (line "+strconv.Itoa(o.Line)+")")...)
	}
	return rows
}

// GrantsOf are those of a run of the profile, each with the places that it is written at, one for each file;
// with none where a box is like that by default.
func GrantsOf(p *profile.Profile, rc profile.RunConfig) []profile.Grant {
	list := profile.Grants(rc)
	for i := range list {
		var from, files []string
		for _, o := range p.OriginsOf(list[i]) {
			if !slices.Contains(files, o.File) {
				from, files = append(from, o.Place()), append(files, o.File)
			}
		}
		list[i].From = strings.Join(from, ", ")
	}
	return list
}
