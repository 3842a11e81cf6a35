package profile

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// Limits is [sandbox.limits] as written; empty means not limited.
type Limits struct{ Memory, CPU, Pids, Files, FileSize, Disk string }

// Any reports whether a limit is asked for.
func (l Limits) Any() bool { return l != Limits{} }

// Or returns the limits with those that are not set taken from rest.
func (l Limits) Or(rest Limits) Limits {
	return Limits{
		Memory: cmp.Or(l.Memory, rest.Memory), CPU: cmp.Or(l.CPU, rest.CPU), Pids: cmp.Or(l.Pids, rest.Pids),
		Files: cmp.Or(l.Files, rest.Files), FileSize: cmp.Or(l.FileSize, rest.FileSize), Disk: cmp.Or(l.Disk, rest.Disk),
	}
}

// Rows are the limits that are set, by their keys, in the order of the manual.
func (l Limits) Rows() []KV {
	var out []KV
	for _, kv := range []KV{{"memory", l.Memory}, {"cpu", l.CPU}, {"pids", l.Pids}, {"files", l.Files}, {"file_size", l.FileSize}, {"disk", l.Disk}} {
		if kv.Value != "" {
			out = append(out, kv)
		}
	}
	return out
}

// LimitsTable is [sandbox.limits], and [default_limits] of config.toml, as
// written.
type LimitsTable struct {
	Memory   strict.Number `toml:"memory"`
	CPU      strict.Number `toml:"cpu"`
	Pids     strict.Number `toml:"pids"`
	Files    strict.Number `toml:"files"`
	FileSize strict.Number `toml:"file_size"`
	Disk     strict.Number `toml:"disk"`
}

// LimitField is one limit of a table, by its name in the language.
type LimitField struct {
	Name   string
	Number strict.Number
}

// Fields are all limits of the table, in the order of the manual.
func (l LimitsTable) Fields() []LimitField {
	return []LimitField{{"memory", l.Memory}, {"cpu", l.CPU}, {"pids", l.Pids}, {"files", l.Files}, {"file_size", l.FileSize}, {"disk", l.Disk}}
}

// field is a limit by its name in the language.
func (l *Limits) field(name string) *string {
	return map[string]*string{"memory": &l.Memory, "cpu": &l.CPU, "pids": &l.Pids, "files": &l.Files, "file_size": &l.FileSize, "disk": &l.Disk}[name]
}

// fewestFiles is what inner's supervisor needs to start a program at all, with
// some to spare.
const fewestFiles = 16

// Check returns the faults of a table of limits; key is the name of the table.
func (l LimitsTable) Check(key string) []strict.Problem {
	var v validator
	size := func(n strict.Number, name string) {
		if _, ok := Bytes(string(n.V)); n.Set && !ok {
			v.add(n.At, key+"."+name, fmt.Sprintf("%q is not a size", n.V), `write it like "512M" or "2G"`)
		}
	}
	count := func(n strict.Number, name string, least uint64) {
		switch i, err := strconv.ParseUint(string(n.V), 10, 31); {
		case !n.Set:
		case err != nil || i == 0:
			v.add(n.At, key+"."+name, fmt.Sprintf("%q is not a number above 0", n.V), "")
		case i < least:
			v.add(n.At, key+"."+name, fmt.Sprintf("%q is too few to start a program with", n.V), fmt.Sprintf("%d or more", least))
		}
	}
	size(l.Memory, "memory")
	if c := l.CPU; c.Set {
		if _, ok := Processors(string(c.V)); !ok {
			v.add(c.At, key+".cpu", fmt.Sprintf("%q is not an amount of CPU", c.V), `write it like "150%" or "1.5"`)
		}
	}
	count(l.Pids, "pids", 1)
	count(l.Files, "files", fewestFiles)
	size(l.FileSize, "file_size")
	size(l.Disk, "disk")
	return v.problems
}

// Limits returns the limits as plain text.
func (l LimitsTable) Limits() Limits {
	return Limits{
		Memory: string(l.Memory.V), CPU: string(l.CPU.V), Pids: string(l.Pids.V),
		Files: string(l.Files.V), FileSize: string(l.FileSize.V), Disk: string(l.Disk.V),
	}
}

// CheckFlags says what is wrong with limits that are the values of --limit-*.
func (l Limits) CheckFlags() error {
	if faults := l.faults(); len(faults) > 0 {
		return strict.Problems(faults)
	}
	return nil
}

func (l Limits) faults() []strict.Problem {
	faults := l.table().Check("--limit")
	for i := range faults {
		faults[i].Key = strings.NewReplacer(".", "-", "_", "-").Replace(faults[i].Key)
	}
	return faults
}

// table is the inverse of LimitsTable.Limits.
func (l Limits) table() LimitsTable {
	number := func(s string) strict.Number { return strict.Number{V: strict.Scalar(s), Set: s != ""} }
	return LimitsTable{
		Memory: number(l.Memory), CPU: number(l.CPU), Pids: number(l.Pids),
		Files: number(l.Files), FileSize: number(l.FileSize), Disk: number(l.Disk),
	}
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
