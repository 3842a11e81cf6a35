// Package git gives a box a git directory of its own, and brings what the box did there to
// the host's.
//
// No box writes the git directory that the host's git obeys. For each run Stage makes
// another one: copies of HEAD, index, refs and reflogs, the configuration without logins,
// the host's objects to read and a store of its own for new ones. It is mounted where the
// box's git looks for it, so git is unrestricted inside. Cross reads that directory as
// hostile input and changes the host's repository itself: objects first, after they were
// checked; then refs, each only if the host has not moved it; then HEAD, index and the state
// of a merge.
//
//	r, err := git.Find(workdir)           // r.Reason: why it cannot be staged
//	c, err := git.Stage(r, git.Options{Git: "/usr/bin/git", Run: id, Dir: dir, Roots: roots})
//	for _, m := range c.Mounts { … }      // what the box must see, and where
//	c.Hold()                              // keeps objects while the box runs, whatever gc does
//	c.Cross(ctx, git.Crossing{})          // each time refs and index were quiet for a moment
//	c.Cross(ctx, git.Crossing{Final: true})
//	c.Close(); git.Remove(dir)            // unless Report.Kept
//
// It promises:
//
//   - Nothing that the box wrote is executed or obeyed, and none of its links is followed or
//     written through. Its files are read as plain files of bounded size. Of its objects only
//     loose ones and packs are taken, and only as bytes: they are copied, indexed again and checked
//     by `git index-pack --strict` with a git directory, a configuration and an environment of inner's.
//   - Every write outside goes through a descriptor of the host's git directory, opened without
//     following a link and compared with what was found at the start, under git's own locks.
//   - Killed at any moment, inner leaves the host's repository whole. What has not crossed is
//     in the copy, and Recover crosses it.
//   - What the host did meanwhile wins. The box's value is then at refs/inner/RUN.
//
// It does not look at files of the work tree, nor at repositories that a box makes. A commit or
// an index that would bring one of those into the host's repository (a gitlink) waits until the
// run ends and the caller agrees. docs/git.md has the design and its limits.
package git
