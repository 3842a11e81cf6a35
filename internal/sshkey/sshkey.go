// Package sshkey reads public keys of ssh. What they sign is package sshsig.
package sshkey

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

// Key is a public key of ssh.
type Key struct {
	Type string // ssh-ed25519, …
	Blob string // as in a .pub file, base64
}

// Parse reads a line of a .pub file and ignores what follows the key.
func Parse(line string) (Key, error) {
	words := strings.Fields(line)
	if len(words) >= 2 {
		data, err := base64.StdEncoding.DecodeString(words[1])
		if name, ok := Field(data); err == nil && ok && string(name) == words[0] {
			return Key{words[0], words[1]}, nil
		}
	}
	return Key{}, fmt.Errorf("%q is not a public key of ssh, a line as in FILE.pub", line)
}

// Line returns the key as a .pub file has it.
func (k Key) Line() string { return k.Type + " " + k.Blob }

// Fingerprint returns the one that ssh-keygen -l prints.
func (k Key) Fingerprint() string {
	data, _ := base64.StdEncoding.DecodeString(k.Blob) // Parse has checked it
	sum := sha256.Sum256(data)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Field returns the string of RFC 4251 that data begins with.
func Field(data []byte) (text []byte, ok bool) {
	if len(data) < 4 || uint64(binary.BigEndian.Uint32(data)) > uint64(len(data)-4) {
		return nil, false
	}
	return data[4 : 4+binary.BigEndian.Uint32(data)], true
}
