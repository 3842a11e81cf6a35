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
	left := map[string]bool{}
	longest := 0
	for _, n := range names {
		left[n] = true
		longest = max(longest, len(n))
	}
	var found []string
	take := func(text []byte, last bool) {
		for word := range words(text, last) {
			if name := string(word); left[name] {
				delete(left, name)
				found = append(found, name)
			}
		}
	}
	take(text, true)
	read := int64(0)
	buf := make([]byte, 1<<20)
	for _, p := range files {
		if len(left) == 0 || read >= maxRead {
			break
		}
		f, err := open(p)
		if err != nil {
			continue
		}
		keep := 0 // of the piece before: a word may begin in it
		for from := io.Reader(io.LimitReader(f, min(maxFile, maxRead-read))); ; {
			n, err := io.ReadFull(from, buf[keep:])
			read += int64(n)
			text, last := buf[:keep+n], err != nil
			whole := text
			if keep > 0 { // what it begins with was seen, or is too long for a name
				whole = bytes.TrimLeftFunc(text, isWord)
			}
			take(whole, last)
			if last {
				break
			}
			keep = copy(buf, text[max(0, len(text)-longest-1):])
		}
		_ = f.Close()
	}
	slices.Sort(found)
	return found
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
