package index

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// put adds an entry, or replaces the one of that path and stage.
func (x *Index) put(e Entry) {
	at, found := slices.BinarySearchFunc(x.Entries, e, func(a, b Entry) int { return compare(&a, &b) })
	if !found {
		x.Entries = slices.Insert(x.Entries, at, e)
	}
	x.Entries[at] = e
}

func (x *Index) remove(name string) {
	x.Entries = slices.DeleteFunc(x.Entries, func(e Entry) bool { return e.Name == name })
}

// file is an entry of which git knows no times.
func file(name string, mode uint32, id ID) Entry {
	e := Entry{Name: name, ID: id}
	binary.BigEndian.PutUint32(e.Stat[modeAt:], mode)
	return e
}

func staged(e Entry, stage int) Entry {
	e.Flags |= uint16(stage) << 12
	return e
}

// short writes an index of version 4, in which each name but the first has that many bytes of the one before.
func short(same int, entries ...Entry) []byte {
	out := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x04"), uint32(len(entries)))
	before := ""
	for _, e := range entries {
		keep := min(same, len(before))
		out = append(append(out, e.Stat[:]...), e.ID[:]...)
		out = binary.BigEndian.AppendUint16(out, e.Flags|uint16(min(len(e.Name), nameMask)))
		out = append(append(append(out, byte(len(before)-keep)), e.Name[keep:]...), 0)
		before = e.Name
	}
	return append(out, make([]byte, sha1.Size)...)
}

