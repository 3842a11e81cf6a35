package learn

import (
	"bytes"
	"io"
	"iter"
	"os"
	"slices"
)

// How much is read in search of names of variables.
const (
	maxFile = 64 << 20
	maxRead = 256 << 20
)

// Mentions returns which names occur as words in text, or in files that were
// executed or opened. Reading a variable is not a system call, so this is a guess: a program
// may name variables that it never reads, and read variables whose names it composes.
func Mentions(text []byte, files []string, open func(string) (*os.File, error), names []string) []string {
	s := search{left: map[string]bool{}, buf: make([]byte, 1<<20)}
	for _, n := range names {
		s.left[n] = true
		s.longest = max(s.longest, len(n))
	}
	s.take(text, true)
	read := int64(0)
	for _, p := range files {
		if len(s.left) == 0 || read >= maxRead {
			break
		}
		f, err := open(p)
		if err != nil {
			continue
		}
		read += s.read(io.LimitReader(f, min(maxFile, maxRead-read)))
		_ = f.Close()
	}
	slices.Sort(s.found)
	return s.found
}

// search looks for names.
type search struct {
	left    map[string]bool
	longest int // of the names, in bytes
	found   []string
	buf     []byte
}

// take looks for names in a piece of text, or in the last one.
func (s *search) take(text []byte, last bool) {
	for word := range words(text, last) {
		if name := string(word); s.left[name] {
			delete(s.left, name)
			s.found = append(s.found, name)
		}
	}
}

// read looks for names in all of a file, and returns how long that is.
func (s *search) read(file io.Reader) (size int64) {
	for keep := 0; ; { // of the piece before: a word may begin in it
		n, err := io.ReadFull(file, s.buf[keep:])
		size += int64(n)
		text := s.buf[:keep+n]
		whole := text
		if keep > 0 { // what it begins with was seen, or is too long for a name
			whole = bytes.TrimLeftFunc(text, isWord)
		}
		s.take(whole, err != nil)
		if err != nil {
			return size
		}
		keep = copy(s.buf, text[max(0, len(text)-s.longest-1):])
	}
}

// words yields the words of a piece of text. Unless the piece is the last one, a word at its very
// end is left out: it may go on in the next piece.
func words(text []byte, last bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			i := bytes.IndexFunc(text, isWord)
			if i < 0 {
				return
			}
			text = text[i:]
			n := 0
			for n < len(text) && isWord(rune(text[n])) {
				n++
			}
			if n == len(text) && !last || !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}
