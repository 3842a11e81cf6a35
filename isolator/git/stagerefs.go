package git

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// What all work trees of a repository share in the box: settings, refs, logs, objects.

// config gives the box a writable copy of the repository's configuration without logins. It turns
// off the forms of the index that inner does not read back.
func (s *stager) config() error {
	about := "The settings of this repository as the box has them. What is written here stays with the box."
	text := string(configText(about, s.copy.clean(s.repo.config)))
	text += "[index]\n\tsparse = false\n[core]\n\tsplitIndex = false\n\tfsmonitor = false\n"
	s.unit.Config = text
	return s.to.create("config", []byte(text))
}

// refs gives the box the refs as one packed file, since a file for each would take most of the time of the start. Only
// refs that cannot be packed stay files, and the branch of HEAD, which some tools look for without git.
func (s *stager) refs() error {
	c, u := s.copy, s.unit
	loose, files, err := s.loose()
	if err != nil {
		return err
	}
	text, err := s.from.readText("packed-refs")
	if err := unlessMissing(err); err != nil {
		return err
	}
	if len(loose) > 0 {
		if text, err = withRefs(text, loose, u.Digits); err != nil {
			return unfit(err.Error())
		}
	}
	if packed := []byte(text); len(packed) > 0 {
		if err := errors.Join(s.to.create("packed-refs", packed), c.state.create(u.baseName(), packed)); err != nil {
			return err
		}
	}
	var log strings.Builder
	for name, value := range files {
		if err := errors.Join(s.to.mkdir(filepath.Dir(name)), s.to.create(name, []byte(value+"\n"))); err != nil {
			return err
		}
		log.WriteString("=" + name + " " + value + "\n")
	}
	return c.state.create(u.baseName()+".log", []byte(log.String()))
}

// loose reads the host's refs that are files: those that can be packed, and those that stay files.
func (s *stager) loose() (packed, files refs, err error) {
	head, _ := s.from.head("HEAD", s.unit.Digits) // without one mainView refuses
	packed, files = refs{}, refs{}
	err = looseRefs(s.from, s.unit.Digits, func(name, value, odd string) error {
		switch {
		case odd == "is a link":
			return unfit("the ref " + plainText(name, 100) + " is a link")
		case odd != "":
		case isSymbolic(value) || head == "ref: "+name || refName(name) != "":
			files[name] = value
		default:
			packed[name] = value
		}
		return nil
	})
	return packed, files, err
}

// logs copies the reflogs. When there are too many, it copies those of HEAD and the stash, and some of the others.
func (s *stager) logs() error {
	if !s.from.isDir("logs") {
		return nil
	}
	if err := s.to.mkdir("logs/refs"); err != nil {
		return err
	}
	if err := s.copyText("logs/HEAD", maxLog); err != nil {
		return err
	}
	switch err := s.refLogs(); {
	case errors.Is(err, errTooMany) || errors.Is(err, errTooLarge):
		s.copy.Notes = append(s.copy.Notes, "not all logs of refs are in the box: there are too many")
		return nil
	case unlessMissing(err) != nil && present(err) == nil:
		return unfit("a log of a ref is not a plain file")
	default:
		return unlessMissing(err)
	}
}

// refLogs copies the reflogs of refs, that of the stash first, until there are too many.
func (s *stager) refLogs() error {
	const stash = "logs/" + stashRef
	if data, err := s.from.read(stash, maxLog); err == nil {
		s.unit.Stash = stashDigest(data)
	}
	total, err := s.text(stash, maxLog)
	if err := unlessMissing(err); err != nil {
		return err
	}
	files := 0
	return s.from.copyTree("logs/refs", s.to, maxRefs, func(name string) error {
		if name == stash {
			return nil
		}
		if files++; files > maxFiles || total > maxLogs {
			return errTooMany
		}
		n, err := s.text(name, maxLog)
		total += n
		return err
	})
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ignore adds the caller's patterns to those of the repository.
func (s *stager) ignore() error {
	const name = "info/exclude"
	if len(s.copy.ignored) == 0 {
		return nil
	}
	old, err := s.to.read(name, maxSmall)
	if err := errors.Join(unlessMissing(err), s.to.remove(name)); err != nil {
		return err
	}
	return s.to.create(name, append(old, "\n"+strings.Join(s.copy.ignored, "\n")+"\n"...))
}

// common copies what all worktrees share apart from refs and objects.
func (s *stager) common() error {
	for _, name := range []string{"shallow", "info/exclude", "info/attributes", "info/sparse-checkout"} {
		if err := s.copyText(name, maxSmall); err != nil {
			return err
		}
	}
	if err := errors.Join(s.ignore(), s.hooks()); err != nil {
		return err
	}
	s.unit.Files = settingsOf(s.to)
	return nil
}

// hooks copies the hooks.
func (s *stager) hooks() error {
	list, err := s.from.list("hooks", maxFiles)
	if err != nil {
		return nil // none, or a link, which only the host follows
	}
	for _, e := range list {
		name := "hooks/" + e.Name()
		if strings.HasSuffix(name, ".sample") || !e.Type().IsRegular() {
			continue
		}
		st, err := s.from.stat(name)
		if err != nil {
			continue
		}
		if _, err := s.from.copyFile(name, s.to, name, maxSmall, st.Mode&0o700|0o600); err != nil && !errors.Is(err, errTooLarge) {
			return err
		}
	}
	return nil
}

// settingsOf returns the digests of the hooks and of the files in info.
func settingsOf(d *folder) map[string]string {
	out := map[string]string{}
	for _, dir := range []string{"hooks", "info"} {
		list, err := d.listIfThere(dir, maxFiles)
		if err != nil {
			out[dir] = "not a folder of files"
		}
		for _, e := range list {
			name := dir + "/" + e.Name()
			if strings.HasSuffix(name, ".sample") { // `git init` makes them; nothing obeys them
				continue
			}
			data, err := d.read(name, maxSmall)
			if err != nil {
				out[name] = "not a plain file"
				continue
			}
			out[name] = digest(data)
		}
	}
	return out
}

// stores lets the box read the host's objects.
func (s *stager) stores() error {
	c, place := s.copy, fmt.Sprintf("%s/%d/0", s.copy.objects, s.unit.N)
	c.show(filepath.Join(s.repo.Common, "objects"), place+"/objects")
	lfs := filepath.Join(s.repo.Common, "lfs")
	if fi, err := os.Lstat(lfs); err == nil && fi.IsDir() {
		c.show(lfs, place+"/lfs")
	}
	held := fmt.Sprintf("%s/%d", holdFolder, s.unit.N)
	text := place + "/objects\n" + c.objects + "/" + held + "\n"
	return errors.Join(c.dir.mkdir(held), s.to.create("objects/info/alternates", []byte(text)))
}
