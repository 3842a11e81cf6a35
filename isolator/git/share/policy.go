package share

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/git/gate"
)

// access is what a box may do with a name.
type access int

const (
	shown   access = iota // look at it
	private               // write it: it is the box's alone, and lies in the private folder
	free                  // write it: git outside reads it as text, and follows it nowhere
	gated                 // rename something there, which is looked at
	once                  // write it in place, with the one content it may have
	added                 // rename something new there, whose name is the hash of its content
)

// inPlace reports whether the box writes there.
func (a access) inPlace() bool { return a == private || a == free || a == once }

// Names at the top, and in a worktree.
var (
	// trusted are those that git outside follows.
	trusted = lazy.Regexp(`^(HEAD|packed-refs|index)$`)
	// text are those that git outside reads, and takes for text or for the id of a commit.
	text = lazy.Regexp(`^(ORIG_HEAD|(FETCH|MERGE|CHERRY_PICK|REVERT|REBASE)_HEAD|AUTO_MERGE|MERGE_(MODE|MSG|RR|AUTOSTASH)|SQUASH_MSG|` +
		`[A-Z]+_EDITMSG|EDIT_DESCRIPTION|NOTES_MERGE_[A-Z]+|packed-refs\.new|next-index-[0-9]+|index\.stash\.[0-9]+|addp-hunk-edit\.diff|ADD_EDIT\.patch)$`)
	// goesOn are those that name a commit which whoever goes on outside needs, in a worktree, too: what is merged or
	// picked, and the person's changes that were put aside for it.
	goesOn = lazy.Regexp(`(^|/)((FETCH|MERGE|CHERRY_PICK|REVERT)_HEAD(\.lock)?|MERGE_AUTOSTASH(\.lock)?|rebase-(merge|apply)/autostash)$`)
	// halfDone are what is half done, of which the box has its own, but where the person has some and the box has not.
	halfDone = lazy.Regexp(`^(rebase-(merge|apply)|sequencer|BISECT_[A-Z_]+(\.lock)?|refs/bisect)(/|$)`)
	// hosts are others of the host.
	hosts = lazy.Regexp(`(?i)^(info/(exclude|attributes)|(hooks|objects|refs|logs|worktrees|modules|branches|lfs/objects)(/.*)?|lfs|` +
		`description|commondir|gitdir|locked|shallow(\.lock)?|gc\.(pid|log)(\.lock)?|sharedindex\..*|reftable(/.*)?)$`)
	// large are the objects of git-lfs, and their folders.
	large = lazy.Regexp(`^lfs(/objects(/[0-9a-f]{2}){0,2}(/[0-9a-f]{64})?)?$`)
	// mains are those of the main work tree.
	mains = lazy.Regexp(`^(([A-Z_]+|index|next-index-[0-9]+)(\.lock)?|index\.stash\..*|logs/HEAD)$`)
)

// access returns what the box may do with a name. What is none of git's is the box's own, until it is renamed
// to one that is: what other tools keep there of the host's, as keys, is not served. So are its settings, and
// what it has half done.
func (r *Server) access(name string) access {
	if name == "info/exclude" && r.exclude || slices.ContainsFunc(r.Away, func(at string) bool { return paths.Below(at, name) }) || r.isSink(name) {
		return private
	}
	tree, rest := inTree(name)
	if tree != "" {
		if a, known := r.ofWorktree(tree, rest); known {
			return a
		}
	}
	top, in, deep := strings.Cut(rest, "/")
	bare, locked := strings.CutSuffix(top, ".lock")
	switch {
	case halfDone().MatchString(rest) && r.theirs(tree, rest):
		return shown
	case name == "", top == "worktrees" && !strings.Contains(in, "/"):
		return free
	case top == "refs" && (in == "" && tree == "" || firstPart(in) == "replace"): // git bisect makes that of a worktree
		return shown
	case top == "refs" && !strings.HasSuffix(name, ".lock"):
		return gated
	case r.Tree != "" && (name == "logs/HEAD" || mains().MatchString(name) && (text().MatchString(bare) || trusted().MatchString(bare))):
		return shown // the box does not see that work tree
	case top == "refs", top == "logs":
		return free
	case large().MatchString(name):
		return added
	case hosts().MatchString(rest):
		return shown
	}
	follows := trusted().MatchString(bare)
	switch {
	case !follows && !text().MatchString(bare):
		return private
	case deep:
		return shown
	case follows && !locked:
		return gated
	}
	return free
}

// ofWorktree is about what lies in the folder of a linked worktree, and is not as it is at the top.
func (r *Server) ofWorktree(tree, rest string) (a access, known bool) {
	far, theirs := r.worktree(tree)
	lower := strings.ToLower(rest)
	switch top := firstPart(lower); {
	case far, top == "worktrees", top == "packed-refs", top == "packed-refs.lock":
		return shown, true
	case lower == "commondir", lower == "gitdir", rest == "HEAD" && !theirs: // git worktree add writes them in place
		return map[bool]access{true: shown, false: once}[theirs], true
	case lower == "locked":
		return map[bool]access{true: shown, false: free}[theirs], true
	case strings.HasPrefix(lower, "config"), strings.HasPrefix(lower, "info"): // they say what is checked out there
		return shown, tree != r.Tree
	}
	return shown, false
}

// worktree reports whether a linked worktree is outside the project, and whether it is somebody else's: it was there at
// the start, or somebody has made it outside the project since.
func (r *Server) worktree(name string) (far, theirs bool) {
	if far, theirs = r.worktrees[name]; !theirs && name != "" {
		far = r.isFar(name)
	}
	return far, far || theirs
}

// theirs reports whether what is half done in a work tree is the person's: git in the box sees that, and begins no other.
func (r *Server) theirs(tree, name string) bool {
	if name = firstPart(name); name == "refs" || strings.HasPrefix(name, "BISECT_") {
		name = "BISECT_LOG"
	}
	if tree != "" {
		name = path.Join("worktrees", tree, name)
	}
	var st unix.Stat_t
	own := unix.Fstatat(r.private, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	return !own &&
		unix.Fstatat(r.root, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// isOwn reports whether a name lies in the private folder.
func (r *Server) isOwn(name string) bool { return r.access(name) == private }

// sinkText is all that a file has which is the box's, and says what is checked out in a worktree that it makes.
const sinkText = "/*\n"

// isSink reports whether a name is that of such a file, or of its folder. git worktree add copies there what
// the box's own work tree leaves to the host; in the new one nothing is.
func (r *Server) isSink(name string) bool {
	tree, rest := inTree(name)
	_, theirs := r.worktrees[tree]
	return tree != "" && !theirs && (rest == "info" || rest == "info/sparse-checkout")
}

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

// kept are the names that are never removed or renamed.
var kept = lazy.Regexp(`^(HEAD|index|packed-refs|refs|refs/(heads|tags)|logs|objects)$`)

// stays reports whether a name is there for good: git's own, and what makes a worktree of the host.
func (r *Server) stays(name string) bool {
	if kept().MatchString(name) {
		return true
	}
	tree, rest := inTree(name + "/")
	if _, theirs := r.worktree(tree); !theirs {
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

// isFolder reports whether a name of the host can be that of a folder. A lock that is one, or a message, nobody
// gets rid of who does not know why git fails.
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
