package share

import "testing"

// A file is kept for one open, of the name and the file that was found, and not once the box holds a lock.
func TestPins(t *testing.T) {
	p := &pins{}
	if p.wanted("HEAD") {
		t.Error("nothing was stale")
	}
	taken := func(file uint64, take bool) bool { return p.with("HEAD", file, take, func(*handle) {}) }
	keep := func() {
		if p.stale("HEAD"); !p.wanted("HEAD") {
			t.Fatal("it is not wanted")
		}
		p.put("HEAD", pin{h: &handle{fd: -1}, file: 7})
	}
	keep()
	if taken(8, true) || !taken(7, false) || !taken(7, true) || taken(7, true) {
		t.Error("it is that file, and it is taken once")
	}
	keep()
	if p.forget(); taken(7, true) {
		t.Error("it is there although a lock was made")
	}
	for i := range 3 * mostPins {
		p.put(string(rune('a'+i)), pin{h: &handle{fd: -1}, file: 1})
	}
	if len(p.list) > mostPins {
		t.Errorf("%d are kept", len(p.list))
	}
}
