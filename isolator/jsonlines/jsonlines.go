// Package jsonlines serves requests that are lines of JSON: it reads lines of a bounded length, runs
// what they ask for side by side, and writes each answer as one line.
//
//	s := &jsonlines.Server{Out: os.Stdout, MaxLine: 1 << 20}
//	s.Take = func(ctx context.Context, line []byte, tooLong bool) bool {
//		return s.Go(func() { s.Answer(do(ctx, line)) })
//	}
//	err := s.Serve(ctx, os.Stdin)
//
// It knows nothing of what is in a line.
package jsonlines

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"sync"
)

// Server serves one reader and one writer.
type Server struct {
	Out     io.Writer
	MaxLine int // bytes

	// Take takes a line that is not blank, and reports whether more are wanted. Of a line that is
	// too long it gets nothing but that. It is called by one goroutine.
	Take func(ctx context.Context, line []byte, tooLong bool) bool

	stop  context.CancelFunc
	calls sync.WaitGroup

	mu     sync.Mutex
	err    error // of writing
	closed bool  // nothing begins any more
}

// Serve serves until the end of in, and then waits for what is under way; when ctx is done, or an
// answer cannot be written, the context of Take is done as well, and reading ends. The error is one
// of reading or writing.
func (s *Server) Serve(ctx context.Context, in io.Reader) error {
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	ended := make(chan error, 1)
	go func() { ended <- s.read(ctx, in) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done(): // the reader may wait for ever
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.err, err)
}

func (s *Server) read(ctx context.Context, in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := s.line(lines)
		if err != nil && err != io.EOF {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 || tooLong {
			if !s.Take(ctx, line, tooLong) || ctx.Err() != nil {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// line reads a line; one that is too long is passed over.
func (s *Server) line(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
		}
		if len(line) > s.MaxLine {
			line, tooLong = nil, true
		}
		if err != bufio.ErrBufferFull {
			return line, tooLong, err
		}
	}
}

// Go calls f on a goroutine of its own, which Serve waits for. It reports false, and does nothing,
// when the server has ended.
func (s *Server) Go(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.err != nil {
		return false
	}
	s.calls.Go(f)
	return true
}

// Answer writes a value as one line. When nobody reads them any more everything ends.
func (s *Server) Answer(v any) {
	text, err := json.Marshal(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if err == nil {
		_, err = s.Out.Write(append(text, '\n'))
	}
	if s.err = err; err != nil {
		s.stop()
	}
}
