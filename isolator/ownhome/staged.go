package ownhome

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
)

// put is what inner put into a home in one place: the hash of what it was made of, and of
// what is there since.
type put struct{ From, Is string }

// Decide says what a file of the home is to hold.
type Decide func(rel string, f Found) Decision

// Found is what there is of a file: what the host has, and had when inner put it there, and
// what is there now; nil for nothing. KeptSame says that this is as inner put it.
type Found struct {
	Base, Fresh, Kept   []byte
	FreshSame, KeptSame bool
}

// Decision is what a file is to hold; nil leaves what is there. Of one with Entries what the
// host has is kept, as the Base of the next time.
type Decision struct {
	Data    []byte
	Entries bool
}

// maxStaged bounds a file that is compared with the one in the home.
const maxStaged = 32 << 20

// Stage puts the folders and files of a private folder into the home, over what is there. A
// file that an earlier run put there and that the host no longer has is removed, unless a box
// has changed it. label keeps apart what different callers put there.
func (h *Home) Stage(label, from string, decide Decide) error {
	all, err := h.staged()
	if err != nil {
		return err
	}
	old, now := all[label], map[string]put{}
	err = filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(from, p)
		switch {
		case err != nil || rerr != nil:
			return errors.Join(err, rerr)
		case rel == ".":
			return nil
		case d.IsDir():
			return h.place(Point{Path: rel})
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		fresh, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		now[rel], err = h.put(rel, fresh, fi.Mode().Perm(), old[rel], decide)
		return err
	})
	if err != nil {
		return err
	}
	if err := h.unstage(old, now); err != nil {
		return err
	}
	all[label] = now
	return h.writeStaged(all)
}

func (h *Home) writeStaged(all map[string]map[string]put) error {
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(h.folder, "staged.json"), data, 0o600)
}

// put puts one file there. What cannot be read of the box's is not decided about: it is moved aside.
func (h *Home) put(rel string, fresh []byte, mode fs.FileMode, old put, decide Decide) (put, error) {
	kept, err := h.Read(rel, maxStaged)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if err := h.moveAside(rel); err != nil {
			return put{}, err
		}
		kept = nil
	}
	write := func(data []byte) error {
		if kept != nil && bytes.Equal(data, kept) {
			if st, err := copytree.Lstat(h.root, rel); err == nil && st.Mode == unix.S_IFREG|uint32(mode) {
				return nil
			}
		}
		return h.Write(rel, data, mode)
	}
	return settle(filepath.Join(h.folder, "base", rel), fresh, kept, old, func(f Found) Decision { return decide(rel, f) }, write)
}

// settle has it decided what a file holds, writes that, and keeps at base what the host has.
func settle(base string, fresh, kept []byte, old put, decide func(Found) Decision, write func([]byte) error) (put, error) {
	is := put{From: hash(fresh)}
	f := Found{Base: fresh, Fresh: fresh, Kept: kept, FreshSame: is.From == old.From, KeptSame: kept != nil && hash(kept) == old.Is}
	if !f.FreshSame {
		f.Base, _ = files.Read(base, files.NoLinks, maxStaged)
	}
	to := decide(f)
	switch {
	case to.Data == nil:
		is.Is = old.Is // the box's own
	case bytes.Equal(to.Data, fresh): // else some of it is the box's own
		is.Is = hash(fresh)
	}
	if to.Data != nil {
		if err := write(to.Data); err != nil {
			return is, err
		}
	}
	if !to.Entries || f.FreshSame && files.Exists(base) {
		return is, nil
	}
	if err := os.MkdirAll(filepath.Dir(base), 0o700); err != nil {
		return is, err
	}
	return is, files.Write(base, fresh, 0o600) // last: after a crash the host's change comes again
}

// unstage takes away what is not among what was put there now.
func (h *Home) unstage(old, now map[string]put) error {
	for rel, was := range old {
		if _, ok := now[rel]; ok {
			continue
		}
		kept, err := h.Read(rel, maxStaged)
		if err != nil || hash(kept) != was.Is {
			continue
		}
		if err := h.Remove(rel); err != nil {
			return err
		}
	}
	return nil
}

// staged reads staged.json: by label and path. A damaged one counts as empty: then every
// file is the box's own.
func (h *Home) staged() (map[string]map[string]put, error) {
	all := map[string]map[string]put{}
	data, err := files.Read(filepath.Join(h.folder, "staged.json"), files.NoLinks, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &all) != nil {
		all = map[string]map[string]put{}
	}
	return all, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
