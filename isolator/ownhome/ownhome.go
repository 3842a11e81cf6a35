// Package ownhome keeps the homes of boxes: a folder for each project, that the boxes of that project see as
// their home folder and that outlives them.
//
//	INNER_HOME/homes/KEY/       0700; no box sees it
//	  home/                     what the box sees as its home
//	  home.json                 whose it is, and the places where boxes mount something in it
//	  files/                    what the box has of files of the project as copies of its own
//	  base/                     what the host had last of settings that the box may change
//	  renewed-NAME              a login that boxes renewed, from before they had placeholders
//	  staged.json               what inner put into home/ and files/, by its hash
//	  lock                      held while a box is prepared
//	  running                   held, shared, for as long as a box runs
//
// What is in home/ was written by boxes and is untrusted. Nothing here follows a link in
// it: every path is opened one name at a time, from an open folder (see inside.go). What is
// in the way of something that inner puts there is moved aside and not removed.
//
// bwrap resolves the places where it mounts by their names, and would follow a link. So the
// places are made before bwrap starts, and only while no other box has this home; every box
// mounts something at all of them, and a name that is mounted on cannot be renamed or removed
// in that box. So no box can put a link where another one that is just starting mounts.
package ownhome

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/owned"
)

// Owner says whose a home is. Agents of a project have a home apart from its other boxes and from other
// agents: their logins lie there.
type Owner struct {
	Project string `json:"project,omitempty"` // real path of a project's root
	Agents  string `json:"agents,omitempty"`  // the capabilities of the boxes, "claude" or "claude+gemini"
	Name    string `json:"name,omitempty"`    // that a profile of the version before gave it
	Caches  bool   `json:"caches,omitempty"`  // it is no home, and holds caches for boxes that see the user's
	Undo    bool   `json:"undo,omitempty"`    // it is no home, and holds what runs changed (package undo); no box sees it
}

// Key is the name of the folder of the home of a project. No name of the version before has an @ in it.
func (o Owner) Key() string {
	sum := sha256.Sum256([]byte(o.Project))
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	base := strings.Map(func(r rune) rune {
		if strings.ContainsRune(plain, r) {
			return r
		}
		return '_'
	}, filepath.Base(o.Project))
	key := base[:min(len(base), 40)] + "@" + hex.EncodeToString(sum[:8])
	if o.Agents != "" {
		key += "@" + o.Agents
	}
	if o.Caches {
		key += "@caches"
	}
	if o.Undo {
		key += "@undo"
	}
	return key
}

func (o Owner) String() string {
	if o.Name != "" {
		return "the home named " + o.Name
	}
	if o.Caches {
		return "the caches of boxes in " + o.Project
	}
	if o.Undo {
		return "what runs changed in " + o.Project
	}
	if o.Agents != "" {
		return "the home of " + o.Agents + " in " + o.Project
	}
	return "the home of " + o.Project
}

// Base is the folder below INNER_HOME that holds all homes.
func Base(innerHome string) string { return filepath.Join(innerHome, "homes") }

// Folder is what the boxes of an owner see as their home, whether it is there or not.
func Folder(innerHome string, o Owner) string { return filepath.Join(Base(innerHome), o.Key(), Inside) }

// Inside is the folder of a home below that of its record.
const Inside = "home"

// Point is a place in a home where boxes mount something.
type Point = host.HomePoint

// Points are those of the home of an owner; none where no home can be read.
func Points(innerHome string, o Owner) []Point {
	rec, _ := ReadRecord(filepath.Join(Base(innerHome), o.Key()))
	return rec.Points
}

// Record is home.json.
type Record struct {
	Owner
	Identity string  `json:"identity,omitempty"` // of the project's folder: see files.Identity
	Began    string  `json:"began,omitempty"`    // the project's path when it had its first home, if it was moved since: files/ has that
	Points   []Point `json:"points,omitempty"`
}

// Home is the home of one run. Whoever opens it closes it.
type Home struct {
	Owner
	Dir   string   // the folder that the box sees
	Aside []string // what was moved aside, by its new name below the home

	folder  string // the one that holds Dir
	rec     Record
	root    int      // Dir
	gate    *os.File // nil while others may begin
	running *os.File // nil before Ready
}

// Open makes the home when there is none, and holds other runs that begin in it back until
// Ready, or Close.
func Open(innerHome string, o Owner) (_ *Home, err error) {
	h := &Home{Owner: o, folder: filepath.Join(Base(innerHome), o.Key()), root: -1}
	h.Dir = filepath.Join(h.folder, Inside)
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	if err := h.open(innerHome); err != nil {
		return nil, err
	}
	switch h.rec, err = ReadRecord(h.folder); {
	case errors.Is(err, fs.ErrNotExist), err == nil && h.rec.Owner == o && h.rec.Identity != files.Identity(unix.AT_FDCWD, o.Project):
		h.rec.Owner = o
		return h, h.rec.Write(h.folder)
	case err != nil:
		return nil, err
	case h.rec.Owner != o:
		return nil, &fault.Refusal{
			Code: 125,
			Msg:  fmt.Sprintf("%q is %s, and not %s", h.folder, h.rec.Owner, o),
			Hint: "inner home list",
		}
	}
	return h, nil
}

