package share

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/server"
)

// enter decides about what is to take a place that git outside trusts. It returns what is written
// there, and what is to be done once it is.
func (r *Server) enter(name string, data, old []byte) (entered []byte, done func(), err error) {
	switch {
	case isIndex(name):
		return r.Enter(name, data, old)
	case name == "packed-refs":
		return r.packedRefs(string(data), string(old))
	case isLog(name):
		return data, nil, r.logLines(string(data), string(old))
	}
	if a := r.access(name); a == free || a == private { // text, or the box's own
		return data, nil, nil
	}
	return data, nil, r.ref(string(data))
}

var idLine = lazy.Regexp(`^[0-9a-f]{40}\n$`)

// ref decides about the text of a ref: the id of a commit, or the name of another ref.
func (r *Server) ref(data string) error {
	if idLine().MatchString(data) {
		return r.Bring(data[:40])
	}
	name, isLink := strings.CutPrefix(data, "ref: ")
	name, whole := strings.CutSuffix(name, "\n")
	if !isLink || !whole || strings.HasPrefix(name, "refs/replace/") || !gate.GoodRef(name) {
		return errors.New("neither an id nor the name of a ref")
	}
	return nil
}

var goesOnWith = lazy.Regexp(`(?m)^([0-9a-f]{40})(\t\t|$)`)

// named brings what a text names that another may go on with. Of what is fetched that is what is to be merged: the rest has
// refs of its own. Where it may not come, a fetch goes on.
func (r *Server) named(name, text string) error {
	var ids []string
	for _, m := range goesOnWith().FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	err := r.Bring(ids...)
	if path.Base(name) == "FETCH_HEAD" {
		return nil
	}
	return err
}

var logLine = lazy.Regexp(`^([0-9a-f]{40}) ([0-9a-f]{40}) [^\n\x00]*> [0-9]+ [-+][0-9]{4}(\t[^\n\x00]*)?\n$`)

// logLines decides about the lines of a log that an old one has not. Git writes whole ones. What they
// name is looked for by `git gc` and `git fsck` outside.
func (r *Server) logLines(data, old string) error {
	had := map[string]bool{}
	for line := range strings.Lines(old) {
		had[line] = true
	}
	var ids []string
	for line := range strings.Lines(data) {
		m := logLine().FindStringSubmatch(line)
		if m == nil && !had[line] {
			return fmt.Errorf("not a line of a log: %q", line)
		}
		if !had[line] {
			ids = append(ids, m[1], m[2])
		}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return strings.Trim(id, "0") == "" })
	return r.Bring(ids...)
}

// packedRefs decides about packed-refs. What a tag is of, or that a ref is of nothing, git would believe:
// only what the host's own file says stays, of the rest git finds it out. It would believe as well that
// they are sorted.
func (r *Server) packedRefs(data, old string) (entered []byte, done func(), err error) {
	was, _ := gate.Packed(old)
	last, ids, names := "", []string(nil), []string(nil)
	head, body, fresh := "", data, false
	if strings.HasPrefix(data, "#") {
		head, body, _ = strings.Cut(data, "\n")
	}
	var out strings.Builder
	for body != "" {
		m := gate.PackedRef().FindStringSubmatch(body)
		if m == nil || !strings.HasPrefix(body, m[0]) || m[2] <= last || strings.HasPrefix(m[2],
			"refs/replace/") || !goodRef(m[2]) {
			line, _, _ := strings.Cut(body, "\n")
			return nil, nil, fmt.Errorf("not a line of packed-refs, or not in its place: %q", line)
		}
		body, last = body[len(m[0]):], m[2]
		if was[last] == m[0] {
			delete(was, last)
		} else {
			ids, names, fresh = append(ids, m[1]), append(names, last), true
			m[0] = strings.TrimSuffix(m[0], m[3])
		}
		out.WriteString(m[0])
	}
	names = slices.AppendSeq(names, maps.Keys(was))
	if fresh || !strings.HasPrefix(old, head+"\n") {
		head = "# pack-refs with: sorted "
	}
	return []byte(head + "\n" + out.String()), r.watchRefs(names...), r.Bring(ids...)
}

// inPlace decides about what is written in place, by git worktree add: where the folders of a new
// worktree are, and its HEAD.
func (r *Server) inPlace(name, data string, offset int64) error {
	line, whole := strings.CutSuffix(data, "\n")
	if offset != 0 || !whole || strings.Contains(line, "\n") {
		return errors.New("not one line")
	}
	switch path.Base(name) {
	case "HEAD":
		return r.ref(data)
	case "commondir":
		if line == "../.." {
			return nil
		}
	case "gitdir":
		tree, _ := inTree(name)
		top := r.topOf(tree, line)
		if path.Base(line) == ".git" && path.Clean(line) == line && strings.HasPrefix(top,
			r.Top+"/") && !strings.HasPrefix(top, r.Dir+"/") {
			return nil
		}
	}
	return errors.New("not a worktree in the project")
}

// value returns the value of a ref of the host: an id, the name of another ref after "ref: ", or "".
func (r *Server) value(ref string) string {
	if data, err := readAt(r.root, ref); err == nil {
		return strings.TrimSuffix(string(data), "\n")
	}
	var st unix.Stat_t
	if r.stat("packed-refs", &st) != nil {
		return ""
	}
	if now := stampOf(&st); now != r.packed.of {
		data, err := readAt(r.root, "packed-refs")
		if err != nil {
			return ""
		}
		r.packed.of = now
		r.packed.refs, _ = gate.Packed(string(data))
	}
	id, _, _ := strings.Cut(r.packed.refs[ref], " ")
	return id
}

// watchRefs looks at those of some names that are refs, or HEAD. The caller calls back when it has changed them, and each
// that has another value then is told; that of the stash is its log, which may have one in any case.
func (r *Server) watchRefs(names ...string) (changed func()) {
	was := map[string]string{}
	for _, name := range names {
		_, rest := inTree(name)
		if rest == "HEAD" || strings.HasPrefix(name, "refs/") && !strings.HasSuffix(name, ".lock") {
			was[name] = r.value(name)
		}
	}
	return func() {
		for _, ref := range slices.Sorted(maps.Keys(was)) {
			if old, now := was[ref], r.value(ref); now != old || ref == "refs/stash" {
				r.tell(server.Message{Moved: &server.Moved{Repo: r.Dir, Ref: ref, Old: old, New: now}})
			}
		}
	}
}
