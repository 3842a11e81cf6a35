// Package capability makes the cleaned copies of agents' own folders. They have the
// login and the user's preferences, and not the user's other projects, sessions and
// servers. The original is never mounted. It is written in one case only: a login that
// was renewed inside, when the profile says sync_credentials (Replace).
//
// A capability is a value: a new agent is a new file in agents.
package capability

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/renewal"
)

// maxFile bounds each file that is read into memory; real ones are far smaller.
const maxFile = 32 << 20

// Capability says what of an agent's folders goes into a box.
type Capability struct {
	Name    string
	Program string   // base name of the program that gets Args
	Title   string   // for people
	Logins  []string // files of its folders, one of which is there when somebody has logged in
	Keys    []string // variables that log in
	Hint    string   // when a login may wait for the browser at a port of the box; "" when it takes a code (measured)
	Folders []Folder // each becomes one writable mount
	Env     []profile.KV
	Args    []string // put before the program's own arguments
	Updates []string // words behind the program's name with which it replaces itself
	// Wants are files that the program makes in a project's own configuration
	// folder before it starts, and cannot: that folder is read-only in the box.
	// Where the folder is and the file is not, a placeholder is made for the run.
	Wants []profile.KV // path below the working folder, and content
	// Own are files that the program writes in such a folder, and what is in one that does
	// not exist. In a home that stays, the box has copies of its own of them.
	Own []profile.KV // path below the working folder, and content
	// Hosts are what the program cannot work without, for a box that has the network
	// by name: entries of network_allow, no groups. Telemetry, updates and web pages
	// for people are not among them.
	Hosts []string
	// Telemetry are hosts that the program reports to without being asked. They are not
	// reached, and the user is not told of each refusal.
	Telemetry []string
	// Endpoints are variables that name another server to work with. One that the box
	// gets from its user is a host, too.
	Endpoints []string
	Login     *Login // nil when the program does not renew what is stored
	// OAuth is what inner-proxy knows of a login that the box uses and cannot read; nil for an agent without.
	OAuth *renewal.Store
	Notes []string // for people
}

// Folder is one folder of an agent, cloned.
type Folder struct {
	Path string // ~/…: where it is on the host and where the clone appears
	// Var is the variable by which the agent finds the folder, or "". With one,
	// a folder that the user keeps elsewhere is found there, and the clone has a
	// place also where there is none at Path. Up says that the variable names
	// the folder's parent.
	Var   string
	Up    bool
	Files []File
	Trees []string // folders copied whole, read-only, relative to the folder
	// Scripts, when not nil, takes the settings in the clone apart: see Commands.
	Scripts *Commands
	Empty   []string // folders created empty
}

// File is one file of a clone.
type File struct {
	Name string // in the folder; the clone has it under this name
	// Beside is where the file is instead when the folder is at its usual place.
	Beside string
	// Edit is made in the copy; without one it has the same bytes. A file that does not exist is
	// edited as an empty document. What is empty afterwards is left out.
	Edit
	// Login says that the program renews the file. In a home that stays, one that only the
	// program changed since is kept.
	Login bool
	// Servers are the dotted paths of addresses in it of servers to work with; * is any key.
	Servers []string
	// Used says of a part of a clone that it is in the place of a login, which the box cannot read; nil for nothing.
	Used bool
	// Alone says so of the box's own login: the host has none.
	Alone bool
	// Instructions says that it is what the user tells every session of the agent. The copy has,
	// below that, what the box says of itself: see Origin.Says.
	Instructions bool
}

// Origin is what a clone is made of.
type Origin struct {
	Home    string
	Workdir string // of the run
	Lookup  func(string) (string, bool)
	// Seen reports whether the box shows a path of the home as it is on the host; nil for
	// none but what lies in Workdir.
	Seen func(string) bool
	// Follow returns where a path with links leads, and whether that is the user's own word; nil for never.
	Follow func(path string) (real string, ok bool)
	// Says is what the box says of itself to the agent, lines of Markdown; "" for nothing.
	Says string
	// MCP reports whether the box has the MCP servers of a name; nil for none.
	MCP func(name string) bool
	// Keys are what stands for keys of the agent in the box, which cannot read those.
	Keys []Key
	// Used are files of the agent, by their names, of whose login the box uses what it cannot read.
	Used map[string]Used
}

