package stage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/owned"
)

// migrate makes records of the journal of the version before, one file for all runs: each line is one of
// a record, and the quoted folder of its run. A run of it that still lives holds its record by the lock
// of that folder.
func migrate(innerHome string) error {
	journal := filepath.Join(innerHome, "borrowed")
	if !files.Exists(journal) {
		return nil
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
	lines := map[string]string{} // by the folder of the run
	for line := range strings.Lines(string(data)) {
		at := max(strings.LastIndexByte(line, '\t'), 0)
		if run, err := strconv.Unquote(strings.TrimSpace(line[at:])); err == nil { // else it is torn
			lines[run] += line[:at] + "\n"
		}
	}
	for run, text := range lines {
		dir := filepath.Join(records(innerHome), filepath.Base(run))
		rec, errRead := readRecord(dir)
		rec.read(text)
		err = errors.Join(err, errRead, os.MkdirAll(dir, 0o700), rec.write(dir))
		if errLink := os.Symlink(filepath.Join(run, "lock"), filepath.Join(dir, "lock")); !errors.Is(errLink, fs.ErrExist) {
			err = errors.Join(err, errLink)
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(journal), os.Remove(lock.Name()))
}
