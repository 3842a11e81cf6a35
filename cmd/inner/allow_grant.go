package main

// inner allow host:NAME, port:N, file:PATH, folder:PATH, mcp:NAME and credential:NAME add one grant each to a
// profile. What becomes wider by that is shown, asked about and recorded, as with any other change of it. The
// boxes of the profile that run get it, too, and with --for-this-run they alone.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/picture"
	"github.com/enr/inner/isolator/preview"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/isolator/visit"
	"github.com/enr/inner/isolator/why"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/builtin"
)

// grantFlags are the flags of inner allow that are about one grant.
type grantFlags struct {
	profile    string
	write, yes bool
	thisRun    bool
}

// wanted is a grant as it is typed.
type wanted struct{ word, kind, what string }

// wantedOf reads the words of inner allow that name grants: all of them do, or none.
func wantedOf(words []string) (list []wanted, err error) {
	for _, word := range words {
		kind, what, _ := strings.Cut(word, ":")
		known := func(asked string) bool { return strings.HasPrefix(asked, kind+":") }
		if strings.Contains(word, ":") && slices.ContainsFunc(profile.Asked(), known) {
			if what == "" {
				return nil, cli.Usagef("%q names nothing", word)
			}
			list = append(list, wanted{word, kind, what})
		}
	}
	if len(list) > 0 && len(list) < len(words) {
		return nil, cli.Usagef("grants, as %s, are added to one profile: -p NAME", list[0].word)
	}
	return list, nil
}

// addGrants adds grants to a profile that is allowed as it is.
func (a *app) addGrants(list []wanted, flags grantFlags) error {
	f, err := a.profileToWiden(flags.profile, list)
	if err != nil {
		return err
	}
	file, err := profile.ReadFile(f.path)
	if err != nil {
		return err
	}
	old, err := f.loader.LoadBytes(file, f.scope)
	if err != nil {
		return a.Unusable(err, flags.profile)
	}
	if approved, state := a.standing(f.place, old); !approved {
		return fault.Refuse(126, "inner allow", "profile %q has to be allowed first: %s", old.Name,
			strings.TrimSuffix(state, ": read this, then inner allow"))
	}
	d := draft{path: f.path, text: file.Data, old: file.Data, judge: f.judge}
	p := old
	more := run.More{Profile: f.path, ThisRun: flags.thisRun, From: file.Digest, Becomes: file.Digest}
	for _, w := range list {
		g := run.Grant{Word: w.word}
		if p, err = a.withGrant(f, p, &d, &g, w, flags.write); err != nil {
			return err
		}
		if len(g.Lines) > 0 {
			more.Grants = append(more.Grants, g)
		}
	}
	if p == old {
		return nil // it has all of them, which was said
	}
	if _, err := a.runningOf(p.Name, flags.thisRun); err != nil {
		return err
	}
	follows := f.scope == profile.Global && builtin.Follows(p.Name, file.Data)
	if follows && !flags.thisRun {
		a.Say("profile %s came with inner: with a line of yours "+
			"it stays as it is when inner is updated", p.Name)
	}
	if err := a.confirmWider(f, old, p, flags.yes); err != nil {
		return err
	}
	if flags.thisRun {
		running, err := a.runningOf(p.Name, true) // also what began while the question stood
		if err != nil {
			return err
		}
		return a.giveAll(running, more)
	}
	if err := d.save(d.text); err != nil {
		return err
	}
	if err := a.recordWider(f, d.text); err != nil {
		return err
	}
	more.Becomes = profile.FileOf(f.path, d.text).Digest
	running, _ := a.runningOf(p.Name, false)
	_ = a.giveAll(running, more) // the profile has it; what was said of a box is no failure
	return nil
}

// runningOf are the boxes that run of the profiles of that name; one is needed where nothing else gets the grants.
func (a *app) runningOf(name string, needed bool) ([]box, error) {
	list, err := a.boxes()
	list = slices.DeleteFunc(list, func(b box) bool { return b.Profile != name })
	switch {
	case !needed:
		return list, nil // a box that is not found has it from its next start on
	case err == nil && len(list) == 0:
		err = noneRuns(name)
	}
	return list, err
}

func noneRuns(name string) error {
	return fault.Refuse(1, "without --for-this-run the profile gets it",
		"no sandbox of profile %q runs", name)
}

