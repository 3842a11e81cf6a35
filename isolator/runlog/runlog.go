// Package runlog keeps what happened.
//
// Every run has a folder of its own, LOGS/RUNID, 0700:
//
//	run.jsonl     JSON lines: what was started (Start), how it ended (End)
//	output.log    what the program wrote to its terminals, as it came
//	session.cast  instead of it, with [output] record: the session, asciicast v2
//
// Beside them is events.jsonl, one line per event (a run, a refusal, a
// bypass), always in INNER_HOME/logs; a refusal and a bypass have no folder.
//
// What it promises: arguments and values of variables are never in a record.
// In what is captured, the values of variables that look like secrets are
// replaced by ***. Input is never captured. A run's captured output is cut at
// MaxOutput; a folder holds at most about MaxRuns runs and MaxTotal bytes,
// oldest gone first. A run that was killed has a start and no end, and its
// lock is free. Nothing is opened through a link that the box could have made.
//
// What it does not: nothing is synced to the disk while a program waits, and a
// secret that a program spells in another way stays as it was spelled.
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

// What is kept at most. A folder is looked through only now and then, so it
// may hold a little more.
const (
	MaxOutput = 16 << 20 // bytes of captured output, per run
	MaxRuns   = 1000     // runs, per folder
	MaxTotal  = 256 << 20
)

// maxSize is when events.jsonl is set aside; one older file is kept.
const maxSize = 4 << 20

// Event is one line of events.jsonl.
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
