package main

// network_mode = "ask": a host that no list names is asked about on the terminal.
// What is always allowed goes into the profile, which is then another one, and
// needs approval where profiles need it.

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

const (
	askTime      = time.Minute
	maxQuestions = 30 // of one run: a program must not wear people out
)

// ask asks about a target. It is called from goroutines of the proxy.
func (n *network) ask(ctx context.Context, t netproxy.Target) netproxy.Answer {
	n.mu.Lock()
	n.questions++
	tired := n.questions > maxQuestions
	n.mu.Unlock()
	if tired {
		return netproxy.No
	}
	q := launch.Question{
		Text:    fmt.Sprintf("inner: profile %q does not list %s. Allow it?", n.j.rc.Name, t),
		Choices: "[o]nce, for this [r]un, [a]lways, [n]o", Keys: "oran", Timeout: askTime,
	}
	if n.j.rc.Scope == profile.Remote { // there is no file to write to
		q.Choices, q.Keys = "[o]nce, for this [r]un, [n]o", "orn"
	}
	answer := netproxy.No
	switch key, _ := n.asker.Ask(ctx, q); key {
	case 'o':
		answer = netproxy.Once
	case 'r':
		answer = netproxy.Yes
	case 'a':
		answer = netproxy.Yes
		n.always(t)
	}
	if answer != netproxy.No {
		n.mu.Lock()
		n.granted = append(n.granted, t)
		n.mu.Unlock()
	}
	return answer
}

// always puts a target into network_allow of the profile's own file. What fails is
// told at the end: the answer holds for the run all the same.
func (n *network) always(t netproxy.Target) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, rc, entry := n.j.app, n.j.rc, entryOf(t)
	if err := n.addEntry(entry); err != nil {
		n.notes = append(n.notes, fmt.Sprintf("%q is allowed for this run only: %v", entry, err))
		return
	}
	n.notes = append(n.notes, fmt.Sprintf("%q is now in network_allow of %s", entry, a.Short(rc.Path)))
	n.changed = true
}

// addEntry changes the file, when it is still the one that was loaded and the
// result is a profile.
func (n *network) addEntry(entry string) error {
	rc := n.j.rc
	if n.text == nil {
		n.text = n.j.profile.Files[0].Data
	}
	text, err := strict.Append(string(n.text), []string{"sandbox", "network_allow"}, strconv.Quote(entry))
	if err != nil {
		return err
	}
	pl, err := n.j.app.Here()
	if err != nil {
		return err
	}
	data := []byte(text)
	if _, err := n.j.app.Loader(pl).LoadBytes(profile.File{Path: rc.Path, Data: data}, rc.Scope); err != nil {
		return err
	}
	if err := (draft{path: rc.Path, old: n.text}).save(data); err != nil {
		return err
	}
	n.text = data
	return nil
}
