package host

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkHide looks for what patterns of a profile match in a project of 50,000 files.
func BenchmarkHide(b *testing.B) {
	root := b.TempDir()
	for i := range 500 {
		dir := filepath.Join(root, fmt.Sprintf("d%d/e%d/f%d", i%10, i%50, i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		for j := range 100 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%d.go", j)), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, list := range map[string][]string{
		"one": {root + "/**/*.pem"},
		"ten": {
			root + "/**/*.pem", root + "/**/*.key", root + "/**/.env*", "!" + root + "/**/.env.example", root + "/**/secret.txt", root + "/**/id_[a-z]*",
			root + "/conf/**/*.toml", root + "/**/private/", root + "/d1/*/f?/x*y*z", root + "/**/*[!a-z0-9._-]*",
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				h := &hider{looker: newLooker(), found: map[string]bool{}, left: hideEntries, until: time.Now().Add(time.Minute)}
				if err := h.find(list); err != nil || len(h.found) > 0 {
					b.Fatal(err, h.found)
				}
			}
		})
	}
}
