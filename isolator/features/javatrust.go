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
)

// javaStore is what a box trusts in the place of a store of Java's, whose older form (JKS) each Java reads in the place
// of its own, without a password or with the usual one. It lacks its end until all is there.
type javaStore struct {
	at   string
	data []byte
}

const javaHead = "\xfe\xed\xfe\xed\x00\x00\x00\x02" // and the number of entries

// javaStores are those in the place of the store of each Java that this computer has; where the box does not show one,
// or hides what it is, nothing is laid. Java reads no variable that names certificates.
func javaStores(run *Run, system []byte) (list []javaStore) {
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
		if err != nil || run.hides(real) || slices.ContainsFunc(list, func(s javaStore) bool { return s.at == real }) {
			continue
		}
		if base, err := files.Read(real, files.NoLinks, 8<<20); err == nil {
			list = append(list, newJavaStore(real, base, system))
		}
	}
	return list
}

// newJavaStore has what is in base, where that has this form, else what the system trusts.
func newJavaStore(at string, base, system []byte) javaStore {
	s := javaStore{at, []byte(javaHead + "\x00\x00\x00\x00")}
	if bytes.HasPrefix(base, []byte(javaHead)) && len(base) >= len(s.data)+sha1.Size {
		s.data = base[:len(base)-sha1.Size]
	} else {
		s.add(system)
	}
	return s
}

// add adds certificates.
func (s *javaStore) add(list []byte) {
	store, number := s.data, binary.BigEndian
	count := number.Uint32(store[len(javaHead):])
	text := func(s string) { store = append(number.AppendUint16(store, uint16(len(s))), s...) }
	for block, rest := pem.Decode(list); block != nil; block, rest = pem.Decode(rest) {
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
	number.PutUint32(store[len(javaHead):], count)
	s.data = store
}

// with is the whole store, with one's own certificates.
func (s javaStore) with(own []byte) []byte {
	s.add(own)
	digest := sha1.New() // with the usual password, which secures nothing
	digest.Write([]byte("\x00c\x00h\x00a\x00n\x00g\x00e\x00i\x00tMighty Aphrodite"))
	digest.Write(s.data)
	return digest.Sum(s.data)
}
