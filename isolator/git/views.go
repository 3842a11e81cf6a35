package git

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// viewState is a work tree in one exchange.
type viewState struct {
	*view
	boxHead, hostHead string // as HEAD says it
	oldHost           string // the object that the host's HEAD led to before
	boxIndex          *index // nil when it was not read: there is none, it is as it was, or it cannot be read
	boxDigest         string // "" when there is none, or it cannot be read
	boxFile           string
	hostIndex         func() *index // nil when it cannot be read. It is not older than hostStat
	hostStat          unix.Stat_t
	hostChanged       bool // the host's index, since the last exchange
	merge             map[string][]byte
	objects           []string // objects that the box's index and its merge need, and the host does not have
	stays             string   // why nothing of this work tree crosses
	lost              bool     // the index of the box is not what the host's becomes
	gone              bool     // the box removed this worktree
	unfinished        string   // the operation that the box began there
}

// changed reports whether there is something to cross.
func (v *viewState) changed() bool {
	return v.boxHead != v.Head || v.indexChanged() || v.mergeChanged()
}

func (v *viewState) indexChanged() bool {
	return v.boxIndex != nil && v.boxDigest != v.Box
}

// wanted returns the digest of a file of a merge as the box has it, "" when it has none.
func (v *viewState) wanted(name string) string {
	if data, has := v.merge[name]; has {
		return digest(data)
	}
	return ""
}

func (v *viewState) mergeChanged() bool {
	for _, name := range mergeFiles() {
		if v.wanted(name) != v.Merge[name] {
			return true
		}
	}
	return false
}

// switched reports whether the host's HEAD was moved outside, and elsewhere than the box's.
func (v *viewState) switched() bool { return v.hostHead != v.Head && v.hostHead != v.boxHead }

// findViews reads HEAD, index and merge state of every work tree of the box, and the host's.
func (x *exchange) findViews() error {
	for _, v := range x.u.Views {
		s := x.newView(v)
		x.views = append(x.views, s)
		var err error
		if s.hostHead, err = x.host.head(v.file("HEAD"), x.u.Digits); err != nil {
			return err
		}
		s.oldHost = resolve(s.hostHead, x.hostRefs)
		x.findHostIndex(s)
		if s.boxHead, err = x.box.head(v.file("HEAD"), x.u.Digits); err != nil {
			s.stays, s.boxHead = "its HEAD is not there", v.Head
			if v.Rel != "" && !x.box.has(v.Rel) {
				s.stays, s.gone = "the box removed this worktree", true
			}
			continue
		}
		if s.boxHead == "" {
			s.stays, s.boxHead = "its HEAD says nothing that git understands", v.Head
		}
		var hosts string
		if s.unfinished, hosts = v.begun(x.box); s.unfinished+hosts != "" {
			s.stays = "a " + cmp.Or(s.unfinished, hosts) + " is not finished, so HEAD and index stay in the box"
		}
		if err := x.findBoxIndex(s); err != nil {
			s.stays = "its index: " + err.Error()
		}
		x.mergeOf(s)
	}
	return nil
}

// resolve returns the object that a HEAD leads to, "" for a branch without commits.
func resolve(head string, r refs) string {
	for range 5 {
		name, ok := symbolic(head)
		if !ok {
			return head
		}
		head = r[name]
	}
	return ""
}

// mergeOf reads the files of an unfinished merge, as far as they are what git writes.
func (x *exchange) mergeOf(s *viewState) {
	s.merge = map[string][]byte{}
	for _, name := range mergeFiles() {
		data, err := x.box.read(s.file(name), 1<<20)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		ok := err == nil
		if ok {
			data, ok = mergeText(name, data, x.u.Digits)
		}
		if !ok {
			x.say("%s: %s of the box is not what git writes, and does not cross", s.Top, name)
			if was := s.Merge[name]; was != "" {
				s.stays = name + " is not what git writes"
			}
			continue
		}
		s.merge[name] = data
	}
}

// mergeText returns what the host gets of a file of a merge, and whether git can have written it.
func mergeText(name string, data []byte, digits int) ([]byte, bool) {
	switch name {
	case "MERGE_MODE":
		return data, len(data) == 0 || string(data) == "no-ff" || string(data) == "no-ff\n"
	case "MERGE_MSG", "SQUASH_MSG":
		if !utf8.Valid(data) {
			return nil, false
		}
		return bytes.Map(func(r rune) rune {
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
				return -1
			}
			return r
		}, data), true
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	most := 1
	if name == "MERGE_HEAD" {
		most = 100
	}
	return data, len(lines) <= most && !slices.ContainsFunc(lines, func(l string) bool { return !hexName(l, digits) })
}

// wantObjects lists the objects that the box's indexes and merges name and the host does not have.
func (x *exchange) wantObjects(ctx context.Context) error {
	for _, v := range x.views {
		want := x.named(v)
		if len(want) == 0 {
			continue
		}
		in := strings.Join(want, "\n") + "\n"
		text, err := x.p.text(ctx, call{args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, in: strings.NewReader(in)})
		if err != nil {
			return err
		}
		for line := range strings.Lines(text) {
			if oid, missing := strings.CutSuffix(strings.TrimSpace(line), " missing"); missing {
				v.objects = append(v.objects, oid)
			}
		}
	}
	return nil
}

// named returns the objects that the index and the merge of a work tree of the box name, apart from those in the host's
// index. They are sorted.
func (x *exchange) named(v *viewState) []string {
	if v.stays != "" {
		return nil
	}
	var want []string
	if v.boxIndex != nil && v.indexChanged() {
		find := v.hostIndex().finder()
		for i := range v.boxIndex.entries {
			e := &v.boxIndex.entries[i]
			if old := find(e); e.mode != modeGitlink && (old == nil || old.oid != e.oid) {
				want = append(want, hex.EncodeToString([]byte(e.oid)))
			}
		}
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
		want = append(want, strings.Fields(string(v.merge[name]))...)
	}
	slices.Sort(want)
	return slices.Compact(want)
}

