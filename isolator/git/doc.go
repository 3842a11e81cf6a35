// Package git gives a box a git directory of its own, and gives the host what the box
// did with it.
//
// The git directory that the host's git obeys is never written by a box. For each run
// Stage makes another one: HEAD, index, refs and their logs as copies, the configuration
// without logins, the objects of the host to read and a store of its own for new ones. It is
// mounted where the box's git looks for it, so inside git is unrestricted. Cross reads
// that directory as hostile input and changes the host's repository by inner's own hand:
// objects first, after they were checked; then refs, each only if the host has not moved
// it; then HEAD, index and the state of a merge.
//
//	r, err := git.Find(workdir)           // r.Reason: why it cannot be staged
//	c, err := git.Stage(r, git.Options{Git: "/usr/bin/git", Run: id, Dir: dir, Roots: roots})
//	for _, m := range c.Mounts { … }      // what the box must see where
//	c.Hold()                              // while the box runs: objects stay, whatever gc does
//	c.Cross(ctx, git.Crossing{})          // each time refs or index were quiet for a moment
//	c.Cross(ctx, git.Crossing{Final: true, Gitlink: mayEnter})
//	c.Close(); git.Remove(dir)            // unless Report.Kept
//
// It promises:
//
//   - Nothing of the box's is executed, obeyed, followed or written through. Its files are
//     read as plain files of bounded size, through no link. Of its objects only loose ones
//     and packs are taken, and only as bytes: they are copied, indexed anew and checked by
//     `git index-pack --strict` in a git directory, a configuration and an environment of inner's.
//   - Every write outside goes through a descriptor of the host's git directory that was opened
//     there and compared with what was found at the start, with no link on the way, under git's
//     own locks.
//   - Killed at any moment, inner leaves the host's repository whole. What has not crossed is
//     in the copy, and Recover crosses it.
//   - What the host did meanwhile wins. The box's value is then at refs/inner/RUN.
//
// It does not look at the work tree, and not at repositories that a box makes anew:
// where a commit or an index brings one into the host's (a gitlink), it waits for the end
// and for the caller's word. docs/git.md has the design and its limits.
package git
