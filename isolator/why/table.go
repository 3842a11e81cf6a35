package why

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
)

// Subject is a planned run, and where the keys of its profile were written.
type Subject struct {
	Spec    profile.RunConfig
	Facts   host.Facts
	Staged  plan.Staged
	Plan    plan.Plan
	Origins []profile.Origin
	Allow   []netproxy.Rule // what the box may reach by name
	Deny    []netproxy.Rule

	// Original returns the host path that something stands for which is made for the run,
	// and whether source is such a thing.
	Original func(source string) (original string, staged bool)

	// Copied reports whether something that is made for the run, and mounted at a box path,
	// has this path of its original.
	Copied func(at, rest string) bool

	// Put returns the host path that inner copies to a path of the box's own home at the start.
	Put func(rest string) (original string, ok bool)
}

// Of returns the table of a planned run.
func Of(s Subject) *Table {
	t := &Table{
		Profile: s.Spec.Name, File: filepath.Base(s.Spec.Path), Network: string(s.Spec.Network), Ports: map[uint16]uint16{},
		s: &s, disk: onHost{}, Blocked: s.Spec.Noop.Blocked(), keys: map[string]bool{},
		hidden: func(p string) string {
			if key := plan.ResourceAt(p, s.Spec, s.Facts); key != "" && !slices.Contains(s.Spec.Allow, key) {
				return key
			}
			return ""
		},
	}
	for _, key := range profile.AllowKeys() {
		t.keys[key] = true
	}
	for _, p := range s.Spec.HostPorts {
		t.Ports[p.Host] = p.Box
	}
	t.Allow, t.Deny = texts(s.Allow), texts(s.Deny)
	t.written()
	t.rules()
	return t
}

func texts(rules []netproxy.Rule) (list []string) {
	for _, r := range rules {
		list = append(list, r.String())
	}
	return list
}

// written fills in where the keys that are not about a place were written.
func (t *Table) written() {
	for _, key := range []string{"sandbox.network", "sandbox.network_mode", "sandbox.network_allow", "sandbox.host_ports", "env.inherit", "env.set", "noop.block"} {
		if at := t.origin(key, ""); at != "" {
			t.From = append(t.From, From{key, at})
		}
	}
	for _, r := range t.s.Allow {
		if at := t.listed(r); at != "" && at != t.at("sandbox.network_allow") {
			t.From = append(t.From, From{"sandbox.network_allow " + strconv.Quote(r.String()), at})
		}
	}
	refused := slices.DeleteFunc(originsOf(t.s.Origins, "sandbox.network_allow"), func(o profile.Origin) bool { return !strings.HasPrefix(o.Value, `"!`) })
	for _, o := range slices.Concat(originsOf(t.s.Spec.Organisation, "sandbox.network_allow"), refused) {
		t.From = append(t.From, From{o.Key + " " + o.Value, o.Place()})
	}
}

// rules turns the operations of the plan into rules, in the same order.
func (t *Table) rules() {
	// bwrap begins with an empty root.
	t.Rules = []Rule{{At: "/", kind: folder, Write: true, Key: "sandbox.base", How: "a folder on the way to what the box shows", From: t.from(plan.Op{Key: "sandbox.base", Dest: "/"})}}
	for _, o := range t.s.Plan.Ops {
		if o.Kind == plan.OpSeal {
			t.seal(o.Dest)
		} else if r, ok := t.rule(o); ok {
			for _, r := range t.served(r) {
				r.Widen, r.stated = t.widenOf(r)
				t.Rules = append(t.Rules, r)
			}
		}
	}
	for i := range t.Rules {
		r := &t.Rules[i]
		r.Write = r.Write && !t.confined(r.At)
	}
}

// served returns what becomes of a rule where a git directory is served: a box can write most of it.
func (t *Table) served(r Rule) []Rule {
	if !slices.ContainsFunc(t.s.Staged.Repos, func(p plan.Repo) bool { return p.Dir == r.At }) || r.Write {
		return []Rule{r}
	}
	all := []Rule{r}
	all[0].Write = true
	for _, of := range []Rule{
		{At: "hooks", How: "your hooks, which run in the box as well"},
		{At: "description", How: "the repository's own"},
		{At: "branches", How: "the repository's own"},
		{At: "config", How: "settings made of yours: what the box changes stays with it", Write: true},
		{At: "objects", How: "what the box adds; it reads the repository's own", Write: true, kind: folder},
	} {
		below := r
		below.At, below.source, below.How, below.Write = filepath.Join(r.At, of.At), filepath.Join(r.source, of.At), of.How, of.Write
		if of.kind == folder {
			below.kind, below.source = folder, ""
		}
		all = append(all, below)
	}
	return all
}

// rule turns an operation that puts something at a place into a rule.
func (t *Table) rule(o plan.Op) (r Rule, ok bool) {
	r = Rule{At: o.Dest, Write: o.Writable(), Hides: strings.HasPrefix(o.Reason, "hidden:"), How: o.Reason, Key: o.Key, From: t.from(o)}
	switch o.Kind {
	case plan.OpReadOnly, plan.OpBind, plan.OpDevice:
		r.kind, r.source = shown, o.Source
	case plan.OpMask:
		r.kind, r.Hides, r.How = file, true, "empty file"
	case plan.OpData, plan.OpFile:
		r.kind = file
	case plan.OpTmpfs:
		r.kind = folder
		if r.Hides {
			r.How = "empty folder"
		}
	case plan.OpProc, plan.OpDev:
		r.kind, r.source = kernels, o.Dest
	case plan.OpSymlink:
		r.kind, r.text = link, o.Source
	case plan.OpDir:
		r.kind = made
	default:
		return r, false
	}
	return r, true
}

