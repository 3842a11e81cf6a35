package ownhome

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
)

// put is what inner put into a home in one place: the hash of what it was made of, and of
// what is there since.
type put struct {
	From, Is string
	Used     bool `json:",omitempty"` // see Item
}

// Item is a file that the host gives a home, or with ModeDir a folder.
type Item struct {
	Path    string // below the home
	Data    []byte
	Mode    fs.FileMode
	Entries bool // the box changes some of it: what the host has is kept, as the base of the next time
	// Settle says what it is to hold where a box has changed it, nil for what it has. base
	// is what the host had when that was put there, as far as it is known. Without it the
	// host's counts.
	Settle func(base, kept []byte) []byte
	// Used says that the file is in the place of one with a login that the box cannot read;
	// without Data the box's own stays. What boxes of one kind have there, those of the
	// other kind never see, but for the box's own where the host has none, which Alone says,
	// and what Keep has of it in Data: logins of the box's own.
	Used, Alone bool
	Keep        func(kept []byte) []byte
}

// maxStaged bounds a file that is compared with the one in the home.
const maxStaged = 32 << 20

// Stage puts what fill gives into the home, a folder before what is in it, over what is
// there. A file that an earlier run put there and that is not given any more is removed,
// unless a box has changed it. label keeps apart what different callers put there.
func (h *Home) Stage(label string, fill func(put func(Item) error) error) error {
	all, err := h.staged()
	if err != nil {
		return err
	}
	old, now := all[label], map[string]put{}
	err = fill(func(it Item) (err error) {
		if it.Mode.IsDir() {
			return h.Folder(it.Path)
		}
		now[it.Path], err = h.put(it, "base", old[it.Path])
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

// put puts one file there, and keeps below a folder what the host has. What cannot be read
// of the box's is not decided about: it is moved aside.
func (h *Home) put(it Item, bases string, old put) (put, error) {
	is, data := put{From: hash(it.Data), Used: it.Used}, it.Data
	kept, err := h.Read(it.Path, maxStaged)
	if it.Used != old.Used && !it.Alone {
		if err := h.otherKind(it.Path); err != nil {
			return is, err
		}
		if err == nil && it.Keep != nil && it.Data != nil {
			data = it.Keep(kept)
		}
		kept, err = nil, fs.ErrNotExist
	}
	if it.Used && it.Data == nil {
		if err == nil && hash(kept) == old.Is { // of a login that is none any more
			return is, h.Remove(it.Path)
		}
		return is, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if err := h.moveAside(it.Path); err != nil {
			return is, err
		}
		kept = nil
	}
	base := filepath.Join(h.folder, bases, it.Path)
	if kept != nil && (it.Used || hash(kept) != old.Is) && it.Settle != nil {
		was := it.Data
		if is.From != old.From {
			was, _ = files.Read(base, files.NoLinks, maxStaged)
		}
		data = it.Settle(was, kept)
	}
	switch {
	case data == nil:
		is.Is = old.Is // the box's own
	case it.Used || bytes.Equal(data, it.Data): // else some of it is the box's own
		is.Is = hash(data)
	}
	st, err := copytree.Lstat(h.root, it.Path)
	asIs := err == nil && st.Mode == unix.S_IFREG|uint32(it.Mode) && kept != nil && bytes.Equal(data, kept)
	if data != nil && !asIs {
		if err := h.Write(it.Path, data, it.Mode); err != nil {
			return is, err
		}
	}
	if !it.Entries || is.From == old.From && files.Exists(base) {
		return is, nil
	}
	if err := os.MkdirAll(filepath.Dir(base), 0o700); err != nil {
		return is, err
	}
	return is, files.Write(base, it.Data, 0o600) // last: after a crash the host's change comes again
}

// Login reports whether there is a login, or what a box made of it, in the place that a label has for it, and whether
// it is Used.
func (h *Home) Login(label, rel string) (is, used bool) {
	all, _ := h.staged()
	was, is := all[label][rel]
	return is, was.Used
}

// InUse reports whether another box has the home.
func (h *Home) InUse() bool { return InUse(h.folder) }

// Stored is the place of a file of that name that no box sees.
func (h *Home) Stored(name string) string { return filepath.Join(h.folder, name) }

// Secret is text that no box sees, and that is made when it is first wanted. Of a home whose folder cannot be written it
// is another one each time.
func (h *Home) Secret() string {
	at, text := h.Stored("secret"), rand.Text()
	if data, _ := files.Read(at, files.NoLinks, maxRecord); len(data) >= len(text) {
		return string(data)
	}
	_ = files.Write(at, []byte(text), 0o600)
	return text
}

// otherKind takes away a file of the other kind: see Item.Used.
func (h *Home) otherKind(rel string) error {
	if InUse(h.folder) {
		return &fault.Refusal{
			Code: 125,
			Msg:  fmt.Sprintf("another box works in %s, and of that and this one only one has a copy of the login in ~/%s", h.Owner, rel),
			Hint: "end the other run and start this one, or write the same in [credentials] of both",
		}
	}
	return h.Remove(rel)
}

// unstage takes away what is not among what was put there now.
func (h *Home) unstage(old, now map[string]put) error {
	for rel, was := range old {
		if _, ok := now[rel]; ok {
			continue
		}
		if was.Used { // the host has none
			now[rel] = was
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
