package share

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/server"
)

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

// watchRefs looks at those of some names that are refs. The caller calls back when it has changed them.
func (r *Server) watchRefs(names ...string) (changed func()) {
	was := map[string]string{}
	for _, name := range names {
		if strings.HasPrefix(name, "refs/") && !strings.HasSuffix(name, ".lock") {
			was[name] = r.value(name)
		}
	}
	return func() {
		for ref, old := range was {
			r.tellMoved(ref, old)
		}
	}
}

// tellMoved tells of a ref of the host that has another value now: one that this box has not made, or not as it was.
func (r *Server) tellMoved(ref, old string) {
	now := r.value(ref)
	made, own := r.made[ref]
	switch {
	case now == old:
	case old == "" || own && made == old:
		r.made[ref] = now
		if now == "" {
			delete(r.made, ref)
		}
	default:
		delete(r.made, ref)
		r.tell(server.Message{Moved: &server.Moved{Repo: r.Dir, Ref: ref, Old: old, New: now}})
	}
}