// giveAll has boxes get what a profile got, and says what became of it. An error says that one of them does not
// have it.
func (a *app) giveAll(list []box, more run.More) error {
	request, err := json.Marshal(more)
	if err != nil {
		return err
	}
	given, failed := 0, false
	for _, b := range list {
		words, err := visit.Grant(stage.Door(a.StageBase(), b.Run), b.PID, request)
		switch {
		case err == nil:
			a.Say("run %s has it now: %s", b.Run, words)
			given++
		case err.Error() != run.NotOf: // else it is of another profile of that name
			a.Say("run %s does not have it: %s", b.Run, cli.Printable(err.Error()))
			failed = true
		}
	}
	switch {
	case failed:
		return cli.Exit(1)
	case given == 0 && more.ThisRun:
		return noneRuns(more.Profile)
	}
	return nil
}

// profileToWiden is the profile of that name; without one the only profile of the project, or the only one whose agents
// know the MCP servers that are wanted.
func (a *app) profileToWiden(name string, list []wanted) (found, error) {
	if name != "" {
		return a.find(name)
	}
	t, err := a.target("", false)
	if err != nil {
		return found{}, err
	}
	if fit := slices.DeleteFunc(slices.Clone(t.files),
		func(file string) bool { return !a.knows(t.place, file, list) }); len(fit) == 1 {
		t.files = fit
	}
	if len(t.files) != 1 {
		var names []string
		for _, file := range t.files {
			names = append(names, cli.NameOf(file))
		}
		return found{}, fault.Refuse(2, "inner allow -p NAME …", "%s has %s, and none is named: %s",
			a.Short(t.place.Root()), visible.Counted(len(names), "profile", "profiles"), strings.Join(names, ", "))
	}
	return found{place: t.place, loader: a.Loader(t.place), path: t.files[0], scope: profile.Local}, nil
}

// knows reports whether the user's settings of the agents of a profile name all that is wanted.
func (a *app) knows(place settings.Place, file string, list []wanted) bool {
	p, err := a.Loader(place).Load(file, profile.Local)
	if err != nil {
		return false // which is said when it is widened
	}
	rc, _, err := a.AtRoot(p, place)
	known := a.MCP(rc)
	return err == nil && !slices.ContainsFunc(list, func(w wanted) bool {
		return !slices.ContainsFunc(known, func(s profile.MCPServer) bool { return "mcp:"+s.Name == w.word })
	})
}

// withGrant is the profile with one grant more, and d its text: with what inner why proposes, until it says that the
// box has it, which is noted in g. It is p itself where that has the grant.
func (a *app) withGrant(f found, p *profile.Profile, d *draft, g *run.Grant, w wanted, write bool) (*profile.Profile, error) {
	text, now := string(d.text), p
	hint := askAgain(w, write) + " -p " + p.Name
	none := func(format string, args ...any) (*profile.Profile, error) {
		return nil, fault.Refuse(1, hint,
			"no line of profile %q grants %s: "+format, append([]any{p.Name, w.word}, args...)...)
	}
	for tries := 0; ; tries++ {
		t, err := a.tableOf(f.place, now)
		switch {
		case err != nil && now == p:
			return nil, a.Unusable(err, p.Name)
		case err != nil:
			return none("%v", err)
		}
		t.Write = write
		has, err := a.hasGrant(t, w)
		switch {
		case err != nil:
			return nil, err
		case has.Link && (w.kind == "file" || w.kind == "folder"):
			a.Say("%s leads to %s, which is granted, and where the box has it",
				cli.Printable(w.what), cli.Printable(a.Short(has.Real)))
			w.what = has.Real
			continue
		case has.Granted(write) && !has.Own && now == p:
			a.Say("profile %s has %s already: %s", p.Name, w.word, has.How)
			return p, nil
		case has.Granted(write) && !has.Own, (w.kind == "host" || w.kind == "mcp" || w.kind == "credential") && now != p: // whose addresses may change; whose program is another grant; whose value may be missing
			d.text = []byte(text)
			return now, nil
		case has.Refused:
			return nil, fault.Refuse(1, "inner profile edit "+p.Name, "profile %q refuses %s: %s", p.Name, w.word, has.From)
		case w.kind == "credential" && len(has.Lines) == 0 && has.Widen != "":
			return nil, fault.Refuse(1, "inner profile edit "+p.Name, "%s: %s: write %s", w.word, has.How, has.Widen)
		case len(has.Lines) == 0 || tries == 3:
			hint = cmp.Or(has.Type, hint)
			return none("%s (%s)", has.How, has.From)
		}
		for _, l := range has.Lines {
			if text, err = l.Add(text); err != nil {
				return nil, err
			}
			g.Lines, g.Folder = append(g.Lines, l), has.Real
			if (w.kind == "folder" || w.kind == "file") && l.Key == "allow" {
				a.Say("no line is about %s alone: this one shows all %s, which can be changed where the box can write",
					w.word, l.Value)
			}
		}
		if w.kind == "folder" || w.kind == "file" { // not as it is typed here: the record is read elsewhere
			g.Word = w.kind + ":" + a.Short(has.Real)
		}
		if now, err = f.loader.LoadBytes(profile.File{Path: f.path, Data: []byte(text)}, f.scope); err != nil {
			return none("%v", err)
		}
	}
}

