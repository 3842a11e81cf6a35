package calls

import (
	"context"
	"io"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/jsonlines"
)

// atOnce is how many calls of one server run side by side; the next line is read when one of
// them has ended.
const atOnce = 256

// Serve reads requests, one JSON object a line, and writes an answer for each, a line too, as
// they come: the id says which is whose. A line that is no request has an answer of kind
// usage. At the end of in it waits for the calls under way; when ctx is done their boxes are
// killed. The error is one of reading or writing.
func (r *Runner) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	slots := make(chan struct{}, atOnce)
	s := &jsonlines.Server{Out: out, MaxLine: MaxLine}
	s.Take = func(ctx context.Context, line []byte, tooLong bool) bool {
		if tooLong {
			s.Answer(Answer{Err: fault.Refuse(2, "", "the line is longer than %d bytes", MaxLine)})
			return true
		}
		q, err := Parse(line)
		if err != nil {
			s.Answer(Answer{ID: q.ID, Err: err})
			return true
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		return s.Go(func() {
			defer func() { <-slots }()
			s.Answer(r.Do(ctx, q))
		})
	}
	return s.Serve(ctx, in)
}
