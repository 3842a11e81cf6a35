package features

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/plan"
)

// trustJava lays what a box trusts over the store of each Java that this computer has; where the box does not show
// one, or hides what it is, nothing is laid. Java reads no variable that names certificates.
func trustJava(run *Run, all, own []byte, reason string) {
	homes := []string{"/usr/lib/jvm/*", "/opt/*", run.Getenv("JAVA_HOME")}
	for _, dir := range []string{".sdkman/candidates/java", ".jdks", ".asdf/installs/java", ".local/share/mise/installs/java"} {
		homes = append(homes, filepath.Join(run.Home, dir, "*"))
	}
	if java, err := run.FindReal("java", run.Getenv("PATH")); err == nil {
		homes = append(homes, filepath.Dir(filepath.Dir(files.Real(java))))
	}
	var stores []string
	for _, home := range homes {
		for _, dir := range []string{"lib", "jre/lib"} {
			found, _ := filepath.Glob(filepath.Join("/", home, dir, "security/cacerts"))
			stores = append(stores, found...)
		}
	}
	for _, at := range stores {
		real, err := run.unplanted(at)
		known := func(p plan.Part) bool { return p.Op.Dest == real }
		if err != nil || run.hides(real) || slices.ContainsFunc(run.Assets.Parts, known) {
			continue
		}
		if base, err := files.Read(real, files.NoLinks, 8<<20); err == nil {
			run.Assets.Parts = append(run.Assets.Parts, systemFile(real, javaStore(base, all, own), reason))
		}
	}
}

// javaStore is a store in Java's older form (JKS), which each Java reads in the place of its own, without a password or
// with the usual one: what is in base, where that has this form, else what the system trusts; and one's own
// certificates.
func javaStore(base, all, own []byte) []byte {
	const head = "\xfe\xed\xfe\xed\x00\x00\x00\x02" // and the number of entries
	store, number := []byte(head+"\x00\x00\x00\x00"), binary.BigEndian
	if bytes.HasPrefix(base, []byte(head)) && len(base) >= len(store)+sha1.Size {
		store, all = slices.Clone(base[:len(base)-sha1.Size]), own
	}
	count := number.Uint32(store[len(head):])
	text := func(s string) { store = append(number.AppendUint16(store, uint16(len(s))), s...) }
	for block, rest := pem.Decode(all); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		store = number.AppendUint32(store, 2) // trusted
		text(fmt.Sprint("inner-", count))
		store = number.AppendUint64(store, uint64(time.Now().UnixMilli()))
		text("X.509")
		store = append(number.AppendUint32(store, uint32(len(block.Bytes))), block.Bytes...)
		count++
	}
	number.PutUint32(store[len(head):], count)
	digest := sha1.New() // with the usual password, which secures nothing
	digest.Write([]byte("\x00c\x00h\x00a\x00n\x00g\x00e\x00i\x00tMighty Aphrodite"))
	digest.Write(store)
	return digest.Sum(store)
}
