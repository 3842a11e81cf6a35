// Package runlog keeps what happened: one JSON line per event (a run, a
// refusal, a bypass) in logs/events.jsonl below INNER_HOME, 0600. Arguments
// and values of variables are never written.
package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxSize is when the file is set aside; one older file is kept.
const maxSize = 4 << 20

// Event is one line.
type Event struct {
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"` // "run", "refused", "bypass"
	Run     string    `json:"run,omitempty"`
	Profile string    `json:"profile,omitempty"`
	Path    string    `json:"path,omitempty"` // of the profile
	Command string    `json:"command,omitempty"`
	Cwd     string    `json:"cwd,omitempty"`
	Code    int       `json:"code"`
	Millis  int64     `json:"ms,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// Append adds one event to the log in dir, which it creates.
func Append(dir string, e Event) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	path := filepath.Join(dir, "events.jsonl")
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if fi, err := f.Stat(); err == nil && fi.Size() > maxSize {
		// Two writers may both rename; the second moves a short file, and no
		// line is torn: each is one write to whatever file is open.
		err = os.Rename(path, path+".1")
		if err != nil {
			return errors.Join(fmt.Errorf("log: %w", err), f.Close())
		}
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
