package strict

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the word of a list that a person most likely meant, or "".
// The first of equally near words wins.
func Nearest(word string, valid []string) string {
	if word == "" || len(word) > 64 {
		return ""
	}
	best, at := "", 1+max(1, utf8.RuneCountInString(word)/3)
	low := strings.ToLower(word)
	for _, v := range valid {
		if dist := distance(low, strings.ToLower(v)); dist < at {
			best, at = v, dist
		}
	}
	if best != "" {
		return best
	}
	for _, v := range valid {
		if len(low) > 3 && (strings.HasPrefix(v, low) || strings.HasPrefix(low, v) && len(v) > 3) {
			return v
		}
	}
	return ""
}

// DidYouMean is the hint for a word that is not in a list: the nearest one, or
// all of them when there are few, or nothing.
func DidYouMean(word string, valid []string) string {
	if hint := Meant("", word, valid); hint != "" {
		return hint
	}
	if len(valid) == 0 || len(valid) > 12 {
		return ""
	}
	return "one of " + strings.Join(valid, ", ")
}

// Meant is the hint that names the nearest word of a list, written with a prefix, or nothing.
func Meant(prefix, word string, valid []string) string {
	near := Nearest(word, valid)
	if near == "" {
		return ""
	}
	return "did you mean " + quote(prefix+near) + "?"
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two words.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, prev, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(y)]
}