// seal makes what is mounted at a place read-only.
func (t *Table) seal(at string) {
	for i := range slices.Backward(t.Rules) {
		if r := &t.Rules[i]; r.At == at && r.mounts() {
			r.Write = false
			return
		}
	}
}

// from returns where the key that decides about an operation was written.
func (t *Table) from(o plan.Op) string {
	switch {
	case o.Key == "":
		return "every box has it"
	case t.keys[o.Key]:
		return cmp.Or(t.origin("sandbox.allow", o.Key), t.origin("sandbox.allow", ""), builtIn)
	case o.Key == "sandbox.hide":
		at, _ := t.pattern(o.Dest)
		return at
	case strings.HasPrefix(o.Key, "--mount "):
		return "the command line"
	}
	return cmp.Or(t.item(o), t.origin(o.Key, ""), "the default")
}

// item returns where the item of a list that shows a place was written: its path, or else the
// first group, such as @toolchains.
func (t *Table) item(op plan.Op) (at string) {
	for _, o := range t.s.Origins {
		text, err := strconv.Unquote(o.Value)
		if o.Key != op.Key || err != nil {
			continue
		}
		if strings.HasPrefix(text, "@") {
			at = cmp.Or(at, o.Place())
			continue
		}
		dir := t.s.Spec.Workdir
		if rest, ok := paths.Rest("~", text); ok {
			dir, text = t.s.Spec.HomeDir, rest
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(dir, text)
		}
		if paths.Below(text, op.Dest) || paths.Below(text, op.Source) {
			return o.Place()
		}
	}
	return at
}

// listed returns where the item of network_allow that an entry comes from was written, or the
// capability that brings it; "" for an entry from elsewhere.
func (t *Table) listed(r netproxy.Rule) string {
	for _, o := range t.s.Origins {
		text, err := strconv.Unquote(o.Value)
		if o.Key != "sandbox.network_allow" || err != nil {
			continue
		}
		if e, err := hosts.ParseAllow(text); err == nil && (e.String() == r.String() && r.Origin == "network_allow" || text == r.Origin) {
			return o.Place()
		}
	}
	if name, ok := strings.CutPrefix(r.Origin, "capability "); ok {
		return cmp.Or(t.origin("capabilities", name), t.origin("capabilities", ""))
	}
	return ""
}

// origin returns FILE:LINE of the first value of a key, or of that value in its list; "" when
// there is none.
func (t *Table) origin(key, value string) string {
	for _, o := range t.s.Origins {
		if (o.Key == key || strings.HasPrefix(o.Key, key+".")) && (value == "" || o.Value == strconv.Quote(value)) {
			return o.Place()
		}
	}
	return ""
}

// Summary returns the table as a box gets it. It contains no path of the host that the box does
// not have.
func (t *Table) Summary() ([]byte, error) {
	out := *t
	out.Rules = nil
	for i, r := range t.Rules {
		if !r.mounts() {
			continue
		}
		for _, kind := range []string{"mounts", "--mount"} {
			if i > 0 && (strings.HasPrefix(r.Key, kind+".") || strings.HasPrefix(r.Key, kind+" ")) {
				r.Key, r.How = kind, "a mount" // its path may be one that the box does not see
			}
		}
		if j := slices.IndexFunc(out.Rules, func(o Rule) bool { return o.At == r.At }); j >= 0 {
			out.Rules = slices.Delete(out.Rules, j, j+1)
		}
		if !r.repeats(out.Rules) {
			out.Rules = append(out.Rules, r)
		}
	}
	return json.Marshal(out)
}

// repeats reports whether a rule says the same as the one that it lies in, and overrides none.
func (r Rule) repeats(rules []Rule) bool {
	_, in := over(rules, r.At)
	return in != nil && in.Key == r.Key && in.Write == r.Write && in.Hides == r.Hides && in.How == r.How &&
		!slices.ContainsFunc(rules, func(o Rule) bool { return paths.Inside(r.At, o.At) })
}

// Read returns the table of the box that this process is in.
func Read(summary []byte) (*Table, error) {
	t := &Table{disk: inBox{}}
	if err := json.Unmarshal(summary, t); err != nil {
		return nil, err
	}
	for i := range t.Rules {
		t.Rules[i].source = t.Rules[i].At // the box is all there is
	}
	return t, nil
}

// mounts reports whether the rule covers what was at its place, and everything below it.
func (r *Rule) mounts() bool { return r.kind != link && r.kind != made }

// over returns the rule that decides about a box path, and its index.
func over(rules []Rule, p string) (int, *Rule) {
	for i := range slices.Backward(rules) {
		r := &rules[i]
		if r.mounts() && paths.Below(r.At, p) {
			return i, r
		}
	}
	return -1, nil
}

// AddTo puts the summary of a run into its box, beside the marker, before /run is sealed.
func AddTo(p plan.Plan, t *Table) (plan.Plan, error) {
	data, err := t.Summary()
	if err != nil {
		return p, err
	}
	i := slices.IndexFunc(p.Ops, func(o plan.Op) bool { return o.Kind == plan.OpSeal && o.Dest == "/run" })
	if i < 0 {
		return p, nil // a box without a /run of its own has no place for it
	}
	op := plan.Op{Kind: plan.OpFile, Perms: 0o444, Data: len(p.Data), Dest: Place, Reason: "what inner why answers from in the box"}
	p.Data = append(slices.Clip(p.Data), data)
	p.Ops = slices.Insert(slices.Clone(p.Ops), i, op)
	return p, nil
}
