package git

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// linksOf returns the places of other repositories in an index.
func linksOf(t *testing.T, data []byte, size int64, digits int) (links []string, err error) {
	t.Helper()
	r := &Repo{Top: t.TempDir(), Dir: t.TempDir(), Digits: digits}
	index := filepath.Join(r.Dir, "index")
	if err := os.WriteFile(index, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if size > 0 {
		if err := os.Truncate(index, size); err != nil {
			t.Fatal(err)
		}
	}
	links, _, err = Gitlinks(r)
	return links, err
}

// The index is read as git writes it, in each of its versions.
func TestIndexVersions(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		for format, digits := range map[string]int{"sha1": 40, "sha256": 64} {
			top := t.TempDir()
			script(t, top, "git init -q --object-format="+format+" .; mkdir -p deep/er; for f in a ab abc deep/er/x deep/y z; do echo x >$f; done; git add .; echo y >new; git add -N new; "+
				"for p in deep/er/link sub; do git update-index --add --cacheinfo 160000,$(git hash-object -w a),$p; done; git update-index --index-version "+version)
			data, err := os.ReadFile(filepath.Join(top, ".git/index"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := linksOf(t, data, 0, digits); !slices.Equal(got, []string{"deep/er/link", "sub"}) || err != nil {
				t.Errorf("version %s, %s: %q, %v", version, format, got, err)
			}
		}
	}
}

// An index of a gigabyte in which there is nothing costs neither memory nor time,
// whatever its head says, and one that is larger than any is not read.
func TestSparseIndex(t *testing.T) {
	for _, head := range []string{"", "DIRC\x00\x00\x00\x02\x00\x00\x00\x01", "DIRC\x00\x00\x00\x04\xff\xff\xff\xff", "DIRC\x00\x00\x00\x02\x00\x00\x00\x00link\x00\x00\x00\x14\x01"} {
		for _, size := range []int64{400 << 20, 1 << 30} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := linksOf(t, []byte(head), size, 40); err == nil {
				t.Errorf("%q, %d bytes: an index that git refuses was read to its end", head, size)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
				t.Errorf("%q: %d bytes of memory", head, n)
			}
		}
	}
}

// An index that git reads in another way is not read, nor one of longer names than a file can have, in little memory.
func TestOddIndex(t *testing.T) {
	head := func(version, count uint32) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("DIRC"), version), count)
	}
	one := func(mode uint32, length uint16, rest string) []byte {
		b := binary.BigEndian.AppendUint32(make([]byte, 24), mode)
		return append(binary.BigEndian.AppendUint16(append(b, make([]byte, 32)...), length), rest...)
	}
	const file, gitlink = 0o100644, 0o160000
	link, sum := one(gitlink, 3, "sub\x00\x00\x00\x00\x00\x00\x00"), make([]byte, 20)
	for name, c := range map[string]struct {
		data []byte
		ok   bool
	}{
		"one":             {slices.Concat(head(2, 1), link, sum), true},
		"a longer length": {slices.Concat(head(2, 2), one(file, 11, "a"+strings.Repeat("\x00", 17)), link, sum), false},
		"cut off":         {slices.Concat(head(2, 2), link, sum), false},
	} {
		if got, err := linksOf(t, c.data, 0, 40); (err == nil) != c.ok || c.ok && !slices.Equal(got, []string{"sub"}) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	data := append(head(4, 20001), one(file, 0xfff, "\x00"+strings.Repeat("a", 1<<20)+"\x00")...)
	for range 20000 {
		data = append(data, one(file, 0xfff, "\x01b\x00")...)
	}
	data = append(data, sum...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := linksOf(t, data, 0, 40)
	if runtime.ReadMemStats(&after); err == nil || after.TotalAlloc-before.TotalAlloc > 64<<20 {
		t.Errorf("%v, %d bytes", err, after.TotalAlloc-before.TotalAlloc)
	}
}

// FuzzIndex: no index makes the reader fail.
func FuzzIndex(f *testing.F) {
	for _, version := range []string{"\x02", "\x03", "\x04"} {
		f.Add([]byte("DIRC\x00\x00\x00" + version + "\x00\x00\x00\x01" + strings.Repeat("\x00", 24) + "\x00\x00\xe0\x00" + strings.Repeat("\x00", 32) + "\x00\x03sub\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x00", 20)))
	}
	f.Add([]byte("DIRC\x00\x00\x00\x04\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		links, _ := linksOf(t, data, 0, 40)
		for _, p := range links {
			if strings.Contains(p, "\x00") {
				t.Fatalf("%q", p)
			}
		}
	})
}
