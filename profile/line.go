package profile

import (
	"strconv"

	"github.com/enr/inner/profile/strict"
)

// Line is a line of a profile that widens it: an item of a list, or the value of a key.
type Line struct {
	Table, Key, Value string
	Listed            bool
	Allow             string `json:",omitempty"` // of a mount, see Mount.Allow
}

// String is the line as it is written, and below which table where that is not [sandbox].
func (l Line) String() string {
	text := l.Key
	switch {
	case l.Table == "mounts":
		text = strconv.Quote(l.Key)
	case l.Listed:
		return text + " = [" + strconv.Quote(l.Value) + "]"
	}
	text += " = " + l.literal()
	if l.Table != "sandbox" {
		text += " under [" + l.Table + "]"
	}
	return text
}

// Add is the text of a profile with the line.
func (l Line) Add(text string) (string, error) {
	at := []string{l.Table, l.Key}
	if l.Listed {
		return strict.Append(text, at, strict.Quote(l.Value))
	}
	if l.Key == "network_mode" { // which says more than the other key
		if without, err := strict.Remove(text, []string{l.Table, "network"}); err == nil {
			text = without
		}
	}
	if l.Table == "mounts" && l.Allow == "" && strict.HasTable(text, at) {
		return strict.Edit(text, append(at, "mode"), l.literal()) // and what else it says stays
	}
	return strict.Edit(text, at, l.literal())
}

func (l Line) literal() string {
	if l.Table == "credentials" { // NAME = true
		return l.Value
	}
	if l.Allow != "" {
		return "{ mode = " + strict.Quote(l.Value) + `, missing = "skip", allow = ` + strict.Quote(l.Allow) + " }"
	}
	return strict.Quote(l.Value)
}
