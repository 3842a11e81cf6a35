package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// More is what inner allow says to the launcher of a box that runs: what a profile has more. The launcher adds
// the lines to the profile that its box has, which may be an older one, and judges the result as at a start:
// whoever says so outside of the box decides that it is wanted, and not what it means.
type More struct {
	Profile string // its file
	ThisRun bool   // the profile itself does not get it
	From    string // the digests of the file that it was added to, and of what that became: the same for ThisRun
	Becomes string
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
	call  Call
	mu    sync.Mutex   // held while it gets something
	text  []byte       // of the profile's file, with that; nil before the first
	file  profile.File // as far as all that it says is known
	got   []Grant
	words []string // of these
	known []string // of each, what the person is to know
	over  bool     // the box has ended
}

// Grant is what the launcher of the box calls when somebody outside gives it more.
func (b *Prepared) Grant(request []byte, to launch.Running) (string, error) {
	var more More
	if err := json.Unmarshal(request, &more); err != nil {
		return "", err
	}
	return b.get(more, to)
}

// give gives the box a folder that the person allowed when asked, by its real path.
func (b *Prepared) give(to launch.Running, folder string) error {
	g := Grant{"folder:" + folder, []profile.Line{{Table: "mounts", Key: folder, Value: "ro"}}, folder}
	now := b.Profile.Files[0]
	if b.Spec.Scope != profile.Remote {
		var err error
		if now, err = profile.ReadFile(b.Spec.Path); err != nil {
			return err
		}
	}
	_, err := b.get(More{b.Spec.Path, true, now.Digest, now.Digest, []Grant{g}}, to)
	return err
}

// has reports whether the box has a folder of the host.
func (b *Prepared) has(folder string) bool {
	b.live.mu.Lock()
	defer b.live.mu.Unlock()
	return b.Plan.Shows(folder)
}

// get gives the box more, and notes that for the record, the audit log and inner ps.
func (b *Prepared) get(more More, to launch.Running) (words string, err error) {
	l := &b.live
	if more.Profile != b.Spec.Path || l.call.Observe != nil {
		return "", errors.New(NotOf)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return "", errors.New("the box has ended")
	}
	if l.text == nil {
		l.text, l.file = b.Profile.Files[0].Data, b.Profile.Files[0]
	}
	// What was taken out of the profile since would not hold for what the box gets. What was added is no matter: for an
	// answer that is to last, inner itself adds it, when the box of that answer ends.
	now := l.file
	if more.Becomes != now.Digest {
		now, err = profile.ReadFile(b.Spec.Path)
	}
	if err != nil || (more.From != l.file.Digest || more.Becomes != now.Digest) && b.narrowed(l.file, now) {
		return "", features.NewRun("its profile was changed since it began")
	}
	l.file = now
	for _, g := range more.Grants {
		words = strings.TrimPrefix(words+", "+g.Word, ", ")
		same := func(o Grant) bool { return o.Word == g.Word && o.Folder == g.Folder && slices.Equal(o.Lines, g.Lines) }
		if i := slices.IndexFunc(l.got, same); i >= 0 {
			words += l.known[i]
			continue
		}
		known, err := b.grant(g, to)
		if errors.Is(err, launch.ErrReplaced) { // once more: somebody saves a file there
			known, err = b.grant(g, to)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", g.Word, err)
		}
		words += known
		l.got, l.words, l.known = append(l.got, g), append(l.words, g.Word), append(l.known, known)
		e := runlog.Event{Type: runlog.EventGranted, Run: b.ID(), Profile: b.Spec.Name, Path: b.Spec.Path, Allow: []string{g.Word}, By: l.call.By}
		if more.ThisRun {
			e.Reason = "for this run"
		}
		b.Audit(e)
		if err := b.Folder.Granted(l.words); err != nil {
			b.Warn("inner ps does not show what this run got: %v", err)
		}
	}
	return words, nil
}