// again is the index after it was written and read, as a box's comes.
func again(t *testing.T, x *Index) *Index {
	t.Helper()
	read, err := Parse(x.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func (r *repo) id(name string) (id ID) {
	r.t.Helper()
	if _, err := hex.Decode(id[:], []byte(strings.TrimSpace(r.sh("git rev-parse "+name)))); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// enter checks what a box wrote, makes it the host's and returns it as git lists it.
func (r *repo) enter(box, host *Index, rules Rules) (*Checked, string) {
	r.t.Helper()
	checked, err := Check(again(r.t, box), host, rules)
	if err != nil {
		r.t.Fatal(err)
	}
	data := checked.Index.Bytes()
	if read, err := Parse(data); err != nil || !slices.Equal(read.Entries, checked.Index.Entries) {
		r.t.Fatal("it is another one when it is read", err)
	}
	r.write(data)
	return checked, r.sh("git ls-files -s")
}

// TestNames: a box brings no path that leads into a repository or out of the work tree, and no
// repository of another. What the host has already may stay.
func TestNames(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	host := r.index()
	blob, commit, other := r.id("HEAD:a"), r.id("HEAD"), ID{1}
	for _, c := range []struct {
		name    string
		entry   Entry
		refused string
	}{
		{"git", file(".git/config", modeFile, blob), "no path"},
		{"github", file(".github/config", modeFile, blob), ""},
		{"case", file("d/.gIT/config", modeFile, blob), "no path"},
		{"short name", file("git~1/config", modeFile, blob), "no path"},
		{"another short name", file("git~2/config", modeFile, blob), ""},
		{"ignored character", file(".g\u200cit/config", modeFile, blob), "no path"},
		{"backslash", file(`d\.git\config`, modeFile, blob), "no path"},
		{"backslash alone", file(`d\git\config`, modeFile, blob), ""},
		{"up", file("../x", modeFile, blob), "no path"},
		{"absolute", file("/x", modeFile, blob), "no path"},
		{"empty part", file("d//x", modeFile, blob), "no path"},
		{"folder", file("x/", modeFile, blob), "no path"},
		{"no name", file("", modeFile, blob), "no path"},
		{"in a conflict", staged(file(".git/config", modeFile, blob), 2), "no path"},
		{"link of settings", file(".gitmodules", modeLink, blob), "no path"},
		{"another spelling", file("x/GITMOD~2", modeLink, blob), "no path"},
		{"settings", file(".gitmodules", modeFile, blob), ""},
		{"submodule", file("sub", modeGitlink, commit), "new submodule"},
		{"submodule in a conflict", staged(file("sub", modeGitlink, commit), 3), "new submodule"},
		{"file becomes submodule", file("a", modeGitlink, commit), "new submodule"},
		{"the host's submodule", file("had", modeGitlink, other), ""},
		{"a conflict of it", staged(file("had", modeGitlink, other), 1), ""},
		{"a branch of the host's has it", file("known", modeGitlink, commit), ""},
		{"the host's path", file(".GIT/was", modeFile, blob), ""},
		{"with another content", file(".GIT/was", modeFile, other), "no path"},
	} {
		t.Run(c.name, func(t *testing.T) {
			host, box := *host, *host
			host.Entries = slices.Clone(host.Entries)
			host.put(file("had", modeGitlink, commit))
			host.put(file(".GIT/was", modeFile, blob))
			box.Entries = slices.Clone(host.Entries)
			if c.entry.Stage() != 0 {
				box.remove(c.entry.Name)
			}
			box.put(c.entry)
			rules := r.rules()
			rules.Gitlink = func(path string) bool { return path == "known" }
			checked, err := Check(again(t, &box), &host, rules)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("not refused: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(checked.Index.Entries, func(e Entry) bool { return e == c.entry }) {
				t.Error("the entry is not there")
			}
		})
	}
}

// TestForm is what no git writes, and what git would end at or read otherwise.
func TestForm(t *testing.T) {
	t.Parallel()
	a, b := file("a", modeFile, ID{1}), file("b", modeFile, ID{2})
	extension := func(name, content string) func(data []byte) []byte {
		return func(data []byte) []byte {
			data = append(data[:len(data)-20], name...)
			data = binary.BigEndian.AppendUint32(data, uint32(len(content)))
			return append(append(data, content...), make([]byte, 20)...)
		}
	}
	set := func(at int, value ...byte) func(data []byte) []byte {
		return func(data []byte) []byte {
			copy(data[at:], value)
			return append(data[:len(data)-20], make([]byte, 20)...)
		}
	}
	const flagsAt = headBytes + statBytes + 20
	for _, c := range []struct {
		name    string
		index   Index
		change  func(data []byte) []byte
		refused string
	}{
		{"in order", Index{Entries: []Entry{a, b}}, nil, ""},
		{"not in order", Index{Entries: []Entry{b, a}}, nil, "order"},
		{"twice", Index{Entries: []Entry{a, a}}, nil, "order"},
		{"stages", Index{Entries: []Entry{staged(a, 1), staged(a, 2), staged(a, 3)}}, nil, ""},
		{"stages not in order", Index{Entries: []Entry{staged(a, 2), staged(a, 1)}}, nil, "order"},
		{"stage twice", Index{Entries: []Entry{staged(a, 2), staged(a, 2)}}, nil, "order"},
		{"merged and not", Index{Entries: []Entry{a, staged(a, 1)}}, nil, "order"},
		{"file and folder", Index{Entries: []Entry{a, file("a/b", modeFile, ID{})}}, nil, "a file and a folder"},
		{"not side by side", Index{Entries: []Entry{a, file("a-b", modeFile, ID{}), file("a/b/c", modeFile, ID{})}}, nil, "a file and a folder"},
		{"behind a conflict", Index{Entries: []Entry{a, staged(file("a/b", modeFile, ID{}), 2), file("a/c", modeFile, ID{})}}, nil, "a file and a folder"},
		{"a conflict of both", Index{Entries: []Entry{staged(a, 2), file("a/b", modeFile, ID{})}}, nil, ""},
		{"deep", Index{Entries: []Entry{file("x/a", modeFile, ID{}), file("x/a.b", modeFile, ID{}), file("x/a/b", modeFile, ID{})}}, nil, "a file and a folder"},
		{"like a folder", Index{Entries: []Entry{a, file("a-b", modeFile, ID{}), file("aa/b", modeFile, ID{})}}, nil, ""},
		{"mode", Index{Entries: []Entry{file("a", 0o100664, ID{})}}, nil, "mode"},
		{"version 1", Index{Entries: []Entry{a}}, set(7, 1), "version"},
		{"version 5", Index{Entries: []Entry{a}}, set(7, 5), "version"},
		{"longer name", Index{Entries: []Entry{a}}, set(flagsAt+1, 2), "another length"},
		{"shorter name", Index{Entries: []Entry{a}}, set(flagsAt+1, 0), "another length"},
		{"more entries", Index{Entries: []Entry{a}}, set(11, 2), "cut off"},
		{"as many as can be said", Index{Entries: []Entry{a}}, set(8, 0xff, 0xff, 0xff, 0xff), "cut off"},
		{"fewer entries", Index{Entries: []Entry{a, b}}, set(11, 1), "the extension"},
		{"version 4", Index{}, func([]byte) []byte { return short(0, a, b) }, ""},
		{"before the name begins", Index{}, func([]byte) []byte { return set(flagsAt+2, 1)(short(0, a)) }, "cut off"},
		{"an endless number", Index{}, func([]byte) []byte { return set(flagsAt+2, 0xff, 0xff, 0xff, 0xff, 0xff)(short(0, a)) }, "cut off"},
		{"long name", Index{Entries: []Entry{file(strings.Repeat("a", maxName), modeFile, ID{})}}, nil, ""},
		{"too long name", Index{Entries: []Entry{file(strings.Repeat("a", maxName+1), modeFile, ID{})}}, nil, "without an end"},
		{"extension of git", Index{}, extension("UNTR", "x"), ""},
		{"extension of the future", Index{}, extension("ZZZZ", "x"), ""},
		{"needed extension", Index{}, extension("zzzz", "x"), `"zzzz"`},
		{"link", Index{}, extension("link", "x"), ""},
		{"bytes behind them", Index{}, func(data []byte) []byte { return append(data[:len(data)-20], make([]byte, 24)...) }, "cut off"},
		{"a long extension", Index{}, func(data []byte) []byte {
			data = extension("ZZZZ", "x")(data)
			data[len(data)-22]++
			return data
		}, "cut off"},
	} {
		data := c.index.Bytes()
		if c.change != nil {
			data = c.change(data)
		}
		_, err := Parse(data)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestMemory: a small index of version 4 cannot stand for large ones.
func TestMemory(t *testing.T) {
	t.Parallel()
	var list []Entry
	long := strings.Repeat("a", maxName-6)
	for i := range 1000 {
		list = append(list, file(fmt.Sprintf("%s%06d", long, i), modeFile, ID{}))
	}
	if _, err := Parse(short(len(long), list...)); err == nil || !strings.Contains(err.Error(), "long names") {
		t.Error(err)
	}
	for i := range list {
		list[i].Name = list[i].Name[maxName-300:]
	}
	if x, err := Parse(short(294, list...)); err != nil || !slices.Equal(x.Entries, list) {
		t.Error(err)
	}
}

// TestBits: what keeps git outside from looking at a file is there where the host had set it.
func TestBits(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	blob := r.id("HEAD:x-y")
	for _, c := range []struct {
		name             string
		was, is, becomes Entry
		sparse           bool
	}{
		{name: "assume unchanged", is: Entry{Flags: assumeValid}},
		{name: "assume unchanged of another content", is: Entry{Flags: assumeValid, ID: blob}, becomes: Entry{ID: blob}},
		{name: "the host's assume unchanged", was: Entry{Flags: assumeValid}, is: Entry{Flags: assumeValid}, becomes: Entry{Flags: assumeValid}},
		{name: "taken off", was: Entry{Flags: assumeValid}},
		{name: "skip", is: Entry{Extra: skipWorktree}},
		{name: "skip in a part of a work tree", is: Entry{Extra: skipWorktree}, becomes: Entry{Extra: skipWorktree}, sparse: true},
		{name: "the host's skip", was: Entry{Extra: skipWorktree}, is: Entry{Extra: skipWorktree, ID: blob}, becomes: Entry{Extra: skipWorktree, ID: blob}},
		{name: "skip taken off", was: Entry{Extra: skipWorktree}},
		{name: "what no git knows", is: Entry{Extra: 0x9000}},
		{name: "to be added", is: Entry{Extra: intentToAdd}, becomes: Entry{Extra: intentToAdd}},
	} {
		t.Run(c.name, func(t *testing.T) {
			host, box := r.index(), r.index()
			for _, e := range []*Entry{&c.was, &c.is, &c.becomes} {
				e.Name, e.Stat = "x-y", file("", modeFile, ID{}).Stat
				if e.ID == (ID{}) {
					e.ID = ID{1}
				}
			}
			host.put(c.was)
			box.put(c.is)
			rules := r.rules()
			rules.Sparse = c.sparse
			checked, err := Check(again(t, box), host, rules)
			if err != nil {
				t.Fatal(err)
			}
			if got := *checked.Index.find(t, "x-y"); got != c.becomes {
				t.Errorf("it is %+v", got)
			}
		})
	}
}

func (x *Index) find(t *testing.T, name string) *Entry {
	t.Helper()
	at := x.at(name)
	if len(at) != 1 {
		t.Fatalf("%d entries of %q", len(at), name)
	}
	return &at[0]
}

// lie gives an entry the times of the file that is in the work tree.
func (r *repo) lie(e *Entry) {
	r.t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(r.dir, e.Name), &st); err != nil {
		r.t.Fatal(err)
	}
	for at, is := range map[int]int64{0: st.Ctim.Sec, 4: st.Ctim.Nsec, 8: st.Mtim.Sec, 12: st.Mtim.Nsec, 16: int64(st.Dev), 20: int64(st.Ino), 28: int64(st.Uid), 32: int64(st.Gid), 36: st.Size} {
		binary.BigEndian.PutUint32(e.Stat[at:], uint32(is))
	}
}

// old makes all that is in the work tree older than the index, so that git believes its times.
const old = "touch -h -d 2001-01-01 a d/b d/e/c x-y l run; "

// TestTimes: a changed file with the times of its entry is seen outside.
func TestTimes(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.sh(old + "git update-index --refresh")
	host := r.index()
	r.sh("echo z >a; rm l; ln -s z l; " + old + "git update-index -q --refresh || :")
	box := *host
	box.Entries = slices.Clone(host.Entries)
	r.lie(box.find(t, "a"))
	r.lie(box.find(t, "l"))
	future := "touch -d 2100-01-01 .git/index; "
	r.write(box.Bytes())
	if status := r.sh(future + "git status --porcelain"); status != "" {
		t.Fatalf("the lie is none: %q", status)
	}
	checked, _ := r.enter(&box, host, r.rules())
	if status := r.sh(future + "git status --porcelain"); status != " M a\n M l\n" {
		t.Errorf("outside: %q", status)
	}
	for _, e := range checked.Index.Entries {
		if was := *host.find(t, e.Name); e != was && e.Name != "a" && e.Name != "l" {
			t.Errorf("%s lost what the host had of it", e.Name)
		}
	}

	// The same files are staged: their times are true, and stay.
	r.write(host.Bytes())
	r.sh("git add a l")
	added := r.index()
	if checked, err := Check(added, host, r.rules()); err != nil || !slices.Equal(checked.Index.Entries, added.Entries) {
		t.Error("true times went", err)
	}
	// Those that the host has are not looked at.
	rules := r.rules()
	rules.True = func(e *Entry) bool { t.Error("looked at", e.Name); return false }
	if checked, err := Check(added, added, rules); err != nil || !slices.Equal(checked.Index.Entries, added.Entries) {
		t.Error("the host's times went", err)
	}
	// Those that are as young as the host's index are: a younger index says that git has looked at the content.
	e := added.find(t, "a")
	rules.Written = e.changed()
	rules.True = func(e *Entry) bool { return e.changed() < rules.Written }
	checked, err := Check(added, added, rules)
	if err != nil || checked.Index.find(t, "a").Stat != e.withoutTimes() {
		t.Error("a time of the moment in which the host's index was written stayed", err)
	}
}

func TestTimesTrue(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.sh("mkdir z; mkfifo z/fifo; ln -s ../d z/d; : >z/empty; ln -s ../a z/file; git add d z/empty")
	data, err := os.ReadFile(filepath.Join(r.dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(r.dir), filepath.Base(r.dir)+"-outside")
	if err := os.WriteFile(outside, data, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(outside)
	a := r.id("HEAD:a")
	change := func(at int) func(e *Entry) { return func(e *Entry) { e.Stat[at]++ } }
	for _, c := range []struct {
		name   string
		mode   uint32
		id     ID
		change func(e *Entry)
		is     bool
	}{
		{"a", modeFile, a, nil, true},
		{"run", modeExecutable, a, nil, true},
		{"d/e/c", modeFile, r.id("HEAD:d/e/c"), nil, true},
		{"z/empty", modeFile, r.id(":z/empty"), nil, true},
		{"l", modeLink, r.id("HEAD:l"), nil, true},
		{"a", modeFile, a, change(3), false},
		{"a", modeFile, a, change(7), false},
		{"a", modeFile, a, change(11), false},
		{"a", modeFile, a, change(15), false},
		{"a", modeFile, a, change(23), false},
		{"a", modeFile, a, change(39), false},
		{"a", modeFile, ID{1}, nil, false},
		{"l", modeLink, ID{1}, nil, false},
		{"l", modeLink, r.id("HEAD:l"), change(11), false},
		{"l", modeFile, r.id("HEAD:l"), nil, false},
		{"l", modeFile, a, nil, false},
		{"a", modeLink, a, nil, false},
		{"a", modeGitlink, ID{1}, nil, false},
		{"d", modeGitlink, r.id("HEAD"), nil, false},
		{"d", modeFile, ID{1}, nil, false},
		{"z/d/b", modeFile, r.id("HEAD:d/b"), nil, false},
		{"z/fifo", modeFile, ID{1}, nil, false},
		{"z/file", modeFile, a, nil, false},
		{"../" + filepath.Base(outside), modeFile, a, nil, false},
	} {
		e := file(c.name, c.mode, c.id)
		r.lie(&e)
		if c.change != nil {
			c.change(&e)
		}
		if is := r.rules().True(&e); is != c.is {
			t.Errorf("%s, mode %o: %t", c.name, c.mode, is)
		}
	}
	gone := file("gone/x", modeFile, a)
	if r.rules().True(&gone) {
		t.Error("of a file that is not there")
	}
}

// TestTrees: a commit outside has the tree of the entries, whatever a box says is cached.
func TestTrees(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.sh("mkdir d/f; echo g >d/f/g; git add .; git commit -qm 2; git read-tree HEAD") // all trees are known
	host := r.index()
	truth := r.sh("git write-tree")

	// A lie, as git outside would believe it: the names of the trees are swapped in the file.
	raw := func(name string) []byte { id := r.id(name); return id[:] }
	lie := bytes.Replace(r.bytes(), raw("HEAD^{tree}"), raw("HEAD~^{tree}"), 1)
	sum := sha1.Sum(lie[:len(lie)-20])
	r.write(append(lie[:len(lie)-20], sum[:]...))
	if r.sh("git status --porcelain; git write-tree") == truth {
		t.Error("git does not believe the attack, which shows nothing")
	}
	r.enter(r.index(), host, r.rules())
	if r.sh("git status --porcelain; git write-tree") != truth {
		t.Error("outside")
	}
}

// TestBlobs: what the host must have is named once, and nothing else.
func TestBlobs(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.sh("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub")
	host := r.index()
	r.sh("echo 1 >n1; cp n1 n2; git add n1 n2; chmod +x a; git add a; git rm -q --cached x-y; git update-index --cacheinfo 160000,$(git rev-parse HEAD:d),sub")
	box := r.index()
	checked, err := Check(again(t, box), host, r.rules())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("%x", r.id("HEAD:a")), fmt.Sprintf("%x", r.id(":n1"))}
	if !reflect.DeepEqual(checked.Blobs, want) {
		t.Errorf("%q", checked.Blobs)
	}
	if checked, err := Check(box, box, r.rules()); err != nil || checked.Blobs != nil {
		t.Error(checked, err)
	}
	if checked, err := Check(box, &Index{}, r.rules()); err == nil {
		t.Error("a host without an index has a submodule", checked)
	}
}

// TestHints: only what is understood stays.
func TestHints(t *testing.T) {
	t.Parallel()
	for _, shape := range shapes {
		if shape.entries > 100 {
			continue
		}
		r := newRepo(t)
		host := r.index()
		if shape.name == "gitlink" {
			host.put(file("sub", modeGitlink, ID{}))
		}
		r.sh(shape.script)
		before := r.sh("git ls-files -s")
		_, after := r.enter(r.index(), host, r.rules())
		if after != before {
			t.Errorf("%s: %s", shape.name, after)
		}
		data := r.bytes()
		for _, name := range []string{"UNTR", "FSMN", "IEOT", "TREE", "REUC"} {
			if bytes.Contains(data, []byte(name)) {
				t.Errorf("%s: %s stays", shape.name, name)
			}
		}
		if out := r.sh("git -c index.threads=2 ls-files -v"); strings.Contains(out, "h ") || strings.Contains(out, "S ") {
			t.Errorf("%s: %s", shape.name, out)
		}
	}
}

// TestEnd: the last extension is ours, so that git with threads finds no other.
func TestEnd(t *testing.T) {
	t.Parallel()
	forged := "EOIE\x00\x00\x00\x18" + strings.Repeat("x", 24)
	e := file(forged, modeFile, ID{})
	x := Index{Entries: []Entry{e}}
	data := x.Bytes()
	end := data[len(data)-52 : len(data)-20]
	want := sha1.Sum(nil)
	if string(end[:8]) != "EOIE\x00\x00\x00\x18" || int(binary.BigEndian.Uint32(end[8:])) != len(data)-52 || !bytes.Equal(end[12:], want[:]) {
		t.Errorf("%q", end)
	}
}

// TestProtected: of a file that the box may not write, the host's index says what it said, or what
// the box checked out has.
func TestProtected(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.sh("git update-index --assume-unchanged d/b")
	host := r.index()
	rules := r.rules()
	rules.Protected = func(path string) bool { return strings.HasPrefix(path, "d/") || path == "new" }

	// As the box sees it, the files may look otherwise.
	served, err := host.Served(rules.Protected)
	if err != nil {
		t.Fatal(err)
	}
	r.write(served)
	if out := r.sh("git ls-files -v"); out != "H a\ns d/b\nS d/e/c\nH l\nH run\nH x-y\n" {
		t.Errorf("served: %q", out)
	}
	box := r.index()
	if checked, _ := r.enter(box, host, rules); !slices.Equal(checked.Index.Entries, host.Entries) || checked.Away != nil {
		t.Error("what the box did not change is another")
	}

	for _, c := range []struct {
		name   string
		host   func(x *Index)
		box    func(x *Index)
		is     *Entry // d/b afterwards
		away   string
		sparse bool
	}{
		{name: "bits and times", box: func(x *Index) { e := x.find(t, "d/b"); e.Stat[3]++; e.Flags, e.Extra = 0, intentToAdd }, is: host.find(t, "d/b")},
		{name: "another content", box: func(x *Index) {
			*x.find(t, "d/b") = Entry{Name: "d/b", ID: ID{1}, Stat: file("", modeFile, ID{}).Stat, Extra: skipWorktree}
		}, is: ptr(file("d/b", modeFile, ID{1})), away: "d/b"},
		{name: "in a part of a work tree", sparse: true, box: func(x *Index) {
			*x.find(t, "d/b") = Entry{Name: "d/b", ID: ID{1}, Stat: file("", modeFile, ID{}).Stat, Extra: skipWorktree}
		}, is: ptr(file("d/b", modeFile, ID{1})), away: "d/b"},
		{
			name: "which the host has not there", host: func(x *Index) { x.find(t, "d/b").Extra = skipWorktree },
			box: func(x *Index) { *x.find(t, "d/b") = file("d/b", modeFile, ID{1}) },
			is:  &Entry{Name: "d/b", ID: ID{1}, Stat: file("", modeFile, ID{}).Stat, Extra: skipWorktree}, away: "d/b",
		},
		{name: "gone", box: func(x *Index) { x.remove("d/e/c") }, is: host.find(t, "d/b"), away: "-d/e/c"},
		{name: "new", box: func(x *Index) { x.put(Entry{Name: "new", Stat: file("", modeFile, ID{}).Stat, Extra: skipWorktree}) }, is: host.find(t, "d/b"), away: "+new"},
		{name: "in a conflict", box: func(x *Index) { x.remove("d/e/c"); x.put(staged(file("d/e/c", modeFile, ID{1}), 2)) }, is: host.find(t, "d/b")},
		{name: "not protected", box: func(x *Index) { x.remove("a"); x.put(file("b", modeFile, ID{1})) }, is: host.find(t, "d/b")},
	} {
		t.Run(c.name, func(t *testing.T) {
			host, box := *host, *box
			host.Entries = slices.Clone(host.Entries)
			box.Entries = slices.Clone(box.Entries)
			if c.host != nil {
				c.host(&host)
			}
			c.box(&box)
			rules := rules
			rules.Sparse = c.sparse
			checked, err := Check(again(t, &box), &host, rules)
			if err != nil {
				t.Fatal(err)
			}
			if got := *checked.Index.find(t, "d/b"); got != *c.is {
				t.Errorf("it is %+v", got)
			}
			away := ""
			for _, change := range checked.Away {
				switch {
				case change.Is == nil:
					away += "-" + change.Was.Name
				case change.Was == nil:
					away += "+" + change.Is.Name
				default:
					away += change.Is.Name
				}
			}
			if away != c.away {
				t.Errorf("told: %q", away)
			}
			for _, e := range checked.Index.Entries {
				if e.Name == "new" && e.Extra != 0 {
					t.Error("the served bit stays")
				}
			}
		})
	}
}

func ptr(e Entry) *Entry { return &e }
