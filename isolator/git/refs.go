package git

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const stashRef = "refs/stash"

// Most refs, bytes of one loose ref, and folders of refs that are read of a repository.
const (
	maxRefs  = 1_500_000
	maxLoose = 4096
	maxDirs  = 200_000
)

// refs are the refs of a repository by name, as the object they name in hexadecimal
// digits. A symbolic ref is "ref: NAME".
type refs map[string]string

// set gives a ref a value; "" removes it.
func (r refs) set(name, value string) {
	if value == "" {
		delete(r, name)
	} else {
		r[name] = value
	}
}

// refSet is what was read of a repository's refs.
type refSet struct {
	refs
	odd map[string]string // files in refs/ that are not refs, and why: their refs count as unchanged
}

// packedRefs reads a packed-refs file. An unknown line is an error, as it is for git.
func packedRefs(text string, digits int, into refs) error {
	return packedLines(text, digits, func(line, name string) error {
		if name != "" {
			into[name] = line[:digits]
		}
		if len(into) > maxRefs {
			return fmt.Errorf("packed-refs: %w", errTooMany)
		}
		return nil
	})
}

// packedLines calls found for each line that is not a comment. The name is "" for a line that says what the tag on the
// line before points to.
func packedLines(text string, digits int, found func(line, name string) error) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, ok := packedName(line, digits)
		if !ok {
			return fmt.Errorf("packed-refs: line %d is not git's", n)
		}
		if err := found(line, name); err != nil {
			return err
		}
	}
	return nil
}

// packedName returns the name of the ref on a line, and whether git can have written the line.
func packedName(line string, digits int) (name string, ok bool) {
	if peeled, is := strings.CutPrefix(line, "^"); is {
		return "", hexName(peeled, digits)
	}
	oid, name, _ := strings.Cut(line, " ")
	return name, name != "" && len(name) <= maxPathName && hexName(oid, digits)
}

// withRefs adds refs to a packed-refs file, replacing those of the same names. The file is sorted by name, and says
// so in its header. What added tags point to is not known here; then the header must not claim that the file says it
// of every tag (git: refs/packed-backend.c, PEELED_TAGS).
func withRefs(text string, loose refs, digits int) (string, error) {
	list, err := packedEntries(text, digits)
	if err != nil {
		return "", err
	}
	names := slices.Sorted(maps.Keys(loose))
	var out strings.Builder
	out.Grow(len(text) + 100*len(names))
	head, _, _ := strings.Cut(text, "\n")
	peeled := text == "" || strings.HasPrefix(head, "#") && strings.Contains(head, "peeled ")
	if peeled && !slices.ContainsFunc(names, func(name string) bool { return hasPrefix(name, "refs/tags") }) {
		out.WriteString("# pack-refs with: peeled sorted \n")
	} else {
		out.WriteString("# pack-refs with: sorted \n")
	}
	for _, e := range append(list, packedEntry{name: "\xff"}) {
		for len(names) > 0 && names[0] < e.name {
			out.WriteString(loose[names[0]] + " " + names[0] + "\n")
			names = names[1:]
		}
		if _, has := loose[e.name]; !has {
			out.WriteString(e.line + e.peeled)
		}
	}
	return out.String(), nil
}

// packedEntry is a ref of a packed-refs file: its line, and the one that says what it points to.
type packedEntry struct{ name, line, peeled string }

