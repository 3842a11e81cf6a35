// Package rules says what a box shows at each of its places, which key decides that, and where the key was
// written. Package why answers from it; AddTo puts it into the box, where there is no plan.
package rules

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitignore"
	"github.com/enr/inner/profile/hosts"
)

// Place is where a box has its Table.
const Place = paths.BoxWhy

// Rule says what is mounted at one place of the box. It overrides earlier rules for that place
// and everything below it.
type Rule struct {
	At     string `json:"at"` // a box path
	Write  bool   `json:"write,omitempty"`
	Hides  bool   `json:"hides,omitempty"`  // it covers something of the host
	Served bool   `json:"served,omitempty"` // a git directory, of which a box can write most
	How    string `json:"how,omitempty"`
	Key    string `json:"key,omitempty"`
	From   string `json:"from,omitempty"`

	// Hide is the pattern of sandbox.hide that matches a hidden place, too, and HideFrom where it was written.
	Hide     string `json:"hide,omitempty"`
	HideFrom string `json:"hide_from,omitempty"`

	Op plan.Op `json:"-"` // what mounts it; the zero value inside a box
}

// From is where a key was written.
type From struct {
	Key  string `json:"key"`
	From string `json:"from"`
}

// Table is everything there is to say about one box.
type Table struct {
	Profile string            `json:"profile"`
	File    string            `json:"file"` // base name of the profile's file
	Network string            `json:"network"`
	Allow   []string          `json:"allow,omitempty"` // entries of hosts
	Deny    []string          `json:"deny,omitempty"`
	Ports   map[uint16]uint16 `json:"ports,omitempty"`   // of this computer, and which of the box it is
	Blocked []string          `json:"blocked,omitempty"` // commands of [noop] block
	Rules   []Rule            `json:"rules"`
	From    []From            `json:"from,omitempty"` // of keys that are not about a place

	spec      profile.RunConfig
	origins   []profile.Origin
	resources []string // keys of the table of resources
}

// Of returns the table of a planned run of a profile. The lists are of what the box may reach by name.
func Of(p *profile.Profile, spec profile.RunConfig, staged plan.Staged, planned plan.Plan, allow, deny []netproxy.Rule) *Table {
	t := &Table{
		Profile: spec.Name, File: filepath.Base(spec.Path), Network: string(spec.Network), Ports: map[uint16]uint16{},
		Allow: texts(allow), Deny: texts(deny), Blocked: spec.Noop.Blocked(), spec: spec, origins: p.Origins(), resources: profile.AllowKeys(),
	}
	for _, p := range spec.HostPorts {
		t.Ports[p.Host] = p.Box
	}
	t.written(allow)
	t.rules(staged, planned)
	return t
}

func texts(rules []netproxy.Rule) (list []string) {
	for _, r := range rules {
		list = append(list, r.String())
	}
	return list
}

// written fills in where the keys that are not about a place were written.
func (t *Table) written(allow []netproxy.Rule) {
	for _, key := range []string{"sandbox.network", "sandbox.network_mode", "sandbox.network_allow", "sandbox.host_ports", "env.inherit", "env.set", "noop.block"} {
		if at := t.Origin(key, ""); at != "" {
			t.From = append(t.From, From{key, at})
		}
	}
	for _, r := range allow {
		if at := t.listed(r); at != "" && at != t.Origin("sandbox.network_allow", "") {
			t.From = append(t.From, From{"sandbox.network_allow " + strconv.Quote(r.String()), at})
		}
	}
	for _, o := range slices.Concat(t.spec.Organisation, t.origins) {
		if o.Key == "sandbox.network_allow" && strings.HasPrefix(o.Value, `"!`) {
			t.From = append(t.From, From{o.Key + " " + o.Value, o.Place()})
		}
	}
}

// rules turns the operations of the plan into rules, in the same order.
func (t *Table) rules(staged plan.Staged, planned plan.Plan) {
	root := plan.Op{Kind: plan.OpTmpfs, Dest: "/", Key: "sandbox.base", Reason: "a folder on the way to what the box shows", Perms: 0o755}
	for _, o := range slices.Concat([]plan.Op{root}, planned.Ops) { // bwrap begins with an empty root
		switch o.Kind {
		case plan.OpSeal:
			for i := range slices.Backward(t.Rules) {
				if r := &t.Rules[i]; r.At == o.Dest && r.Mounts() {
					r.Write = false
					break
				}
			}
		case plan.OpNote, plan.OpSwitch, plan.OpFilter:
		default:
			t.Rules = append(t.Rules, t.rule(o, staged))
		}
	}
	if l := planned.Landlock; l != nil && l.Writes {
		for i := range t.Rules {
			r := &t.Rules[i]
			r.Write = r.Write && slices.ContainsFunc(l.Writable, func(p string) bool { return paths.Below(p, r.At) })
		}
	}
}

// rule turns an operation that puts something at a place into a rule.
func (t *Table) rule(o plan.Op, staged plan.Staged) Rule {
	r := Rule{At: o.Dest, Write: o.Writable(), Hides: strings.HasPrefix(o.Reason, "hidden:"), How: o.Reason, Key: o.Key, From: t.from(o), Op: o}
	switch {
	case o.Kind == plan.OpMask:
		r.Hides, r.How = true, "empty file"
	case o.Kind == plan.OpTmpfs && r.Hides:
		r.How = "empty folder"
	}
	if !r.Write && slices.ContainsFunc(staged.Repos, func(p plan.Repo) bool { return p.Dir == r.At }) {
		r.Served, r.Write = true, true
	}
	if slices.Contains(t.resources, r.Key) || r.Key == "sandbox.hide" {
		r.HideFrom, r.Hide = t.Pattern(r.At)
	}
	return r
}