// carryView moves HEAD, the index and the state of a merge of one work tree, in that order.
// They belong together: where one cannot cross, those after it stay.
func (x *exchange) carryView(v *viewState) error {
	if v.stays != "" {
		return nil
	}
	if !v.changed() && resolve(v.hostHead, x.hostRefs) == v.oldHost {
		return nil
	}
	if ok, err := x.carryHead(v); !ok || err != nil {
		v.lost = !ok
		return err
	}
	now := resolve(v.hostHead, x.hostRefs)
	if now != resolve(v.boxHead, x.boxRefs.refs) {
		if v.lost = true; v.indexChanged() {
			x.say("%s: the branch outside is not where the box's is, so its index stays in the box", v.Top)
		}
		return nil
	}
	if now != v.oldHost {
		if err := x.logHead(v, v.oldHost, now); err != nil {
			x.say("%s: the log of HEAD could not be written: %v", v.Top, err)
		}
	}
	if ok, err := x.carryIndex(v); !ok || err != nil {
		return err
	}
	return x.carryMerge(v)
}

// carryHead moves the host's HEAD, and reports whether it now says what the box's does.
func (x *exchange) carryHead(v *viewState) (ok bool, err error) {
	switch {
	case v.boxHead == v.hostHead:
		v.Head = v.hostHead
		return true, nil
	case v.boxHead == v.Head:
		return false, nil // only the host moved
	case v.hostHead != v.Head:
		x.say("%s: HEAD was moved outside, too, and stays there; in the box it is %s", v.Top, plainText(v.boxHead, 200))
		return false, nil
	}
	if why := x.badBranch(v.boxHead); why != "" {
		x.say("%s: %s", v.Top, why)
		return false, nil
	}
	err = x.host.locked(v.file("HEAD"), x.meta.Run, []byte(v.boxHead+"\n"), fileMode, func() error {
		now, err := x.host.head(v.file("HEAD"), x.u.Digits)
		if err == nil && now != v.hostHead {
			err = errors.New("HEAD was moved outside just now")
		}
		return err
	})
	if err != nil {
		return false, err
	}
	v.hostHead, v.Head = v.boxHead, v.boxHead
	return true, nil
}

// badBranch says why the HEAD of a box names no branch that the host's may name, or "".
func (x *exchange) badBranch(head string) string {
	name, sym := symbolic(head)
	_, here := x.base.refs[name]
	switch {
	case !sym:
	case !hasPrefix(name, "refs/heads") || !here && refName(name) != "":
		return "HEAD of the box names no branch: " + plainText(name, 200)
	case x.u.Elsewhere[name] || x.hostRefs[name] != x.boxRefs.refs[name]:
		return "HEAD does not move to " + plainText(name, 200) + ", which did not cross"
	}
	return ""
}

// logHead writes what happened to HEAD into the host's reflog, with the last message of the box's.
func (x *exchange) logHead(v *viewState, old, now string) error {
	zero := strings.Repeat("0", x.u.Digits)
	text := ""
	if data, err := x.box.read(v.file("logs/HEAD"), maxLog); err == nil {
		lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
		if e, ok := logLine(string(lines[len(lines)-1]), x.u.Digits); ok {
			text = e.Message
		}
	}
	if err := x.host.mkdir(v.file("logs")); err != nil {
		return err
	}
	e := logEntry{
		Old: cmp.Or(old, zero), New: cmp.Or(now, zero), Who: x.meta.Name + " <" + x.meta.Email + ">",
		When: fmt.Sprintf("%d +0000", time.Now().Unix()), Message: x.message(text),
	}
	f, err := x.host.appendTo(v.file("logs/HEAD"))
	if err != nil {
		return err
	}
	_, err = f.WriteString(e.line())
	return errors.Join(err, f.Close())
}

// carryMerge brings the files of a merge, and removes what is left of an operation that the box finished.
func (x *exchange) carryMerge(v *viewState) error {
	for _, name := range mergeFiles() {
		if err := x.carryMergeFile(v, name); err != nil {
			return err
		}
	}
	for name := range v.Busy {
		if !x.box.has(v.file(name)) && x.host.isDir(v.file(name)) {
			if err := x.host.removeTree(v.file(name)); err != nil {
				return err
			}
			delete(v.Busy, name)
		}
	}
	return nil
}

// carryMergeFile writes or removes one file of a merge. It leaves one that the host has changed.
func (x *exchange) carryMergeFile(v *viewState, name string) error {
	was, want, now := v.Merge[name], v.wanted(name), ""
	if want == was {
		return nil
	}
	switch host, err := x.host.read(v.file(name), 1<<20); {
	case err == nil:
		now = digest(host)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if now != want && now != was {
		x.say("%s: %s was changed outside, too, and stays as it is there", v.Top, name)
		return nil
	}
	var err error
	switch data, has := v.merge[name]; {
	case now == want: // the host did the same, or a crossing was killed before it noted this
	case !has:
		err = x.host.remove(v.file(name))
	default:
		to := x.host // git writes some as refs, and some as plain files
		if strings.HasPrefix(name, "MERGE_") || name == "SQUASH_MSG" {
			to = x.host.unshared()
		}
		err = to.replace(v.file(name), tempName(v.file(name), x.meta.Run), data)
	}
	if err == nil {
		v.Merge[name] = want
	}
	return err
}
