package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// More is what inner allow says to the launcher of a box that runs: what a profile has more. The launcher adds the lines
// to the profile that its box has, which may be an older one, and judges the result as at a start: whoever says so outside
// of the box decides that it is wanted, and not what it means.
type More struct {
	Profile string // its file
	ThisRun bool   // the profile itself does not get it
	Grants  []Grant
}

// Grant is one thing, as it was typed, and the lines that grant it.
type Grant struct {
	Word   string
	Lines  []profile.Line
	Folder string // what a folder really was when the person was asked
}

// NotOf is what the launcher says of another profile.
const NotOf = "it is not a run of that profile"

// live is what a box got since it runs.
type live struct {
	mu    sync.Mutex // held while it gets something
	text  []byte     // of the profile's file, with that; nil before the first
	words []string
}

// Grants is what the launcher of the box calls when somebody outside gives it more.
func (b *Prepared) Grants(c Call) func([]byte, launch.Running) (string, error) {
	return func(request []byte, to launch.Running) (string, error) {
		var more More
		if err := json.Unmarshal(request, &more); err != nil {
			return "", err
		}
		if more.Profile != b.Spec.Path || c.Observe != nil {
			return "", errors.New(NotOf)
		}
		b.live.mu.Lock()
		defer b.live.mu.Unlock()
		var words []string
		for _, g := range more.Grants {
			if words = append(words, g.Word); slices.Contains(b.live.words, g.Word) {
				continue
			}
			if err := b.grant(c, g, to); err != nil {
				return "", fmt.Errorf("%s: %w", g.Word, err)
			}
			b.granted(c, g.Word, more.ThisRun)
		}
		return strings.Join(words, ", "), nil
	}
}

// give gives the box a folder that the person allowed when asked, by its real path.
func (b *Prepared) give(c Call) func(launch.Running, string) error {
	return func(to launch.Running, folder string) error {
		line := profile.Line{Table: "mounts", Key: folder, Value: "ro"}
		request, err := json.Marshal(More{Profile: b.Spec.Path, ThisRun: true, Grants: []Grant{{"folder:" + folder, []profile.Line{line}, folder}}})
		if err == nil {
			_, err = b.Grants(c)(request, to)
		}
		return err
	}
}

// granted notes what the box got, for the record, the audit log and inner ps.
func (b *Prepared) granted(c Call, word string, thisRun bool) {
	b.live.words = append(b.live.words, word)
	e := runlog.Event{Type: runlog.EventGranted, Run: b.ID(), Profile: b.Spec.Name, Path: b.Spec.Path, Allow: []string{word}, By: c.By}
	if thisRun {
		e.Reason = "for this run"
	}
	b.Audit(e)
	if err := b.Folder.Granted(b.live.words); err != nil {
		b.Warn("inner ps does not show what this run got: %v", err)
	}
}

// grant gives the box one thing.
func (b *Prepared) grant(c Call, g Grant, to launch.Running) (err error) {
	if b.live.text == nil {
		b.live.text = b.Profile.Files[0].Data
	}
	text, mounts := string(b.live.text), false
	for _, l := range g.Lines {
		switch {
		case l.Table == "mounts" && l.Value == "ro", l.Key == "home_allow" && l.Listed:
			mounts = true
		case l.Key == "network_allow" && l.Listed, l.Key == "host_ports" && l.Listed:
		default:
			return features.NewRun("a sandbox that runs cannot get " + l.String())
		}
		if text, err = l.Add(text); err != nil {
			return err
		}
	}
	s := settings.Of(b.Caller) // as set now, and this goroutine's own
	place, err := s.At(c.Context.Cwd)
	if err != nil {
		return err
	}
	next, err := s.Loader(place).LoadBytes(profile.File{Path: b.Spec.Path, Data: []byte(text)}, b.Spec.Scope)
	if err != nil {
		return err
	}
	before, err := s.Loader(place).LoadBytes(profile.File{Path: b.Spec.Path, Data: b.live.text}, b.Spec.Scope)
	if err != nil {
		return err
	}
	if mounts {
		err = b.mount(s, c, before, next, g.Folder, to)
	} else {
		err = b.reach(c, next, to)
	}
	if err == nil {
		b.live.text = []byte(text)
	}
	return err
}

// reach gives the box what it may reach more.
func (b *Prepared) reach(c Call, p *profile.Profile, to launch.Running) (err error) {
	next := *b.Run
	next.Profile = p
	if next.Spec, err = settings.Resolve(p, c.Context); err != nil {
		return err
	}
	for _, f := range b.features {
		if f.Grant != nil {
			if err := f.Grant(b.Run, &next, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// mount gives the box a folder: what the plan of its profile has more with it, both as they would be now.
func (b *Prepared) mount(s *settings.Settings, c Call, before, next *profile.Profile, folder string, to launch.Running) error {
	if b.Plan.Container != nil || !plan.Follows(b.Spec, b.Facts) {
		return features.NewRun("nothing can be mounted in this sandbox from outside")
	}
	var plans [2]*Prepared
	for i, p := range []*profile.Profile{before, next} {
		c.Profile = p
		look, err := Show(s, c, false)
		if err != nil {
			return err
		}
		defer look.Close()
		plans[i] = look
	}
	f, ok := plan.Added(plans[0].Plan, plans[1].Plan)
	at := plans[1].Facts.Look(f.Source)
	if ok && f.Source != folder {
		return fmt.Errorf("it leads to %q, and not to %q", f.Source, folder)
	}
	if !ok || at.Kind != host.Dir || at.ID == (host.ID{}) {
		return features.NewRun("it takes more than to mount one folder to be read")
	}
	f.ID = at.ID
	return to.Mount(f, b.Assets.Empty)
}
