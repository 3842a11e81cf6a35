package records

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/enr/inner/isolator/runlog"
)

// CastEvent is one event of a recording: output, or a resize when Cols is not 0.
type CastEvent struct {
	When       time.Duration
	Output     string
	Cols, Rows int
}

// maxCastLine is the longest line that is read of a recording.
const maxCastLine = 8 << 20

// ReadCast reads a recording and hands over its events in order; the first is the size that it
// began with. A last line that was torn when the run was killed is passed over.
func ReadCast(r io.Reader, each func(CastEvent) error) error {
	var h runlog.Header
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxCastLine)
	if !s.Scan() {
		return errors.Join(errors.New("the recording is empty"), s.Err())
	}
	if err := json.Unmarshal(s.Bytes(), &h); err != nil || h.Version != 2 {
		return errors.New("not a recording (asciicast v2)")
	}
	if err := each(CastEvent{Cols: h.Width, Rows: h.Height}); err != nil {
		return err
	}
	for s.Scan() {
		var when float64
		var kind, data string
		if err := json.Unmarshal(s.Bytes(), &[]any{&when, &kind, &data}); err != nil {
			continue
		}
		m := CastEvent{When: time.Duration(when * float64(time.Second))}
		switch kind {
		case "o":
			m.Output = data
		case "r":
			if _, err := fmt.Sscanf(data, "%dx%d", &m.Cols, &m.Rows); err != nil {
				continue
			}
		default:
			continue
		}
		if err := each(m); err != nil {
			return err
		}
	}
	return s.Err()
}
