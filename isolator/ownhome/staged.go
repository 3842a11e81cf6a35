package ownhome

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
)

// put is what inner put into a home in one place: the hash of what it was made of, and of
// what is there since.
type put struct{ From, Is string }

// Decide says what a file of the home is to hold. fresh is what the host has; kept is what is
// there, nil for nothing. freshSame and keptSame say that it is as it was when inner put the
// file there. A nil result leaves what is there.
type Decide func(rel string, fresh, kept []byte, freshSame, keptSame bool) []byte

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
		if err := h.setAside(rel); err != nil {
			return put{}, err
		}
		kept = nil
	}
	is := put{From: hash(fresh)}
	data := decide(rel, fresh, kept, is.From == old.From, kept != nil && hash(kept) == old.Is)
	if data == nil {
		is.Is = old.Is // the box's own
		return is, nil
	}
	is.Is = hash(data)
	if kept != nil && hash(kept) == is.Is && h.mode(rel) == mode {
		return is, nil
	}
	return is, h.Write(rel, data, mode)
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

func (h *Home) mode(rel string) fs.FileMode {
	dir, err := h.opened(path.Dir(rel))
	if err != nil {
		return 0
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if unix.Fstatat(dir, path.Base(rel), &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0
	}
	return fs.FileMode(st.Mode & 0o777)
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
	for label, list := range all {
		for rel := range list {
			if !filepath.IsLocal(rel) || slices.Contains(strings.Split(rel, "/"), "..") {
				delete(all[label], rel)
			}
		}
	}
	return all, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
