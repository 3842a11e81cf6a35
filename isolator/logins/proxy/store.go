package proxy

// The file in which an agent keeps a login that it renews: read anew when it changes, and
// written as the agent does.

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/logins"
)

const (
	maxStore = 1 << 20
	maxToken = 8 << 10
)

// tokens are what a store holds, and what an answer does.
type tokens struct {
	access, refresh, id string
	scope, client       string
	ends                time.Time // of access; zero where nothing says so
}

// store is such a file. No link is followed to it: what became one since the start is
// neither read nor written.
type store struct {
	logins.OAuth
	root int // the folder /
}

// stamp changes with each version of the file.
func (s *store) stamp() (unix.Stat_t, error) {
	st, err := copytree.Lstat(s.root, s.Path[1:])
	st.Atim = unix.Timespec{}
	return st, err
}

func (s *store) read() (t tokens, doc map[string]any, err error) {
	data, err := copytree.Read(s.root, s.Path[1:], maxStore)
	if err != nil {
		return t, nil, err
	}
	if doc, err = object(data); err != nil {
		return t, nil, err
	}
	text := func(path string) string {
		v, _ := get(doc, path).(string)
		if !token(v) {
			return ""
		}
		return v
	}
	t = tokens{access: text(s.Access), refresh: text(s.Refresh), id: text(s.ID), client: text(s.Of)}
	switch list := get(doc, s.Scope).(type) {
	case string:
		t.scope = list
	case []any:
		var words []string
		for _, v := range list {
			word, _ := v.(string)
			words = append(words, word)
		}
		t.scope = strings.Join(words, " ")
	}
	if n, ok := get(doc, s.Expires).(json.Number); ok {
		ms, _ := n.Int64()
		t.ends = time.UnixMilli(ms)
	} else {
		t.ends = jwtEnd(t.access)
	}
	return t, doc, nil
}

// token reports whether a text can be a token: one of a few characters would be met by chance.
func token(s string) bool {
	return len(s) >= 8 && len(s) <= maxToken && !strings.ContainsFunc(s,
		func(c rune) bool { return c <= ' ' || c >= 0x7f })
}

// jwtEnd is when a JWT ends; zero for any other text.
func jwtEnd(text string) time.Time {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	data, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct{ Exp int64 }
	if json.Unmarshal(data, &claims) != nil || claims.Exp == 0 {
		return time.Time{}
	}
	return time.Unix(claims.Exp, 0)
}

// object reads one of JSON, whose numbers keep their digits.
func object(data []byte) (doc map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err = d.Decode(&doc); err == nil && doc == nil {
		err = errors.New("it is null")
	}
	return doc, err
}

// get is what a dotted path leads to; nil for nothing.
func get(doc map[string]any, path string) any {
	first, rest, more := strings.Cut(path, ".")
	if !more {
		return doc[first]
	}
	inner, _ := doc[first].(map[string]any)
	return get(inner, rest)
}

// set puts a value there, with the tables on the way.
func set(doc map[string]any, path string, v any) {
	first, rest, more := strings.Cut(path, ".")
	if !more {
		doc[first] = v
		return
	}
	inner, ok := doc[first].(map[string]any)
	if !ok {
		inner = map[string]any{}
		doc[first] = inner
	}
	set(inner, rest, v)
}

// errChanged says that the login of the file is another one now.
var errChanged = errors.New("it was changed meanwhile")

// pending is a file that will take the place of the store: it is made before a service is
// asked, so that nothing is renewed that could not be kept.
type pending struct {
	s    *store
	dir  *os.File // locked: for others of us
	name string
	file *os.File
}

const tempName = ".inner-login" // one, which the next renewal takes away when this one is killed

