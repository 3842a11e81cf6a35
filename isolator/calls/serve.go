package calls

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// atOnce is how many calls of one server run side by side; the next line is read when one of
// them has ended.
const atOnce = 256

// Serve reads requests, one JSON object a line, and writes an answer for each, a line too, as
// they come: the id says which is whose. A line that is no request has an answer of kind
// usage. At the end of in it waits for the calls under way; when ctx is done their boxes are
// killed. The error is one of reading or writing.
func (r *Runner) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &server{r: r, out: out, stop: stop, slots: make(chan struct{}, atOnce)}
	ended := make(chan error, 1)
	go func() { ended <- s.read(ctx, in) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done(): // the reader may wait for ever
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
	}
	s.calls.Wait()
	if s.failed() != nil {
		return s.failed()
	}
	return err
}

type server struct {
	r     *Runner
	stop  context.CancelCauseFunc
	slots chan struct{}
	calls sync.WaitGroup

	mu     sync.Mutex
	out    io.Writer
	err    error // of writing
	closed bool  // no call begins any more
}

// read takes requests until the end of in.
func (s *server) read(ctx context.Context, in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines)
		switch {
		case errors.Is(err, errTooLong):
			s.answer(Answer{Err: misuse("the line is longer than %d bytes", MaxLine)})
			continue
		case err != nil && err != io.EOF:
			return err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && !s.take(ctx, line) {
			return nil
		}
		if err == io.EOF {
			return nil
		}
	}
}

// take begins the call of a line, or answers it; false when no more are wanted.
func (s *server) take(ctx context.Context, line []byte) bool {
	q, err := Parse(line)
	if err != nil {
		s.answer(Answer{ID: q.ID, Err: err})
		return s.failed() == nil
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.err != nil {
		return false
	}
	s.calls.Go(func() {
		defer func() { <-s.slots }()
		s.answer(s.r.Do(ctx, q))
	})
	return true
}

// answer writes an answer. When nobody reads them any more all calls are ended.
func (s *server) answer(a Answer) {
	text, err := json.Marshal(a)
	if err != nil {
		text = []byte(`{"id":"","started":false,"error":{"kind":"backend","code":125,"message":"the answer cannot be written"}}`)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if _, err := s.out.Write(append(text, '\n')); err != nil {
		s.err = err
		s.stop(err)
	}
}

func (s *server) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

var errTooLong = errors.New("too long")

// readLine reads a line of at most MaxLine bytes; of a longer one everything is passed over,
// and the error is errTooLong.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > MaxLine {
			line, long = nil, true
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long && (err == nil || err == io.EOF) {
			return nil, errTooLong
		}
		return line, err
	}
}