// as is the call of the box with another text of its profile's file, by settings as they are now, and this goroutine's own.
func (b *Prepared) as(text []byte) (s *settings.Settings, c Call, err error) {
	s, c = settings.Of(b.Caller), b.live.call
	place, err := s.At(c.Context.Cwd)
	if err != nil {
		return nil, c, err
	}
	// What is hidden is what it is now.
	if c.Context, err = s.Context(place, c.Context.Overrides, c.Context.ForShim); err == nil {
		c.Profile, err = s.Loader(place).LoadBytes(profile.File{Path: b.Spec.Path, Data: text}, b.Spec.Scope)
	}
	return s, c, err
}

// narrowed reports whether a box of the profile may do less by its file now, or nobody can say so.
func (b *Prepared) narrowed(was, now profile.File) bool {
	var specs []profile.RunConfig
	for _, f := range []profile.File{was, now} {
		_, c, err := b.as(f.Data)
		if err != nil {
			return true
		}
		spec, err := settings.Resolve(c.Profile, c.Context)
		if err != nil {
			return true
		}
		specs = append(specs, spec)
	}
	return len(profile.Narrower(specs[0], specs[1])) > 0
}

// grant gives the box one thing: what a box of its profile has more with the lines, both as they would be now.
func (b *Prepared) grant(g Grant, to launch.Running) (words string, err error) {
	text, mounts, login := string(b.live.text), false, false
	for _, l := range g.Lines {
		switch {
		case l.Table == "mounts" && l.Value == "ro", l.Key == "home_allow" && l.Listed:
			mounts = true
		case l.Table == "credentials":
			login = true
		case l.Key == "network_allow" && l.Listed, l.Key == "host_ports" && l.Listed:
		default:
			return "", features.NewRun("a sandbox that runs cannot get " + l.String())
		}
		if text, err = l.Add(text); err != nil {
			return "", err
		}
	}
	var looks []*Prepared
	for _, data := range [][]byte{b.live.text, []byte(text)} {
		s, c, err := b.as(data)
		if err != nil {
			return "", err
		}
		look, err := Show(s, c, false)
		if err != nil {
			return "", err
		}
		defer look.Close()
		looks = append(looks, look)
	}
	more, only := plan.Added(looks[0].Plan, looks[1].Plan, looks[1].Facts)
	switch {
	case mounts:
		err = b.mount(looks[0], looks[1], g.Folder, to)
	case login && (!only || more.Dest != "" || !slices.Equal(looks[0].Plan.Env, looks[1].Plan.Env)):
		return "", features.NewRun("the sandbox shows where its value is")
	default:
		for _, f := range b.features {
			if f.May != nil && err == nil {
				err = f.May(looks[0].Run, looks[1].Run)
			}
		}
		for _, f := range b.features {
			if f.Grant != nil && err == nil {
				var known string
				known, err = f.Grant(looks[0].Run, looks[1].Run, to)
				words += known
			}
		}
	}
	if err == nil {
		b.live.text = []byte(text)
	}
	return words, err
}

// mount gives the box the folder that its plan has more.
func (b *Prepared) mount(before, next *Prepared, folder string, to launch.Running) error {
	if b.Plan.Container != nil || !plan.Follows(b.Spec, b.Facts) {
		return features.NewRun("nothing can be mounted in this sandbox from outside")
	}
	f, ok := plan.Added(before.Plan, next.Plan, next.Facts)
	switch {
	case ok && f.Dest == "":
		return nil // it has it
	case !ok:
		return features.NewRun("it takes more than to mount one folder to be read")
	case f.Source != folder:
		return fmt.Errorf("it leads to %q, and not to %q", f.Source, folder)
	}
	if err := to.Mount(f, func() error { return b.unmovedSince(next.Facts) }); err != nil {
		return err
	}
	b.Plan.Late = append(b.Plan.Late, f)
	return nil
}
