package stage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/owned"
)

// migrate makes records of the journal of the version before, one file for all runs: each line is a
// quoted path, what it is and the quoted folder of a run. A run of it that still lives holds its
// record by the lock of that folder.
func migrate(innerHome string) error {
	journal := filepath.Join(innerHome, "borrowed")
	if fi, err := os.Lstat(journal); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil || !fi.Mode().IsRegular() {
		return errors.Join(err, fs.ErrInvalid)
	}
	lock, err := owned.Lock(journal+".lock", unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	gate, err := owned.Gate(records(innerHome))
	if err != nil {
		return err
	}
	defer gate.Close()
	data, err := os.ReadFile(journal)
	if err != nil {
		return err
	}
	for run, list := range oldEntries(string(data)) {
		dir := filepath.Join(records(innerHome), filepath.Base(run))
		err = errors.Join(err, os.MkdirAll(dir, 0o700), appendRecord(dir, list))
		if errLink := os.Symlink(filepath.Join(run, "lock"), filepath.Join(dir, "lock")); !errors.Is(errLink, fs.ErrExist) {
			err = errors.Join(err, errLink)
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(journal), os.Remove(lock.Name()))
}

// oldEntries are the entries of a journal, by the folder of the run. A line that is torn is none.
func oldEntries(journal string) map[string][]entry {
	out, watched := map[string][]entry{}, map[string]*Watched{}
	for line := range strings.Lines(journal) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(part) != 3 {
			continue
		}
		path, errPath := strconv.Unquote(part[0])
		run, errRun := strconv.Unquote(part[2])
		if errPath != nil || errRun != nil {
			continue
		}
		if content, err := strconv.Unquote(part[1]); err == nil {
			out[run] = append(out[run], entry{Path: path, Content: &content})
			continue
		} else if part[1] == "dir" {
			out[run] = append(out[run], entry{Path: path})
			continue
		}
		w := watched[run]
		if w == nil {
			w = &Watched{Stood: map[string]string{}}
			watched[run] = w
		}
		word, rest, _ := strings.Cut(part[1], ":")
		switch word {
		case "look":
			nanos, _ := strconv.ParseInt(rest, 10, 64)
			w.Since, w.Roots = time.Unix(0, nanos), append(w.Roots, path)
		case "stood":
			w.Stood[path] = rest
		default:
			lists := map[string]*[]string{
				"obeyed": &w.Obeyed, "guard": &w.Guarded, "unlisted": &w.Unlisted, "before": &w.Before, "named": &w.Named, "paths": &w.Paths,
			}
			if list := lists[word]; list != nil {
				*list = append(*list, path)
			}
		}
	}
	for run, w := range watched {
		out[run] = append(out[run], entry{Watch: w}, entry{Stood: w.Stood})
	}
	return out
}
