package review

import "testing"

// TestRunLike tells ids of runs from paths, also of runs that are gone.
func TestRunLike(t *testing.T) {
	for word, want := range map[string]bool{
		"20260131-150405-ab12": true, "20260131-150405": true, "20269931-150405": false, "src/main.go": false, "20260131": false, "": false,
	} {
		if RunLike(word) != want {
			t.Errorf("%q: %v", word, !want)
		}
	}
}

// TestMeant reads words that name no run as paths of the latest.
func TestMeant(t *testing.T) {
	for _, c := range []struct {
		words []string
		run   string
		named int
	}{
		{nil, "", 0},
		{[]string{"src", "go.mod"}, "", 2},
		{[]string{"20260131-150405-ab12", "src"}, "20260131-150405-ab12", 1}, // gone
	} {
		run, named, err := Meant(nil, c.words)
		if run != c.run || len(named) != c.named || err != nil {
			t.Errorf("%q: %q %q %v", c.words, run, named, err)
		}
	}
}
