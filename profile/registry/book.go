package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/enr/inner/internal/files"
)

// How long an answer holds about which nothing has changed: one that lacks
// something is asked for again, since this computer may have been offline; where a
// name leads is looked up again, soon when it led nowhere. That runs nothing.
const (
	holdPart   = time.Hour
	holdFailed = 10 * time.Minute
	holdLook   = 24 * time.Hour
)

// Book keeps answers in a file of the user's own, so that a start asks nobody as
// long as nothing has changed.
type Book struct {
	Path string
}

// record is one answer and what it was given about.
type record struct {
	About  string    `json:"about"` // see about
	Asked  time.Time `json:"asked"`
	Answer Answer    `json:"answer"`
}

// Answers returns the answer of each group, in their order. The clients that have
// to be asked are asked at the same time, each in a folder of its own below dir,
// which is called only when it is needed; nil asks nobody and writes nothing. An
// error with answers is one of the book: the answers are right all the same.
func (b Book) Answers(ctx context.Context, groups []string, h Host, dir func() (string, error)) ([]Answer, error) {
	known := b.read()
	out := make([]Answer, len(groups))
	var wg sync.WaitGroup
	var mu sync.Mutex
	changed := map[string]record{}
	base := ""
	for i, group := range groups {
		r, had := known[group]
		had = had && r.About == h.about(group, r.Answer.Files)
		switch {
		case had && (dir == nil || !h.late(r)):
			if dir != nil && h.stale(r.Answer) {
				h.look(ctx, r.Answer.Places)
				changed[group] = r
			}
			out[i] = r.Answer
			continue
		case dir == nil:
			out[i].Why = clients()[group].names[0] + " is asked when the profile runs"
			continue
		}
		if base == "" {
			var err error
			if base, err = dir(); err != nil {
				return nil, err
			}
		}
		h := h
		h.Dir = filepath.Join(base, group)
		if err := os.Mkdir(h.Dir, 0o700); err != nil {
			return nil, err
		}
		wg.Go(func() {
			a := Ask(ctx, group, h)
			mu.Lock()
			defer mu.Unlock()
			out[i] = a
			changed[group] = record{About: h.about(group, a.Files), Asked: h.now(), Answer: a}
		})
	}
	wg.Wait()
	if len(changed) == 0 {
		return out, nil
	}
	return out, b.write(changed)
}

// late reports whether an answer that lacks something is to be asked for again.
func (h Host) late(r record) bool {
	return r.Answer.Why != "" && !r.Answer.Absent && h.now().Sub(r.Asked).Abs() > holdPart
}

// stale reports whether it is to be looked up again where the places of an answer lead.
func (h Host) stale(a Answer) bool {
	return slices.ContainsFunc(a.Places, func(p Place) bool {
		age := h.now().Sub(p.Looked).Abs()
		return age > holdLook || p.Failed && age > holdFailed
	})
}

// Note writes answers down as if the clients had given them for h, which they gave
// for another home of the same user.
func (b Book) Note(answers map[string]Answer, h Host) error {
	noted := map[string]record{}
	for group, a := range answers {
		noted[group] = record{About: h.about(group, a.Files), Asked: h.now(), Answer: a}
	}
	return b.write(noted)
}

// about says in one word what an answer depends on: the client, the files it reads
// and the user's variables. Files are told apart by size and time.
func (h Host) about(group string, more []string) string {
	c, ok := clients()[group]
	if !ok {
		return ""
	}
	sum := sha256.New()
	stat := func(p string) {
		fi, err := os.Stat(p)
		if err != nil {
			fmt.Fprintf(sum, "%q missing\n", p)
			return
		}
		fmt.Fprintf(sum, "%q %d %d\n", p, fi.Size(), fi.ModTime().UnixNano())
		if entries, err := os.ReadDir(p); fi.IsDir() && err == nil {
			for _, e := range entries {
				if fi, err := e.Info(); err == nil {
					fmt.Fprintf(sum, "%q %d %d\n", e.Name(), fi.Size(), fi.ModTime().UnixNano())
				}
			}
		}
	}
	program, err := h.find(c.names)
	fmt.Fprintf(sum, "%q %q %v\n", h.Home, program, err)
	stat(program)
	for _, p := range slices.Concat(c.files(h), more) {
		stat(p)
	}
	for _, kv := range h.environment(c) {
		fmt.Fprintf(sum, "%q\n", kv)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// read returns what is known. A book that is missing or spoilt is empty.
func (b Book) read() map[string]record {
	known := map[string]record{}
	data, err := os.ReadFile(b.Path)
	if err != nil || json.Unmarshal(data, &known) != nil {
		return map[string]record{}
	}
	return known
}

func (b Book) write(changed map[string]record) error {
	unlock, err := files.Lock(b.Path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	known := b.read() // what another run has learnt stays
	for group, r := range changed {
		known[group] = r
	}
	data, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	return files.Replace(b.Path, append(data, '\n'), 0o600)
}
