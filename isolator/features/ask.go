package features

// network_mode = "ask": a host that no list names is asked about on the terminal.
// What is always allowed goes into the profile, which is then another one, and
// needs approval where profiles need it.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

const (
	askTime      = time.Minute
	maxQuestions = 30 // of one run: a program must not wear people out
)

// ask asks about a target. It is called from goroutines of the proxy.
func (n *networkOf) ask(ctx context.Context, t netproxy.Target) netproxy.Answer {
	if n.tired() {
		return netproxy.No
	}
	what := t.String()
	if _, err := netip.ParseAddr(t.Host); err == nil { // of a name that was allowed a moment ago
		what = "where that is, " + what + ", an address of a private network"
	}
	q := launch.Question{
		Text:    fmt.Sprintf("inner: profile %q does not list %s. Allow it?", n.run.Spec.Name, what),
		Choices: "[o]nce, for this [r]un, [a]lways, [n]o", Keys: "oran", Timeout: askTime,
	}
	if n.run.Spec.Scope == profile.Remote { // there is no file to write to
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
		n.mu.Lock()
		n.lasting = append(n.lasting, EntryOf(t))
		n.mu.Unlock()
	}
	if answer != netproxy.No {
		n.mu.Lock()
		n.granted = append(n.granted, runlog.Event{Type: runlog.EventHostAllowed, Run: n.run.ID(), Profile: n.run.Spec.Name, Host: t.String(), Count: 1, At: time.Now()})
		n.mu.Unlock()
	}
	return answer
}

// tired counts a question, and reports whether there were too many.
func (n *networkOf) tired() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.questions++
	return n.questions > maxQuestions
}

// longestAsked is how long the path of a question may be: its end and the choices are to be seen.
const longestAsked = 300

// askFolder asks about a folder that a program wants to read. Whatever the host has there, the person is asked first,
// and the program is told no more than that the folder is not given: it cannot find out what there is. What it has
// is not asked about.
func (n *networkOf) askFolder(ctx context.Context, path string) (words string, err error) {
	path = filepath.Clean(path)
	real, which := files.Real(path), ""
	if n.run.Has != nil && n.run.Has(real) && files.Exists(real) {
		return path + " is already there", nil
	}
	if n.asker == nil || n.run.Give == nil {
		return "", fmt.Errorf("nobody can be asked without a terminal; %s --for-this-run",
			profile.Outside(n.run.Profile.Wider("folder:"+path)))
	}
	if n.tired() || len(path) > longestAsked || !filepath.IsAbs(path) {
		return "", errors.New("it is not asked for: there were too many questions, or the path is too long")
	}
	if real != path {
		which = fmt.Sprintf(" (which is %q)", real)
	}
	key, _ := n.asker.Ask(ctx, launch.Question{
		Text:    fmt.Sprintf("inner: profile %q does not show the folder %q%s. Let the sandbox read it?", n.run.Spec.Name, path, which),
		Choices: "for this [r]un, [n]o", Keys: "rn", Timeout: askTime,
	})
	if key != 'r' {
		return "", errors.New("it was not allowed when asked")
	}
	if err := n.run.Give(n.box, real); err != nil {
		n.mu.Lock()
		n.ungiven = append(n.ungiven, err)
		n.mu.Unlock()
		return "", errors.New("it was allowed, and this sandbox cannot have it while it runs")
	}
	return real + " can be read", nil // where the box has it, by whatever link it was asked for
}

// keep puts what is always allowed into network_allow of the profile's own file, at the end: while the box runs, what
// comes to that place may be the box's. The answer holds for the run, whatever fails.
func (n *networkOf) keep() {
	for _, entry := range n.lasting {
		if err := n.addEntry(entry); err != nil {
			n.run.Say("%q is allowed for this run only: %v", entry, err)
			continue
		}
		n.run.Say("%q is now in network_allow of %s", entry, n.run.Short(n.run.Spec.Path))
	}
}

// addEntry changes the file, when it is still the one that was loaded and the
// result is a profile.
func (n *networkOf) addEntry(entry string) error {
	rc := n.run.Spec
	was := n.text
	if was == nil {
		was = n.run.Profile.Files[0].Data
	}
	text, err := strict.Append(string(was), []string{"sandbox", "network_allow"}, strconv.Quote(entry))
	if err != nil {
		return err
	}
	pl, err := n.run.Here()
	if err != nil {
		return err
	}
	data := []byte(text)
	if _, err := n.run.Loader(pl).LoadBytes(profile.File{Path: rc.Path, Data: data}, rc.Scope); err != nil {
		return err
	}
	if err := files.Swap(rc.Path, was, data); err != nil {
		return err
	}
	n.text = data
	return nil
}
