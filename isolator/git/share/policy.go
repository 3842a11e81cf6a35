package share

import (
	"path"
	"slices"
	"strings"

	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/git/gate"
)

// access is what a box may do with a name.
type access int

const (
	shown access = iota // look at it
	free                // write it: git outside reads it as text, and follows it nowhere
	gated               // rename something there, which is looked at
	once                // write it in place, with the one content it may have
	added               // rename something new there, whose name is the hash of its content
)

// inPlace reports whether the box writes there.
func (a access) inPlace() bool { return a == free || a == once }

// own are the names at the top, and in a worktree, that are the box's alone, with all that is below them.
var own = lazy.Regexp(`(?i)^(config(\.worktree)?(\.lock)?|info|rr-cache|rebase-merge|rebase-apply|sequencer|bisect_[a-z_]+)$`)

// hosts are what of these, and of everything else that git knows, is the host's.
var hosts = lazy.Regexp(`(?i)^(info/(exclude|attributes)|(hooks|objects|refs|logs|worktrees|modules|branches|lfs/objects)(/.*)?|lfs|` +
	`description|commondir|gitdir|locked|shallow(\.lock)?|gc\.(pid|log)(\.lock)?|sharedindex\..*|reftable(/.*)?)$`)

// isOwn reports whether a name lies in the private folder: one of these, or one that is not git's, which is
// the box's until it is renamed to one that is. What other tools keep there of the host's, as keys, is not served.
func (r *Server) isOwn(name string) bool {
	tree, rest := inTree(name)
	top := firstPart(rest)
	switch {
	case name == "info/exclude" && r.exclude, slices.ContainsFunc(r.Away, func(at string) bool { return paths.Below(at, name) }):
		return true
	case name == rest && (top == "refs" || top == "logs"):
		return false
	case rest == "" || hosts().MatchString(rest) || r.worktrees[tree]:
		return false
	case r.isSink(name):
		return true
	case own().MatchString(top), strings.HasPrefix(name, "lfs/"):
		return tree == r.Tree || tree == "" || !ofTree().MatchString(top) // the files that a box may not write are checked out in a worktree that it makes
	}
	l, _ := strings.CutSuffix(top, ".lock")
	return !text().MatchString(l) && !trusted().MatchString(l)
}

// sinkText is all that a file has which is the box's, and says what is checked out in a worktree that it makes.
const sinkText = "/*\n"

// isSink reports whether a name is that of such a file, or of its folder. git worktree add copies there what the box's own
// work tree leaves to the host; in the new one nothing is.
func (r *Server) isSink(name string) bool {
	tree, rest := inTree(name)
	_, theirs := r.worktrees[tree]
	return tree != "" && !theirs && (rest == "info" || rest == "info/sparse-checkout")
}

// ofTree are those that another worktree has of the host: they say what is checked out there.
var ofTree = lazy.Regexp(`(?i)^(config|info)`)

// inTree splits the name of what is in a worktree into that of the worktree and the rest. Elsewhere the
// rest is the name.
func inTree(name string) (tree, rest string) {
	if in, ok := strings.CutPrefix(name, "worktrees/"); ok {
		if tree, rest, ok = strings.Cut(in, "/"); ok {
			return tree, rest
		}
	}
	return "", name
}

// mixed reports whether a folder has names of the host and of the box.
func mixed(name string) bool {
	_, rest := inTree(path.Join(name, "x"))
	return rest == "x" || name == "lfs"
}

// text are the names at the top that git outside reads, and takes for text or for the id of a commit.
var text = lazy.Regexp(`^(ORIG_HEAD|(FETCH|MERGE|CHERRY_PICK|REVERT|REBASE)_HEAD|AUTO_MERGE|MERGE_(MODE|MSG|RR|AUTOSTASH)|SQUASH_MSG|` +
	`[A-Z]+_EDITMSG|EDIT_DESCRIPTION|NOTES_MERGE_[A-Z]+|packed-refs\.new|next-index-[0-9]+|index\.stash\.[0-9]+|addp-hunk-edit\.diff|ADD_EDIT\.patch)$`)

// trusted are the names at the top that git outside follows.
var trusted = lazy.Regexp(`^(HEAD|packed-refs|index)$`)

// access returns what the box may do with a name.
func (r *Server) access(name string) access {
	switch {
	case name == "" || r.isOwn(name):
		return free
	case r.Tree != "" && mains().MatchString(name): // the box does not see that work tree
		return shown
	}
	return r.shared(name)
}