// Key is what stands for a key in the box.
type Key struct {
	Value string
	Of    string // the key, whose answer counts; "" for one that is used unasked
	Ask   bool   // so is not one of which there is no answer
}

// Used is what a box has of a file with a login that it cannot read.
type Used struct {
	Instead bool // it has Data, nil for nothing, and not the file
	Data    []byte
	Alone   bool // the host's file has no login
	Edit         // made in addition
}

// behind returns where a link of the user's leads, and any other path as it is.
func (o Origin) behind(path string) string {
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSymlink != 0 && o.Follow != nil {
		if real, ok := o.Follow(path); ok {
			return real
		}
	}
	return path
}

// Place is where the clone of a folder appears in the box.
func (f Folder) Place(home string) string { return expand(f.Path, home) }

// Copied are the files and folders in it that a clone has.
func (f Folder) Copied() []string {
	list := append([]string{}, f.Trees...)
	for _, file := range f.Files {
		list = append(list, file.Name)
	}
	return list
}

// Rel is the folder's path below a home.
func (f Folder) Rel() string { return strings.TrimPrefix(f.Path, "~/") }

// Source is where the folder is on this host: where the user's own variable says, or at its place.
func (f Folder) Source(o Origin) string {
	dir := ""
	if f.Var != "" && o.Lookup != nil {
		dir, _ = o.Lookup(f.Var)
	}
	switch {
	case !filepath.IsAbs(dir):
		return f.Place(o.Home)
	case f.Up:
		return filepath.Join(dir, filepath.Base(f.Path))
	}
	return filepath.Clean(dir)
}

// Environment returns the variables of the capability; at holds the place of
// each folder in the box.
func (c Capability) Environment(home string, at []string) []profile.KV {
	var out []profile.KV
	for i, f := range c.Folders {
		switch {
		case f.Var == "":
		case f.Up:
			out = append(out, profile.KV{Key: f.Var, Value: filepath.Dir(at[i])})
		default:
			out = append(out, profile.KV{Key: f.Var, Value: at[i]})
		}
	}
	for _, kv := range c.Env {
		out = append(out, profile.KV{Key: kv.Key, Value: expand(kv.Value, home)})
	}
	return out
}

// Piece is a part of a clone: a file, or with ModeDir a folder.
type Piece struct {
	Path string // below a home
	Data []byte
	Mode fs.FileMode
	File File // what is said of it; a zero one of most
	of   Capability
}

// Clone gives the parts of the clones to put, a folder before what is in it. Nothing but what is listed is
// opened. Links that are not followed, sockets, FIFOs and devices are left out; those that were asked for are returned.
func (c Capability) Clone(o Origin, put func(Piece) error) (skipped []string, err error) {
	for _, f := range c.Folders {
		cl := cloner{f: f, o: o, source: f.Source(o), place: f.Place(o.Home), had: map[string]bool{}}
		cl.put = func(rel string, data []byte, mode fs.FileMode, file File) error {
			cl.had[rel] = true
			return put(Piece{Path: filepath.Join(f.Rel(), rel), Data: data, Mode: mode, File: file, of: c})
		}
		err := cl.clone()
		if skipped = append(skipped, cl.leftOut...); err != nil {
			return skipped, fmt.Errorf("capability %s: %w", c.Name, err)
		}
	}
	return skipped, nil
}

// cloner makes the clone of one folder.
type cloner struct {
	f       Folder
	o       Origin
	source  string          // the agent's folder on the host
	place   string          // and in the box
	had     map[string]bool // what is in the clone, below the folder
	leftOut []string
	behind  int // how much of it is behind links
	put     func(rel string, data []byte, mode fs.FileMode, file File) error
}