// from returns where the key that decides about an operation was written.
func (t *Table) from(o plan.Op) string {
	switch {
	case o.Key == "":
		return "every box has it"
	case slices.Contains(t.resources, o.Key):
		return cmp.Or(t.Origin("sandbox.allow", o.Key), t.Origin("sandbox.allow", ""), BuiltIn)
	case o.Key == "sandbox.hide":
		at, _ := t.Pattern(o.Dest)
		return at
	case strings.HasPrefix(o.Key, "--mount "):
		return "the command line"
	}
	return cmp.Or(t.item(o), t.Origin(o.Key, ""), "the default")
}

// BuiltIn is where a resource is hidden that inner itself hides.
const BuiltIn = "built in: inner profile resources"

// item returns where the item of a list that shows a place was written: its path, or else the
// first group, such as @toolchains.
func (t *Table) item(op plan.Op) (at string) {
	for _, o := range t.origins {
		text, err := strconv.Unquote(o.Value)
		if o.Key != op.Key || err != nil {
			continue
		}
		if strings.HasPrefix(text, "@") {
			at = cmp.Or(at, o.Place())
			continue
		}
		dir := t.spec.Workdir
		if rest, ok := paths.Rest("~", text); ok {
			dir, text = t.spec.HomeDir, rest
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
	for _, o := range t.origins {
		text, err := strconv.Unquote(o.Value)
		if o.Key != "sandbox.network_allow" || err != nil {
			continue
		}
		if e, err := hosts.ParseAllow(text); err == nil && (e.String() == r.String() && r.Origin == "network_allow" || text == r.Origin) {
			return o.Place()
		}
	}
	if name, ok := strings.CutPrefix(r.Origin, "capability "); ok {
		return cmp.Or(t.Origin("capabilities", name), t.Origin("capabilities", ""))
	}
	return ""
}

// Origin returns FILE:LINE of the first value of a key, or of that value in its list; "" when
// there is none.
func (t *Table) Origin(key, value string) string {
	for _, o := range t.origins {
		if (o.Key == key || strings.HasPrefix(o.Key, key+".")) && (value == "" || o.Value == strconv.Quote(value)) {
			return o.Place()
		}
	}
	return ""
}

// Pattern returns where the last pattern of hide that matches a path was written, and what it
// says there.
func (t *Table) Pattern(hostPath string) (from, text string) {
	hide := t.spec.Hide // the profile's own first, the organisation's last
	own, ruled := originsOf(t.origins, "sandbox.hide"), originsOf(t.spec.Organisation, "sandbox.hide")
	from = "config.toml"
	for i, p := range hide {
		parsed, err := gitignore.Parse(p)
		if err != nil || !matches(parsed, hostPath) {
			continue
		}
		from, text = "config.toml", p
		if j := i - len(hide) + len(ruled); j >= 0 {
			from = ruled[j].Place()
		}
		if i < len(own) {
			from = own[i].Place()
			text, _ = strconv.Unquote(own[i].Value)
		}
	}
	return from, text
}

// originsOf returns the origins of a key.
func originsOf(origins []profile.Origin, key string) []profile.Origin {
	return slices.DeleteFunc(slices.Clone(origins), func(o profile.Origin) bool { return o.Key != key })
}

// matches reports whether a pattern matches a path or a folder that it lies in.
func matches(p gitignore.Pattern, path string) bool {
	l := gitignore.List{p}
	s := l.Start()
	list := strings.FieldsFunc(filepath.Clean(path), func(r rune) bool { return r == '/' })
	for i, name := range list {
		for _, dir := range []bool{true, i < len(list)-1} {
			if _, _, ok := l.Step(s, name, dir); ok {
				return true
			}
		}
		s, _, _ = l.Step(s, name, true)
	}
	return false
}

// Mounts reports whether the rule covers what was at its place, and everything below it.
func (r *Rule) Mounts() bool { return r.Op.Kind != plan.OpSymlink && r.Op.Kind != plan.OpDir }

// AddTo puts the table of a run into its box, beside the marker, before /run is sealed. That one has no
// path of the host that the box does not have.
func (t *Table) AddTo(p plan.Plan) (plan.Plan, error) {
	i := slices.IndexFunc(p.Ops, func(o plan.Op) bool { return o.Kind == plan.OpSeal && o.Dest == "/run" })
	if i < 0 {
		return p, nil // a box without a /run of its own has no place for it
	}
	inBox := *t
	inBox.Rules = nil
	for i, r := range t.Rules {
		for _, kind := range []string{"mounts", "--mount"} {
			if i > 0 && (strings.HasPrefix(r.Key, kind+".") || strings.HasPrefix(r.Key, kind+" ")) {
				r.Key, r.How = kind, "a mount" // its path may be one that the box does not see
			}
		}
		if r.Mounts() {
			inBox.Rules = append(inBox.Rules, r)
		}
	}
	data, err := json.Marshal(inBox)
	op := plan.Op{Kind: plan.OpFile, Perms: 0o444, Data: len(p.Data), Dest: Place, Reason: "what inner why answers from in the box"}
	p.Data = append(slices.Clip(p.Data), data)
	p.Ops = slices.Insert(slices.Clone(p.Ops), i, op)
	return p, err
}