// askAgain is the command that says more of what was wanted.
func askAgain(w wanted, write bool) string {
	ask := w.word
	if kind, what, _ := strings.Cut(w.word, ":"); kind == "file" || kind == "folder" {
		ask = what
	}
	if write {
		return "inner why --write " + cli.Quoted(ask)
	}
	return "inner why " + cli.Quoted(ask)
}

// hasGrant answers whether a box has what is wanted.
func (a *app) hasGrant(t *why.Table, w wanted) (why.Answer, error) {
	if w.kind != "file" && w.kind != "folder" {
		return a.why(t, w.word)
	}
	path := w.what
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "~") {
		path = "./" + path
	}
	answer, err := a.whyPath(t, path)
	if err == nil && answer.Access == why.Absent && !files.Exists(answer.Real) {
		err = cli.Usagef("%q does not exist", w.what)
	}
	return answer, err
}

// confirmWider shows what a profile becomes, and asks.
func (a *app) confirmWider(f found, old, new *profile.Profile, yes bool) error {
	wider, narrower, err := a.changeOf(f, old, new)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "profile %s (%s):\n", cli.Printable(new.Name), cli.Printable(a.Short(f.path)))
	a.printChange("  ", wider, narrower)
	if err := a.printSeen(f, old, new); err != nil {
		return err
	}
	return a.confirm(question{text: "Allow this?", yes: yes, hint: "read it above, then the same with --yes", no: "nothing was changed"})
}

// printSeen names what of the project the box of a profile saw not and will see: a word of allow is about
// all files of a kind, and one was asked for.
func (a *app) printSeen(f found, old, new *profile.Profile) error {
	c, err := a.Context(f.place, profile.Overrides{}, false)
	if err != nil {
		return err
	}
	var hidden [2][]string
	for i, p := range []*profile.Profile{old, new} {
		b, _, err := preview.Look(a.Settings, p, c)
		if err != nil {
			return a.Unusable(err, p.Name)
		}
		hidden[i] = picture.Unseen(b)
	}
	seen := slices.DeleteFunc(hidden[0], func(p string) bool { return slices.Contains(hidden[1], p) })
	if len(seen) > 0 {
		fmt.Fprintf(a.Err, "  wider: sees of this project: %s\n", cli.Printable(strings.Join(visible.Some(seen, 12), ", ")))
	}
	return nil
}

// recordWider notes that a local profile is allowed as it was just written, and as it was shown.
func (a *app) recordWider(f found, shown []byte) error {
	if f.scope != profile.Local {
		a.Say("%s: written", a.Short(f.path))
		return a.Regenerate()
	}
	t, err := a.target(f.path, false)
	if err != nil {
		return err
	}
	p, _, err := a.propose(t)
	if err != nil {
		return err
	}
	if p.newConfig || !bytes.Equal(p.list[0].Profile.Files[0].Data, shown) {
		return fault.Refuse(126, "inner allow", "%s was changed meanwhile", a.Short(f.path))
	}
	if err := a.carryOut(p, false); err != nil {
		return err
	}
	a.Say("allowed %s, for each of its next starts", p.list[0].Profile.Name)
	return nil
}