func (cl *cloner) clone() error {
	for _, dir := range append([]string{"."}, cl.f.Empty...) {
		if err := cl.put(dir, nil, fs.ModeDir, File{}); err != nil {
			return err
		}
	}
	for _, t := range cl.f.Trees {
		if top := filepath.Join(cl.source, t); files.Exists(top) {
			if err := cl.branch(top, t, 0); err != nil {
				return err
			}
		}
	}
	for _, file := range cl.f.Files { // after the trees, which have some of the scripts
		src := cl.f.At(cl.o, file)
		used, isUsed := cl.o.Used[file.Name]
		file.Used = isUsed && used.Instead
		file.Alone = file.Used && (used.Alone || !files.Exists(src))
		data, err := cl.read(src, file, used)
		if errors.Is(err, files.ErrNotRegular) {
			cl.leftOut = append(cl.leftOut, src)
			data, err = nil, nil
		}
		if err == nil && file.Instructions && cl.o.Says != "" {
			data = instruct(string(Uninstructed(data)), cl.o.Says, "")
		}
		if err == nil && (data != nil || file.Used) {
			err = cl.put(file.Name, data, 0o600, file)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Bounds of what is behind links: one may lead to a folder that holds itself, or much else.
const (
	mostLinks  = 3    // one behind the other
	mostBehind = 2000 // files and folders
)

// branch clones what is at a path as rel: a folder with the regular files in it, read-only; executables stay
// executable. It is behind so many links, and then each part of it is asked for.
func (cl *cloner) branch(from, rel string, links int) error {
	at := cl.o.behind(from)
	if at != from {
		links++
	}
	fi, err := os.Lstat(at)
	if err == nil && links > 0 {
		if _, ok := cl.o.Follow(at); !ok || links > mostLinks || cl.behind == mostBehind {
			err = files.ErrNotRegular
		}
		cl.behind++
	}
	switch {
	case err == nil && fi.IsDir():
		entries, err := os.ReadDir(at)
		err = errors.Join(err, cl.put(rel, nil, fs.ModeDir, File{}))
		for _, e := range entries {
			if err == nil {
				err = cl.branch(filepath.Join(at, e.Name()), filepath.Join(rel, e.Name()), links)
			}
		}
		return err
	case err == nil:
		err = cl.asIs(at, rel, maxFile)
	}
	if errors.Is(err, files.ErrNotRegular) {
		cl.leftOut = append(cl.leftOut, filepath.Join(cl.source, rel))
		return nil
	}
	return err
}

// asIs clones a file that is read-only then. One that is larger than most counts as none.
func (cl *cloner) asIs(src, rel string, most int64) error {
	f, fi, err := files.Open(src, files.NoLinks)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if int64(len(data)) > most {
		err = files.ErrNotRegular
	}
	if err != nil {
		return err
	}
	return cl.put(rel, data, 0o400|fi.Mode().Perm()&0o100, File{})
}

// At is where a file of the folder is on this host.
func (f Folder) At(o Origin, file File) string {
	if file.Beside != "" && f.Source(o) == f.Place(o.Home) {
		return expand(file.Beside, o.Home)
	}
	return filepath.Join(f.Source(o), file.Name)
}

// read is what the clone has of a file, nil for nothing.
func (cl *cloner) read(src string, file File, used Used) (data []byte, err error) {
	if used.Instead {
		if used.Data == nil || !used.Any() {
			return used.Data, nil
		}
		return rewrite(src, used.Data, func(doc map[string]any) { used.apply(doc, cl.o.Workdir, nil) })
	}
	at := src
	if !file.Login {
		at = cl.o.behind(src)
	}
	data, err = files.Read(at, files.NoLinks, maxFile)
	if !file.Any() && !used.Any() {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return data, err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return rewrite(src, data, func(doc map[string]any) {
		file.apply(doc, cl.o.Workdir, func(name string, _ any) bool { return cl.o.MCP != nil && cl.o.MCP(name) })
		used.apply(doc, cl.o.Workdir, nil)
		if file.Keys != "" {
			file.taken(doc, cl.o.Keys, cl.o.Used != nil)
		}
		if s := cl.f.Scripts; s != nil && s.File == file.Name {
			s.keep(doc, cl)
		}
	})
}

func expand(p, home string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return p
}
