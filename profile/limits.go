package profile

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/profile/strict"
)

// Limits is [sandbox.limits] as written; empty means not limited.
type Limits struct{ Memory, CPU, Pids, Files, FileSize, Disk string }

// Any reports whether a limit is asked for.
func (l Limits) Any() bool { return l != Limits{} }

// limitNames are the keys of [sandbox.limits], in the order of the fields of Limits.
func limitNames() []string { return []string{"memory", "cpu", "pids", "files", "file_size", "disk"} }

func (l *Limits) fields() []*string {
	return []*string{&l.Memory, &l.CPU, &l.Pids, &l.Files, &l.FileSize, &l.Disk}
}

// field is a limit by its name in the language.
func (l *Limits) field(name string) *string { return l.fields()[slices.Index(limitNames(), name)] }

// Or returns the limits with those that are not set taken from rest.
func (l Limits) Or(rest Limits) Limits {
	for i, other := range rest.fields() {
		mine := l.fields()[i]
		*mine = cmp.Or(*mine, *other)
	}
	return l
}

// Rows are the limits that are set, by their keys, in the order of the manual.
func (l Limits) Rows() (out []KV) {
	for i, name := range limitNames() {
		if value := *l.fields()[i]; value != "" {
			out = append(out, KV{name, value})
		}
	}
	return out
}

// LimitKeys are those of a table of limits: [default_limits] of config.toml is one.
func LimitKeys(table string) []strict.Key {
	return eachOf(limitNames(), func(name string) strict.Key { return strict.Key{Name: table + "." + name, Kind: strict.ANumber} })
}

// TableOf are the limits that a table of a file says, each with its place.
func TableOf(d *strict.Doc, table string) (out []strict.Item) {
	for _, name := range limitNames() {
		if v := d.Value(table + "." + name); v.Set {
			out = append(out, strict.Item{Key: name, Text: v.V, At: v.At})
		}
	}
	return out
}

// LimitsOf are the limits of a table without their places.
func LimitsOf(table []strict.Item) (out Limits) {
	for _, it := range table {
		*out.field(it.Key) = it.Text
	}
	return out
}

// fewestFiles is what inner's supervisor needs to start a program at all, with
// some to spare.
const fewestFiles = 16

// CheckLimits notes the faults of a table of limits of that name.
func CheckLimits(table []strict.Item, name string, problems *strict.Problems) {
	for _, it := range table {
		checkLimit(it.Key, it.Text, it.At, name+"."+it.Key, problems)
	}
}

func (v *validator) limit(key string, p strict.Item) {
	checkLimit(strings.TrimPrefix(key, "sandbox.limits."), p.Text, p.At, key, &v.Problems)
}

// CheckFlags says what is wrong with limits that are the values of --limit-*.
func (l Limits) CheckFlags() error { return l.faults().Err() }

func (l Limits) faults() (faults strict.Problems) {
	for _, kv := range l.Rows() {
		checkLimit(kv.Key, kv.Value, strict.Pos{}, "--limit-"+strings.ReplaceAll(kv.Key, "_", "-"), &faults)
	}
	return faults
}

// checkLimit notes what is wrong with the text of a limit, and what to write instead.
func checkLimit(name, text string, at strict.Pos, key string, problems *strict.Problems) {
	n, ok := limitAmount(name, text)
	msg, hint := "not a size", `write it like "512M" or "2G"`
	switch {
	case ok && name == "files" && n < fewestFiles:
		msg, hint = "too few to start a program with", fmt.Sprintf("%d or more", fewestFiles)
	case ok:
		return
	case name == "cpu":
		msg, hint = "not an amount of CPU", `write it like "150%" or "1.5"`
	case name == "pids", name == "files":
		msg, hint = "not a number above 0", ""
	}
	problems.Add(at, key, fmt.Sprintf("%q is ", text)+msg, hint)
}

// limitAmount is the value of a limit as a number.
func limitAmount(name, text string) (uint64, bool) {
	switch name {
	case "cpu":
		return Processors(text)
	case "pids", "files":
		n, err := strconv.ParseUint(text, 10, 31)
		return n, err == nil && n > 0
	case "time":
		d, err := time.ParseDuration(text)
		return uint64(d), err == nil
	}
	return Bytes(text)
}

// limitBelow reports whether a maximum is below what was asked for; "" is no limit.
func limitBelow(name, most, asked string) bool {
	m, ok := limitAmount(name, most)
	n, good := limitAmount(name, asked)
	return ok && (!good || m < n)
}

// Bytes reads a size: 1024, 512M, 1.5G, 2GiB, 100KB. K is 1024 in each
// spelling. A size is at least one byte, and fits in 63 bits.
func Bytes(s string) (n uint64, ok bool) {
	s = strings.TrimSuffix(strings.ToUpper(s), "B")
	unit := strings.TrimSuffix(s, "I")
	shift := 0
	if unit != "" {
		if i := strings.IndexByte("KMGT", unit[len(unit)-1]); i >= 0 {
			s, shift = unit[:len(unit)-1], 10*(i+1)
		}
	}
	whole, fraction, ok := amount(s)
	if !ok || bits.Len64(whole)+shift > 63 {
		return 0, false
	}
	n = whole<<shift + uint64(fraction*float64(uint64(1)<<shift))
	return n, n > 0
}

// Processors reads an amount of processor time, 1.5 or 150%, as thousandths of
// one processor: at least ten, and at most those of ten thousand.
func Processors(s string) (thousandths uint64, ok bool) {
	text, percent := strings.CutSuffix(s, "%")
	whole, fraction, ok := amount(text)
	if !ok || whole > 1_000_000 {
		return 0, false
	}
	each := 1000.0
	if percent {
		each = 10
	}
	n := uint64(math.Round((float64(whole) + fraction) * each))
	return n, n >= 10 && n <= 10_000_000
}

// amount reads a decimal number: digits, and perhaps a point and more digits.
func amount(s string) (whole uint64, fraction float64, ok bool) {
	text, rest, point := strings.Cut(s, ".")
	if text == "" && rest == "" || strings.Trim(text+rest, "0123456789") != "" {
		return 0, 0, false
	}
	var err error
	if text != "" {
		if whole, err = strconv.ParseUint(text, 10, 64); err != nil {
			return 0, 0, false
		}
	}
	if point && rest != "" {
		if fraction, err = strconv.ParseFloat("0."+rest, 64); err != nil {
			return 0, 0, false
		}
	}
	return whole, fraction, true
}
