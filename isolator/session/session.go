// Package session keeps what calls of one session share: the box's /tmp, and the folder
// that the last command line ended in. Each session is of one user, project and profile,
// and has a folder of its own below INNER_HOME/sessions, which no box can see.
//
//	s, err := session.Open(base, session.Key{ID: "s1", Project: "/home/u/app", Profile: "/home/u/.inner/profiles/guest.toml"})
//	defer s.Close()
//	... s.Tmp is bound as /tmp ...
//	s.Ended()
//
// What the programs of a box have left in the /tmp of a session is theirs: nothing here
// follows a link in it, and the one file that is read of it is a text that only the box uses.
package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/owned"
	"github.com/enr/inner/isolator/stage"
)

// Idle is how long a session that nobody uses is kept.
const Idle = 12 * time.Hour

// most is how many sessions one user may have.
const most = 1000

// LastFile is where a command line leaves the folder that it ended in, by the box path of the
// session's /tmp.
const LastFile = "/tmp/" + lastName

const (
	lastName = ".inner-folder"
	maxPath  = 4096
)

// Key is what tells one session from another.
type Key struct {
	ID      string `json:"id"`
	Project string `json:"project"` // its root, or the folder of the calls outside of a project
	Profile string `json:"profile"` // the file of it
}

// Check says what is wrong with an id.
func (k Key) Check() error {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if k.ID == "" || len(k.ID) > 64 || strings.ContainsFunc(k.ID, func(r rune) bool { return !ok(r) }) {
		return fault.Refuse(2, "", "session %q is not 1 to 64 letters, digits, _ and -", k.ID)
	}
	return nil
}

// folder is the name of the folder of a session.
func (k Key) folder() string {
	sum := sha256.Sum256([]byte(k.Project + "\x00" + k.Profile))
	return k.ID + "." + hex.EncodeToString(sum[:8])
}

// Session is one that is in use, and so is not swept.
type Session struct {
	Key
	Tmp  string // host path of the /tmp
	Last string // the folder the last command line ended in, a box path; "" before the first
	Dir  string // its folder, which no box sees

	lock *os.File
}

// Open takes a session into use, and makes it when there is none of that key.
func Open(base string, k Key) (*Session, error) {
	if err := k.Check(); err != nil {
		return nil, err
	}
	s, err := open(base, k)
	if err != nil && fault.AsRefusal(err) == nil {
		err = &fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: fmt.Sprintf("session %q: %v", k.ID, err), Hint: "look at " + base}
	}
	return s, err
}

func open(base string, k Key) (*Session, error) {
	if err := files.Folder(base); err != nil {
		return nil, fmt.Errorf("the folder of sessions: %w", err)
	}
	gate, err := owned.Gate(base) // nobody opens or ends one meanwhile
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	s := &Session{Key: k, Dir: filepath.Join(base, k.folder())}
	s.Tmp = filepath.Join(s.Dir, "tmp")
	if _, err := os.Lstat(filepath.Join(s.Dir, "about.json")); errors.Is(err, fs.ErrNotExist) {
		if err := s.create(base); err != nil {
			return nil, errors.Join(err, stage.Discard(filepath.Dir(base), s.Dir))
		}
	}
	if err := errors.Join(files.Folder(s.Dir), files.Folder(s.Tmp), os.Chmod(s.Tmp, 0o700)); err != nil { // whatever a call made of its mode
		return nil, err
	}
	if s.lock, err = owned.Lock(filepath.Join(s.Dir, "lock"), unix.LOCK_SH); err != nil {
		return nil, err
	}
	Use(s.Dir)
	if text, err := os.ReadFile(filepath.Join(s.Dir, "last")); err == nil && usable(string(text)) {
		s.Last = string(text)
	}
	return s, nil
}

// Use notes that the session in dir is used now, and Used says when that was.
func Use(dir string) {
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, "lock"), now, now)
}