func (s *store) begin() (_ *pending, err error) {
	p := &pending{s: s, name: filepath.Base(s.Path)}
	fd, err := copytree.Open(s.root, filepath.Dir(s.Path)[1:], unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	p.dir = os.NewFile(uintptr(fd), "")
	if err = files.FlockFD(fd, unix.LOCK_EX); err == nil {
		_ = unix.Unlinkat(fd, tempName, 0)
		var to int
		const fresh = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if to, err = unix.Openat(fd, tempName, fresh, 0o600); err == nil {
			p.file = os.NewFile(uintptr(to), "")
			if err = p.reserve(); err == nil {
				return p, nil
			}
			p.close()
			return nil, err
		}
	}
	p.dir.Close()
	return nil, err
}

// reserve takes the room on the disk that the store will need: bytes that are there, since
// one may have a quota.
func (p *pending) reserve() error {
	st, err := p.s.stamp()
	if err != nil {
		return err
	}
	_, err = p.file.Write(make([]byte, st.Size+3*maxToken))
	return errors.Join(err, p.file.Sync())
}

// close takes away what was not put in place.
func (p *pending) close() {
	p.file.Close()
	_ = unix.Unlinkat(int(p.dir.Fd()), tempName, 0)
	p.dir.Close()
}

// write puts the new tokens into the store, if it still has the old ones. All else in it
// stays as it is.
func (p *pending) write(old, now tokens) error {
	s := p.s
	same := func() (doc map[string]any, err error) {
		is, doc, err := s.read()
		if err == nil && (is.access != old.access || is.refresh != old.refresh) {
			err = errChanged
		}
		return doc, err
	}
	doc, err := same()
	if err != nil {
		return err
	}
	set(doc, s.Access, now.access)
	set(doc, s.Refresh, now.refresh)
	if s.ID != "" && now.id != "" {
		set(doc, s.ID, now.id)
	}
	if s.Expires != "" {
		set(doc, s.Expires, now.ends.UnixMilli())
	}
	if s.Renewed != "" {
		set(doc, s.Renewed, time.Now().UTC().Format(time.RFC3339Nano))
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	st, err := s.stamp()
	if err != nil {
		return err
	}
	_, wrote := p.file.WriteAt(append(data, '\n'), 0)
	cut, mode := p.file.Truncate(int64(len(data)+1)), p.file.Chmod(os.FileMode(st.Mode&0o777))
	if err := errors.Join(wrote, cut, mode, p.file.Sync()); err != nil {
		return err
	}
	if _, err := same(); err != nil {
		return err
	}
	return unix.Renameat(int(p.dir.Fd()), tempName, int(p.dir.Fd()), p.name)
}

// Of the lock of Claude Code, a folder that its holder touches: when that is dead, and how
// long others are waited for.
const (
	lockStale = 10 * time.Second
	lockTouch = 2 * time.Second
	lockWait  = 15 * time.Second
)

// lock takes the agent's own lock. Others of us are kept apart by begin.
func (s *store) lock(ctx context.Context) (unlock func(), err error) {
	for end := time.Now().Add(lockWait); ; {
		switch s.Lock {
		case "":
			return func() {}, nil
		case "folder":
			unlock, err = lockFolder(s.Folder + ".lock")
		default:
			unlock, err = s.lockFile()
		}
		switch {
		case err == nil:
			return unlock, nil
		case !errors.Is(err, os.ErrExist) && !errors.Is(err, unix.EWOULDBLOCK):
			return nil, errors.New("its lock cannot be taken")
		case time.Now().After(end) || pause(ctx) != nil:
			return nil, errors.New("the agent keeps its login locked")
		}
	}
}

func (s *store) lockFile() (unlock func(), err error) {
	fd, err := copytree.Make(s.root, filepath.Join(filepath.Dir(s.Path), s.Lock)[1:], unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return nil, err
	}
	if err = files.FlockFD(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return func() { unix.Close(fd) }, nil
}

// lockFolder is the lock that proper-lockfile makes (npm).
func lockFolder(at string) (unlock func(), err error) {
	if err = os.Mkdir(at, 0o700); err != nil {
		if fi, statErr := os.Lstat(at); statErr == nil && time.Since(fi.ModTime()) > lockStale {
			_ = os.Remove(at) // and the next one takes it
		}
		return nil, err
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case now := <-time.After(lockTouch):
				_ = os.Chtimes(at, now, now)
			}
		}
	}()
	return func() { close(over); <-done; _ = os.Remove(at) }, nil
}

// pause is how long one waits for what others do.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(100 * time.Millisecond):
		return nil
	}
}