// mains are the names of the main work tree.
var mains = lazy.Regexp(`^(([A-Z_]+|index|next-index-[0-9]+)(\.lock)?|index\.stash\..*|logs/HEAD)$`)

// shared is about a name of the host.
func (r *Server) shared(name string) access {
	top, rest, deep := strings.Cut(name, "/")
	switch {
	case top == "refs":
		return refAccess(rest)
	case top == "logs":
		return free
	case top == "worktrees":
		return r.worktreeAccess(rest)
	case large().MatchString(name):
		return added
	case deep:
		return shown
	case trusted().MatchString(name):
		return gated
	}
	if l, locked := strings.CutSuffix(name, ".lock"); text().MatchString(l) || locked && trusted().MatchString(l) {
		return free
	}
	return shown
}

// large are the objects of git-lfs, and their folders.
var large = lazy.Regexp(`^lfs(/objects(/[0-9a-f]{2}){0,2}(/[0-9a-f]{64})?)?$`)

func refAccess(rest string) access {
	top := firstPart(rest)
	switch {
	case rest == "" || top == "replace":
		return shown
	case strings.HasSuffix(rest, ".lock"):
		return free
	}
	return gated
}

// worktreeAccess is about what lies in worktrees: rest begins with the name of one.
func (r *Server) worktreeAccess(rest string) access {
	tree, rest, _ := strings.Cut(rest, "/")
	far, theirs := r.worktrees[tree]
	lower := strings.ToLower(rest)
	switch {
	case rest == "":
		return free
	case far:
		return shown
	case theirs && (lower == "commondir" || lower == "gitdir" || lower == "locked"):
		return shown
	case lower == "commondir" || lower == "gitdir" || lower == "head" && !theirs:
		return once // git worktree add writes them in place
	case lower == "locked":
		return free
	case rest == "refs": // git bisect makes it
		return gated
	}
	switch firstPart(lower) {
	case "worktrees", "packed-refs", "packed-refs.lock", "lfs":
		return shown
	}
	return r.shared(rest)
}

// kept are the names that are never removed or renamed.
var kept = lazy.Regexp(`^(HEAD|index|packed-refs|refs|refs/(heads|tags)|logs|objects)$`)

// stays reports whether a name is there for good: git's own, and what makes a worktree of the host.
func (r *Server) stays(name string) bool {
	if kept().MatchString(name) {
		return true
	}
	tree, rest := inTree(name + "/")
	if _, theirs := r.worktrees[tree]; !theirs {
		return false
	}
	switch rest {
	case "", "gitdir/", "commondir/", "HEAD/", "index/", "logs/", "locked/":
		return true
	}
	return false
}

// goodRef reports whether a name in refs or logs is that of a ref, or of its lock.
func goodRef(name string) bool {
	_, name = inTree(name)
	ref, isRef := strings.CutPrefix(strings.TrimPrefix(name, "logs/"), "refs/")
	if !isRef {
		return true
	}
	if ref == ".tmp-renamed-log" && strings.HasPrefix(name, "logs/") { // git branch -m has a log there meanwhile
		return true
	}
	return ref == "" || gate.GoodRef("refs/"+strings.TrimSuffix(ref, ".lock"))
}

// isFolder reports whether a name of the host can be that of a folder. A lock that is one, or a message, nobody gets rid of
// who does not know why git fails.
func isFolder(name string) bool {
	_, rest := inTree(name)
	top := firstPart(rest)
	return (top == "refs" || top == "logs" || top == "worktrees" || top == "lfs") && !passing(name)
}

// isLog reports whether a name is that of a log of a ref.
func isLog(name string) bool {
	_, name = inTree(name)
	return strings.HasPrefix(name, "logs/") && !strings.HasSuffix(name, ".lock")
}

// isIndex reports whether a name is that of an index.
func isIndex(name string) bool {
	_, name = inTree(name)
	return name == "index"
}

// passing are files that git makes, fills and renames. Another's (the host's git, another box) is not
// written, removed or replaced: what the host's git renames into place nobody looks at.
func passing(name string) bool {
	_, rest := inTree(name)
	return strings.HasSuffix(name, ".lock") || strings.HasPrefix(rest, "index.stash.") || name == "packed-refs.new" || strings.HasSuffix(name, "/.tmp-renamed-log")
}

func firstPart(name string) string {
	top, _, _ := strings.Cut(name, "/")
	return top
}
