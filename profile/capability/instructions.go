package capability

// What the box says of itself to an agent stands in the file of the user's own instructions, between two
// lines. All else in that file is the user's, or what the box wrote there.

import "strings"

const (
	saysBegin = "<!-- inner: what this sandbox may do, written anew at each start -->\n"
	saysEnd   = "<!-- inner: end -->\n"
)

// Says writes lines as what a box says of itself.
func Says(lines []string) string {
	text := strings.ReplaceAll(strings.Join(lines, "\n"), "-->", "-- >") // no name of a folder ends it
	return saysBegin + text + "\n" + saysEnd
}

// Uninstructed is a file of instructions without what boxes said of themselves.
func Uninstructed(data []byte) []byte {
	before, after := around(string(data))
	return []byte(before + after)
}

// around is what stands before that, and behind it. Where the line at its end is missing, it goes to the end of
// the file.
func around(text string) (before, after string) {
	before, rest, said := strings.Cut(text, saysBegin)
	if said {
		before = strings.TrimSuffix(before, "\n")
		_, after, _ = strings.Cut(rest, saysEnd)
	}
	return before, after
}

func instruct(before, says, after string) []byte {
	if before != "" {
		before = strings.TrimSuffix(before, "\n") + "\n\n"
	}
	return []byte(before + says + after)
}

// settleInstructions has the user's text before what the box says now, and what the box wrote. Where the box
// changed the user's text, that stays until the user changes it.
func settleInstructions(base, fresh, kept []byte) []byte {
	says := fresh[max(0, strings.Index(string(fresh), saysBegin)):]
	before, after := around(string(kept))
	if now := string(Uninstructed(fresh)); now != string(Uninstructed(base)) {
		before = now
	}
	return instruct(before, string(says), after)
}
