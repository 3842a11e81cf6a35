package plan

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// held is a path of the host that the box may see and not change: the host later reads or runs it.
type held struct{ path, reason, key string }

// held lists them, in the order in which they are made read-only.
func (b *builder) held() []held {
	return once(&b.kept, func() (out []held) {
		add := func(reason, key string, list []string) {
			for _, p := range list {
				out = append(out, held{p, reason, key})
			}
		}
		add("git outside obeys it", "sandbox.git_dir", b.s.GitStays)
		add("profiles cannot be changed from inside", "", b.innerFolders())
		add("the profile cannot be changed from inside", "", b.rc.Files)
		add("editors and agents on the host run what it says", configKey, b.later())
		add("settings of git name it", "sandbox.git_dir", b.named())
		add("it runs on the host later", "", b.startup())
		return out
	})
}

// Unwritten says why a box of this run cannot write a path, whatever its profile says; "" where it can.
func Unwritten(rc profile.RunConfig, f host.Facts, path string) string {
	for _, h := range newBuilder(rc, f, Staged{}).held() {
		if h.key == "" && paths.Below(h.path, path) {
			return h.reason
		}
	}
	return ""
}

// protect makes all that unwritable wherever the box could write it.
func (b *builder) protect() error {
	// The next run reads them again, and nobody is asked about a file that was named
	// on the command line, or that a profile of one's own extends.
	for _, p := range b.rc.Files {
		if err := b.notPlanted(profile.Mount{Source: p}, b.canon(p), "its file "+quote(p)); err != nil {
			return err
		}
	}
	if err := cmp.Or(b.locked(), b.obeyedLinks()); err != nil {
		return err
	}
	for _, h := range b.held() {
		b.because(h.key)
		b.protectOne(h)
	}
	b.because("")
	for _, h := range b.held()[len(b.s.GitStays):] {
		if b.kind(h.path) != host.Missing {
			b.plan.Kept = append(b.plan.Kept, b.canon(h.path)) // a link that leads there can be replaced
		}
	}
	return b.pinLinks()
}

func (b *builder) protectOne(h held) {
	switch {
	case b.madeEmpty(h.path):
		for _, at := range b.writable(b.canon(h.path)) {
			b.tmpfs(h.reason, 0o555, at)
		}
	case b.hasOwnFiles(h.path):
		b.withOwnFiles(h.reason, h.path)
	case b.kind(h.path) != host.Missing || b.made(h.path):
		for _, at := range b.readOnly(h.reason, b.canon(h.path)) {
			b.openTrees(h.path, at)
		}
	}
}

// readOnly makes a host path read-only wherever the box could write it, and returns these places.
func (b *builder) readOnly(reason, p string) (places []string) {
	places = b.writable(p)
	for _, at := range places {
		b.bind(reason, p, at, false)
		b.plan.Ops[len(b.plan.Ops)-1].held = true
	}
	return places
}

// writable returns the places where the box could write a host path.
func (b *builder) writable(p string) []string {
	if b.inHidden(p) {
		return nil
	}
	return slices.DeleteFunc(b.where(p), func(at string) bool {
		l, _ := b.at(at)
		return !l.Writable()
	})
}

