package stage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/owned"
)

// takeOver gives each run of a version before that was killed a record, for Sweep. That version noted all runs in one
// file, with the folder of the run behind what a line of a record has. While one of them lives it is that version's.
func takeOver(innerHome string) error {
	journal := filepath.Join(innerHome, "borrowed")
	if !files.Exists(journal) {
		return nil
	}
	gate, err := owned.Gate(records(innerHome))
	if err != nil {
		return err
	}
	defer gate.Close()
	data, err := os.ReadFile(journal)
	texts := map[string]string{}
	for line := range strings.Lines(string(data)) {
		at := strings.LastIndexByte(line, '\t') + 1
		run, torn := strconv.Unquote(strings.TrimSuffix(line[at:], "\n"))
		if torn != nil {
			continue
		}
		if owned.Alive(run) {
			return nil
		}
		texts[filepath.Base(run)] += line[:max(at-1, 0)] + "\n"
	}
	for id, text := range texts {
		dir := filepath.Join(records(innerHome), id)
		err = errors.Join(err, os.MkdirAll(dir, 0o700), files.Write(recordOf(dir), []byte(text), 0o600))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // else another start was first
		return err
	}
	return errors.Join(os.RemoveAll(journal), os.RemoveAll(journal+".lock"))
}