// packedEntries returns the refs of a packed-refs file, sorted by name.
func packedEntries(text string, digits int) ([]packedEntry, error) {
	list := make([]packedEntry, 0, len(text)/60)
	err := packedLines(text, digits, func(line, name string) error {
		if name != "" {
			list = append(list, packedEntry{name: name, line: line + "\n"})
		} else if n := len(list); n > 0 {
			list[n-1].peeled = line + "\n"
		}
		return nil
	})
	byName := func(a, b packedEntry) int { return strings.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(list, byName) {
		slices.SortStableFunc(list, byName)
	}
	return list, err
}

// readRefs reads all refs of a repository. Loose ones are read first: git packs a ref
// before it removes the loose one, so none is missed.
func readRefs(common *folder, digits int, known *packed) (refSet, error) {
	set := refSet{odd: map[string]string{}}
	loose, size := refs{}, 0
	if err := looseRefs(common, digits, func(name, value, odd string) error {
		if odd != "" {
			set.odd[name] = odd
		} else {
			loose[name] = value
		}
		if size += digits + len(" \n") + len(name); size > maxText || len(loose)+len(set.odd) > maxRefs {
			return errTooMany
		}
		return nil
	}); err != nil {
		return set, err
	}
	if err := known.read(common, digits); err != nil {
		return set, err
	}
	set.refs = maps.Clone(known.refs)
	maps.Copy(set.refs, loose)
	return set, nil
}

// packed caches a packed-refs file, which may hold a hundred thousand refs and changes rarely.
type packed struct {
	refs
	stat unix.Stat_t
}

func (p *packed) read(common *folder, digits int) error {
	st, err := common.stat("packed-refs")
	if errors.Is(err, fs.ErrNotExist) {
		p.refs, p.stat = refs{}, unix.Stat_t{}
		return nil
	}
	if err == nil && p.refs != nil && fileID(st, true) == fileID(p.stat, true) && time.Since(time.Unix(st.Ctim.Unix())) > time.Second {
		return nil
	}
	text, rerr := common.readText("packed-refs")
	if err := errors.Join(err, rerr); err != nil {
		return err
	}
	p.refs, p.stat = make(refs, strings.Count(text, "\n")), st
	return packedRefs(text, digits, p.refs)
}

// maxRemembered is the most refs of a repository that are kept in memory from one exchange to the next. A run can have
// many repositories.
const maxRemembered = 50_000

// forget drops the refs of a repository that has too many of them to keep in memory.
func (c *Copy) forget(unit int) {
	if b := c.bases[unit]; b != nil && len(b.refs)+len(b.meant) > maxRemembered {
		b.log.Close()
		delete(c.bases, unit)
	}
	if s := c.seen[unit]; s != nil && len(s.host.refs)+len(s.box.refs) > maxRemembered {
		s.host, s.box = packed{}, packed{}
	}
}

// looseRefs calls found for each file below refs/. Something else than a file or a folder, such as
// a link, is reported as odd and does not affect the other refs.
func looseRefs(common *folder, digits int, found func(name, value, odd string) error) error {
	todo := []string{"refs"}
	for dirs := 0; len(todo) > 0; dirs++ {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		below, err := looseIn(common, dir, digits, found)
		if errors.Is(err, fs.ErrNotExist) && dir != "refs" {
			continue // git removes folders that become empty
		}
		if err != nil {
			return err
		}
		if todo = append(todo, below...); dirs+len(todo) > maxDirs {
			return errTooMany
		}
	}
	return nil
}

// looseIn calls found for the files in one folder, and returns the folders in it.
func looseIn(common *folder, dir string, digits int, found func(name, value, odd string) error) (below []string, err error) {
	d, err := common.sub(dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	err = d.each(func(e fs.DirEntry) error {
		name, value, odd := dir+"/"+e.Name(), "", ""
		switch {
		case e.IsDir() && len(name) > maxRefName:
			odd = "and what is below it have names that are too long"
		case e.IsDir():
			below = append(below, name)
		case strings.HasSuffix(name, ".lock"): // another git's
		default:
			value, odd = looseRef(d, e.Name(), digits)
		}
		if value == "" && odd == "" {
			return nil // no ref, or it has just gone
		}
		return found(name, value, odd)
	})
	return below, err
}

func looseRef(dir *folder, name string, digits int) (value, odd string) {
	data, err := dir.readLoose(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", ""
	case errors.Is(err, unix.ELOOP):
		return "", "is a link"
	case err != nil:
		return "", "cannot be read as a plain file"
	}
	if value = headValue(data, digits); value == "" {
		return "", "does not name an object"
	}
	return value, ""
}

// headValue returns the content of a file like HEAD: "ref: NAME", the name of an object, or ""
// for anything else. It is stricter than git, which lets text follow.
func headValue(data []byte, digits int) string {
	text := strings.TrimRight(string(data), "\n")
	if target, ok := strings.CutPrefix(text, "ref: "); ok {
		if target = strings.TrimSpace(target); strings.ContainsAny(target, "\n\x00") || !strings.HasPrefix(target, "refs/") {
			return ""
		}
		return "ref: " + target
	}
	if !hexName(text, digits) {
		return ""
	}
	return text
}

// symbolic returns the ref that a value names.
func symbolic(value string) (name string, ok bool) { return strings.CutPrefix(value, "ref: ") }

// logEntry is one line of a reflog.
type logEntry struct {
	Old, New string
	Who      string // Name <address>
	When     string // seconds and zone
	Message  string
}

// Most bytes and lines of a reflog of a box that are looked at.
const (
	maxLog     = 16 << 20
	maxStashes = 2000
)

// readLog reads a reflog strictly: a line that is not exactly one of git's is an error.
func readLog(data []byte, digits int) ([]logEntry, error) {
	var out []logEntry
	for line := range bytes.Lines(data) {
		e, ok := logLine(strings.TrimSuffix(string(line), "\n"), digits)
		if !ok {
			return nil, fmt.Errorf("line %d of a log is not git's", len(out)+1)
		}
		out = append(out, e)
	}
	return out, nil
}

// logParts matches a line of a reflog: two objects, a name, an address, a time and a message.
var logParts = sync.OnceValue(func() *regexp.Regexp { // allowed: compiled once, when it is first asked for
	return regexp.MustCompile(`^([0-9a-f]+) ([0-9a-f]+) ([^<>\x00\r\t]*) <([^<>\x00\r\t]*)> (\d{1,12} [+-]\d{4})(?:\t(.*))?$`)
})

func logLine(line string, digits int) (e logEntry, ok bool) {
	m := logParts().FindStringSubmatch(line)
	if m == nil || len(m[1]) != digits || len(m[2]) != digits {
		return e, false
	}
	return logEntry{
		Old: m[1], New: m[2], Who: plainText(m[3], 200) + " <" + plainText(m[4], 200) + ">", When: m[5], Message: plainText(m[6], 500),
	}, true
}

func (e logEntry) line() string {
	return e.Old + " " + e.New + " " + e.Who + " " + e.When + "\t" + e.Message + "\n"
}