// startup returns the start-up files and folders that exist, and the links in these folders behind
// which the box could write.
func (b *builder) startup() []string {
	return once(&b.begins, func() (out []string) {
		places, files := b.site().Startup()
		for _, p := range slices.Concat(places, b.f.Startup) {
			if b.kind(p).FileOrDir() && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
		for _, p := range files {
			if b.kind(p) == host.File {
				out = append(out, p)
			}
		}
		return out
	})
}

// innerFolders are the .inner folders the box might write.
func (b *builder) innerFolders() (out []string) {
	roots := []string{b.rc.Project, b.rc.Workdir}
	for _, m := range b.rc.Mounts {
		roots = append(roots, m.Source)
	}
	for _, root := range roots {
		if p := filepath.Join(root, ".inner"); root != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// reexposeAllowed binds back what the profile allows and an empty parent
// covers. It comes before hide, so it cannot re-expose anything else.
func (b *builder) reexposeAllowed() error {
	for _, h := range b.places(true) {
		b.because(h.key)
		if l, _ := b.at(h.real); !h.part && l.Dest != h.real && len(b.where(h.real)) == 0 { // see allowParts
			b.show("allowed: "+h.what+" ("+h.key+")", h.path)
		}
	}
	return nil
}

// hid is something of the host that the box does not see: a place of the table that the profile does
// not allow, or what a pattern of [sandbox] hide matched.
type hid struct {
	path, real string
	kind       host.Kind
	key, what  string // of the table; hideKey and "" for a pattern
	part       bool   // of the table
}

// places are those of the table that the profile allows, or does not.
func (b *builder) places(allowed bool) []hid {
	kept := &b.granted
	if !allowed {
		kept = &b.secret
	}
	return once(kept, func() (out []hid) {
		for _, r := range b.table() {
			for _, p := range r.At {
				if b.allowed[r.Key] == allowed && r.Method != "place" {
					out = append(out, hid{p, b.canon(p), b.kind(p), r.Key, r.What, r.Part})
				}
			}
		}
		return out
	})
}

// hideKey is the key of what a profile hides itself, byHide the reason of its masks, and Closed the
// beginning of that of host.Facts.Closed, before the path.
const (
	hideKey = "sandbox.hide"
	byHide  = "hidden: " + hideKey
	Closed  = "hidden: who looks for secrets cannot look into "
)

// is reports whether it is that one file, hidden by that key.
func (h hid) is(real, key string) bool {
	return h.key == key && h.real == real && h.kind == host.File
}

// closed reports whether it is one of host.Facts.Closed.
func (h hid) closed() bool { return h.key == hideKey && h.what != "" }

func (h hid) reason() string {
	if h.key == hideKey {
		return cmp.Or(h.what, byHide)
	}
	return "hidden: " + h.what + " (" + h.key + ")"
}

// hidden are all of them, those of the table first.
func (b *builder) hidden() []hid {
	return once(&b.hids, func() (out []hid) {
		out = slices.DeleteFunc(slices.Clone(b.places(false)), func(h hid) bool { return h.part }) // see allowParts
		if b.f.Hide != nil {
			for _, p := range b.f.Hide.Paths {
				out = append(out, hid{path: p, real: b.canon(p), kind: b.kind(p), key: hideKey})
			}
		}
		for _, p := range slices.Sorted(maps.Keys(b.f.Closed)) {
			out = append(out, hid{path: p, real: b.canon(p), kind: b.kind(p), key: hideKey, what: Closed + p})
		}
		return out
	})
}

// hide covers every place where something of that can still be seen.
func (b *builder) hide() error {
	for _, h := range b.hidden() {
		b.because(h.key)
		if h.closed() {
			b.because("")
		}
		if err := b.cover(h); err != nil {
			return err
		}
	}
	b.allowParts()
	b.because("")
	b.coverGit()
	b.coverShellFiles()
	for _, s := range b.f.Sockets {
		if !b.grantedSocket(s) && b.kind(s) != host.Missing {
			b.maskAt(s, host.Socket, "hidden: something on the host listens here")
		}
	}
	b.hideInner()
	return nil
}

// cover hides one of them, with what was mounted in it. A mount that shows a part of it elsewhere the check refuses.
func (b *builder) cover(h hid) error {
	switch {
	case h.kind == host.Denied && (h.key == hideKey || b.f.UID == 0):
		return fault.Refuse(125, "",
			"profile %q: %s cannot be looked at, so it cannot be hidden", b.rc.Name, h.path)
	case !h.kind.Seen():
		return nil
	case h.key != hideKey && b.holdsHome(h.path):
		return b.refuseHome(h)
	}
	b.maskAt(h.real, h.kind, h.reason())
	return nil
}

// hideInner covers inner's own state, and leaves an empty shim folder.
func (b *builder) hideInner() {
	for _, own := range append(b.f.InnerHomes(), b.f.StageBase, b.rc.Output.Folder) {
		if own != "" && b.kind(own) == host.Dir {
			b.maskAt(b.canon(own), host.Dir, "hidden: inner's own state")
		}
	}
	b.coverShims()
}

// holdsHome reports whether a folder is a home of the user or holds one.
func (b *builder) holdsHome(p string) bool {
	real := b.canon(p)
	return slices.ContainsFunc(b.homes(), func(home string) bool { return paths.Below(real, home) })
}

// refuseHome refuses a resource that a variable moves to a folder that holds a home.
func (b *builder) refuseHome(h hid) error {
	return fault.Refuse(125, fmt.Sprintf("name a folder of its own there, unset it, or allow = [%q] under [sandbox]", h.key),
		"profile %q: a variable says that %s lies in %s, which cannot be hidden: it holds your home", b.rc.Name, h.what, h.path)
}

// allowParts shows, in a folder that was just covered, the one file of it that
// the profile allows. Nothing else of the folder comes back.
func (b *builder) allowParts() {
	for _, p := range b.places(true) {
		byProfile := func(h hid) bool { return h.key == hideKey && paths.Below(h.real, p.real) }
		if l, _ := b.at(p.real); p.part && p.kind == host.File && l.Dest != p.real && !l.bound() &&
			!slices.ContainsFunc(b.hidden(), byProfile) {
			b.because(p.key)
			b.bind("allowed: "+p.what+" ("+p.key+")", p.real, p.real, false)
		}
	}
}

// table is the table of sensitive resources, for this host and this run: of two
// thousand places, the few that are there.
func (b *builder) table() []sensitive.Place {
	return once(&b.entries, func() (out []sensitive.Place) {
		key := b.site().Run
		key.Names = nil
		for _, e := range host.Kept(b.f, key, func() []sensitive.Place { return b.site().Places(b.f.Match) }) {
			e.At = slices.DeleteFunc(slices.Clone(e.At), func(p string) bool { return b.kind(p) == host.Missing })
			out = append(out, e)
		}
		return out
	})
}

// hideKnown refuses a run when it is unknown what the patterns of [sandbox] hide match.
func (b *builder) hideKnown() error {
	switch h := b.f.Hide; {
	case len(b.rc.Hide) == 0:
	case h == nil:
		return fault.Refuse(125, "", "profile %q: inner has not looked for what sandbox.hide names", b.rc.Name)
	case h.Why != "":
		return fault.Refuse(125, h.Hint, "profile %q: what sandbox.hide names cannot all be hidden: %s", b.rc.Name, h.Why)
	}
	return nil
}

func (b *builder) partShown(part string, h hid) error {
	return fault.Refuse(125, "remove that mount, or allow the resource under [sandbox]",
		"profile %q: %q is shown in the box but lies in %s, which is %s", b.rc.Name, part, h.path, h.reason())
}

// inHidden reports whether a host path lies in a folder that is hidden. What does needs no protection,
// and is no reason to refuse: the box does not have it.
func (b *builder) inHidden(p string) bool { return b.hides(filepath.Dir(p)) }

// hides reports whether a host path is a folder that is hidden, or lies in one.
func (b *builder) hides(p string) bool {
	return slices.ContainsFunc(b.hidden(), func(h hid) bool { return h.kind == host.Dir && paths.Below(h.real, p) })
}

func (b *builder) isStaged(source string) bool {
	return slices.ContainsFunc(b.s.Binds, func(x Bind) bool { return x.Host == source })
}

func (b *builder) maskAt(real string, kind host.Kind, reason string) {
	for _, at := range b.where(real) {
		if l, _ := b.at(at); l.alone == b.key && l.alone != "" && l.Source == real {
			continue
		}
		if kind == host.Dir {
			b.tmpfs(reason, 0o555, at)
			continue
		}
		if head := b.s.Heads[real]; head != "" && !b.hideNames(real) {
			b.coverFile(reason+"; it shows what the last commit has of it", head, at)
			continue
		}
		if says := b.says(real); says != "" {
			b.dataFile(reason, []byte(says), at)
			continue
		}
		b.coverFile(reason, b.s.Empty, at)
	}
}

const plainName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+/"

// says is what the mask of a project's file of variables says of itself, so that an agent does not
// fill it; "" for other files, and for what the profile hides itself: a role need not know what it is kept from.
func (b *builder) says(real string) string {
	name := filepath.Base(real)
	variables := strings.HasPrefix(name, ".env") || strings.HasPrefix(name,
		".dev.vars") || strings.HasSuffix(name, ".env")
	rest, ok := paths.Rest(b.canon(b.rc.Workdir), real)
	if b.key != "env-files" || b.hideNames(real) || !ok || !variables {
		return ""
	}
	if strings.ContainsFunc(rest, func(r rune) bool { return !strings.ContainsRune(plainName, r) }) { // what is to be typed is no more than a name
		rest = "FILE"
	}
	return profile.HiddenSays + "; " + profile.Outside("inner why "+rest) + "\n"
}

// hideNames reports whether hide of the profile names a file, be it that the table hides it, too.
func (b *builder) hideNames(real string) bool {
	return slices.ContainsFunc(b.hidden(), func(h hid) bool { return h.key == hideKey && h.real == real })
}

// coverFile covers a file by another, an empty one mostly, not by /dev/null: that one gives programs EACCES.
func (b *builder) coverFile(reason, source, dest string) {
	b.op(Op{Kind: OpMask, Source: source, Dest: dest, Reason: reason})
}

// allows reports whether a host path is, or lies in, a resource that the profile allows.
func (b *builder) allows(place string) bool {
	return slices.ContainsFunc(b.places(true), func(h hid) bool { return paths.Below(h.real, place) })
}

func (b *builder) grantedSocket(s string) bool {
	part := func(p Part) bool { return p.Op.Bind() && p.Op.Source == s } // itself, not with its folder
	return b.allows(s) || slices.ContainsFunc(b.s.Parts, part) || b.isStaged(s) ||
		slices.ContainsFunc(b.rc.Mounts, func(m profile.Mount) bool { return b.canon(m.Source) == s })
}

// coverShims leaves an empty, read-only shim folder: PATH stays as the user
// knows it, and a start-up file that adds the folder again does no harm.
func (b *builder) coverShims() {
	home := b.canon(b.f.InnerHome)
	if l, _ := b.at(home); l.Dest == home && !l.bound() {
		b.op(Op{Kind: OpDir, Dest: filepath.Join(home, "shims", "bin"), Reason: "the shim folder is empty"})
		b.sealed("nothing is added to inner's folder", home)
	}
}