// open makes the folders of the home, and holds them.
func (h *Home) open(innerHome string) (err error) {
	for try := 0; h.gate == nil; try++ {
		for _, dir := range []string{innerHome, Base(innerHome), h.folder, h.Dir} {
			if err := files.Folder(dir); err != nil {
				return fmt.Errorf("the home of the box: %w", err)
			}
		}
		if err := h.hold(); err != nil && (!errors.Is(err, fs.ErrNotExist) || try == 8) {
			return err // what was removed while this waited is made again
		}
	}
	now := time.Now()
	if err := os.Chtimes(h.gate.Name(), now, now); err != nil {
		return err
	}
	// Boxes can change the mode of what they see as their home.
	if err := os.Chmod(h.Dir, 0o700); err != nil {
		return err
	}
	if h.root, err = unix.Open(h.Dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
		return &fs.PathError{Op: "open", Path: h.Dir, Err: err}
	}
	return nil
}

// hold waits for others that prepare a box with this home.
func (h *Home) hold() (err error) {
	if h.gate == nil {
		h.gate, err = owned.Lock(filepath.Join(h.folder, "lock"), unix.LOCK_EX)
	}
	return err
}

// HeldBy has others wait for the home until a program ends, also when that is after this process.
func (h *Home) HeldBy(cmd *exec.Cmd) { cmd.ExtraFiles = append(cmd.ExtraFiles, h.gate) }

func (h *Home) release() {
	h.gate.Close()
	h.gate = nil
}

// Close lets go of the home. What is in it stays.
func (h *Home) Close() {
	h.release()
	h.running.Close()
	if h.root >= 0 {
		_ = unix.Close(h.root)
	}
	h.running, h.root = nil, -1
}

// mostPoints is how many places are kept for runs to come: each costs every start a mount.
const mostPoints = 64

// Busy is why Ready makes nothing: another box works in the home, and could exchange these places while bwrap mounts
// there.
type Busy struct {
	error
	Places []Point
}

func (b *Busy) Unwrap() error { return b.error }

// Ready makes the places where this run mounts something, and lets other runs begin. Until
// it has returned nil no box may start. It may be called again with other places.
func (h *Home) Ready(want []Point) error {
	if err := h.hold(); err != nil {
		return err
	}
	h.running.Close() // it may be of an earlier Ready
	fresh := slices.DeleteFunc(slices.Clone(want), func(p Point) bool { return slices.Contains(h.rec.Points, p) })
	all := slices.Concat(h.rec.Points, fresh)
	undone := slices.DeleteFunc(slices.Clone(all),
		func(p Point) bool { return h.has(p) && slices.Contains(h.rec.Points, p) })
	if len(undone) > 0 {
		if InUse(h.folder) {
			return &Busy{&fault.Refusal{
				Code: 125,
				Msg:  fmt.Sprintf("another box works in %s, and this one would be the first to have ~/%s there: that place can be made only while no box runs", h.Owner, undone[0].Path),
				Hint: "end the other run and start this one: both can run at once from then on",
			}, undone}
		}
		if len(all) > mostPoints {
			all = want
		}
		for _, p := range all {
			if err := h.place(p); err != nil {
				return err
			}
		}
		h.rec.Points = all
		if err := h.rec.Write(h.folder); err != nil {
			return err
		}
	}
	var err error
	if h.running, err = owned.Lock(filepath.Join(h.folder, "running"), unix.LOCK_SH); err == nil {
		h.release()
	}
	return err
}

// Write makes it that of a folder.
func (r Record) Write(folder string) error {
	r.Identity = files.Identity(unix.AT_FDCWD, r.Project)
	r.Project, r.Began = paths.Text(r.Project), paths.Text(r.Began)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, "home.json"), append(data, '\n'), 0o600)
}

// maxRecord bounds the files about a home.
const maxRecord = 8 << 20

// ReadRecord reads whose the home of a folder is, and what was put there.
func ReadRecord(folder string) (Record, error) {
	var r Record
	data, err := files.Read(filepath.Join(folder, "home.json"), files.NoLinks, maxRecord)
	if err != nil {
		return r, err
	}
	var errs [2]error
	err = json.Unmarshal(data, &r)
	r.Project, errs[0] = paths.OfText(r.Project)
	r.Began, errs[1] = paths.OfText(r.Began)
	if err := errors.Join(err, errs[0], errs[1]); err != nil {
		return r, &fault.Refusal{
			Code: 125,
			Msg:  fmt.Sprintf("%q is damaged: %v", filepath.Join(folder, "home.json"), err),
			Hint: "inner home reset --of " + filepath.Base(folder),
		}
	}
	return r, nil
}

// InUse reports whether a box runs with the home of a folder.
func InUse(folder string) bool { return owned.Held(filepath.Join(folder, "running")) }
