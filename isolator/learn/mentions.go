package learn

import (
	"bytes"
	"io"
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
func Mentions(text []byte, files []string, open func(string) (*os.File, error), names []string) (found []string) {
	left := map[string]bool{}
	for _, n := range names {
		left[n] = true
	}
	read := int64(0)
	for i := 0; ; i++ {
		for word := range bytes.FieldsFuncSeq(text, func(r rune) bool { return !isWord(r) }) {
			if left[string(word)] {
				delete(left, string(word))
				found = append(found, string(word))
			}
		}
		if i == len(files) || len(left) == 0 || read >= maxRead {
			slices.Sort(found)
			return found
		}
		text = nil
		if f, err := open(files[i]); err == nil {
			text, _ = io.ReadAll(io.LimitReader(f, min(maxFile, maxRead-read))) // as much as can be read
			_ = f.Close()
		}
		read += int64(len(text))
	}
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}