// Used is when a session was used last, or zero for one that is gone.
func Used(dir string) time.Time {
	fi, err := os.Lstat(filepath.Join(dir, "lock"))
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

// create makes the folder of a session, whose gate is held.
func (s *Session) create(base string) error {
	if entries, err := os.ReadDir(base); err != nil || len(entries) > most {
		return errors.Join(err, fmt.Errorf("there are %d sessions; inner stop removes one", len(entries)-1))
	}
	about, err := json.Marshal(s.Key)
	if err != nil {
		return err
	}
	if err := errors.Join(files.Folder(s.Dir), files.Folder(s.Tmp)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Dir, "about.json"), about, 0o600)
}

// Ended notes the folder that a command line ended in, when it left one.
func (s *Session) Ended() {
	tmp, err := unix.Open(s.Tmp, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(tmp)
	f, _, err := copytree.Regular(tmp, lastName)
	if err != nil {
		return
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPath))
	if err != nil {
		return
	}
	_ = unix.Unlinkat(tmp, lastName, 0)
	if dir := strings.TrimSuffix(string(text), "\n"); usable(dir) {
		s.Last = dir
		_ = files.Write(filepath.Join(s.Dir, "last"), []byte(dir), 0o600)
	}
}

// usable reports whether a text can be where a program starts. It is the box's word, and is
// used in the box alone.
func usable(dir string) bool {
	return filepath.IsAbs(dir) && len(dir) < maxPath && utf8.ValidString(dir) && !strings.ContainsAny(dir, "\x00\n")
}

// Close ends the use of a session.
func (s *Session) Close() { s.lock.Close() }

// Info is a session as it is listed.
type Info struct {
	Key
	Used time.Time `json:"used"` // when it was used last
	Busy bool      `json:"busy"` // a call runs in it
	Box  bool      `json:"box"`  // it has a box that lives on

	dir string
}

// List returns the sessions of a user, by id, project and profile.
func List(base string) ([]Info, error) {
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Info
	for _, e := range entries {
		it := Info{dir: filepath.Join(base, e.Name())}
		text, err := os.ReadFile(filepath.Join(it.dir, "about.json"))
		if strings.HasPrefix(e.Name(), ".") || err != nil || json.Unmarshal(text, &it.Key) != nil {
			continue
		}
		if it.Used = Used(it.dir); it.Used.IsZero() {
			continue
		}
		it.Busy, it.Box = owned.Alive(it.dir), hasBox(it.dir)
		out = append(out, it)
	}
	slices.SortFunc(out, func(a, b Info) int {
		return strings.Compare(a.ID+"\x00"+a.Project+"\x00"+a.Profile, b.ID+"\x00"+b.Project+"\x00"+b.Profile)
	})
	return out, err
}

// End removes the sessions that which picks, and returns them. One that a call runs in is
// left, with Busy.
func End(base string, which func(Info) bool) (ended []Info, err error) {
	if !files.Exists(base) {
		return nil, nil
	}
	gate, err := owned.Gate(base)
	if err != nil {
		return nil, err
	}
	var frees []func() error
	defer func() { // others need not wait for this
		gate.Close()
		for _, free := range frees {
			err = errors.Join(err, free())
		}
	}()
	all, err := List(base)
	for _, it := range all {
		if !which(it) {
			continue
		}
		if !it.Busy { // whoever opens it waits at the gate
			if err := endBox(it.dir); err != nil {
				return ended, fmt.Errorf("session %q: %w", it.ID, err)
			}
			free, err := owned.Discard(it.dir, stage.Copies(filepath.Dir(base)))
			if err != nil {
				return ended, err
			}
			frees = append(frees, free)
		}
		ended = append(ended, it)
	}
	return ended, err
}

// Sweep ends the sessions that were not used for so long.
func Sweep(base string, idle time.Duration) error {
	before := time.Now().Add(-idle)
	_, err := End(base, func(it Info) bool { return !it.Busy && it.Used.Before(before) })
	return err
}
