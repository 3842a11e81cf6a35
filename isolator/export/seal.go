package export

import (
	"bytes"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"sync"
)

// Namespace is what a key signs objects for.
const Namespace = "inner-export"

// noteSignature is the annotation with the signature of all objects of one export.
const noteSignature = "inner.dev/signature"

// The signature is in each object, on the line after the digest of the profile. The expressions
// are compiled when they are used: inner is started for each command of an agent.
var (
	hashLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^    ` + regexp.QuoteMeta(noteHash) + `: .*\n`)
	})
	sealLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^    ` + regexp.QuoteMeta(noteSignature) + `: ([A-Za-z0-9+/=]+|"[A-Za-z0-9+/=]+")\n`)
	})
)

// The frame of a signature of ssh-keygen.
const (
	armourBegin = "-----BEGIN SSH SIGNATURE-----\n"
	armourEnd   = "-----END SSH SIGNATURE-----\n"
)

// Seal writes a signature of text, as ssh-keygen makes it, into each object of text that has the
// digest of the profile. The signature is of the whole text, with all objects in their order.
func Seal(text, signature []byte) ([]byte, error) {
	body, begins := strings.CutPrefix(string(signature), armourBegin)
	body, ends := strings.CutSuffix(body, armourEnd)
	if body = strings.Join(strings.Fields(body), ""); !begins || !ends || body == "" {
		return nil, errors.New("it is not a signature of ssh-keygen")
	}
	return seal(text, body)
}

func seal(text []byte, body string) ([]byte, error) {
	objects, sealed := bytes.SplitAfter(text, []byte("\n---\n")), false
	for i, o := range objects {
		at := hashLine().FindIndex(o)
		if at == nil { // a pod of podman
			continue
		}
		sealed = true
		objects[i] = bytes.Join([][]byte{o[:at[1]], []byte("    " + noteSignature + ": " + scalar(body) + "\n"), o[at[1]:]}, nil)
	}
	if !sealed {
		return nil, errors.New("no object has the digest of a profile, beside which the signature would stand")
	}
	return bytes.Join(objects, nil), nil
}

// Unseal takes the signature out of sealed objects. It returns the text that was signed, and the
// signature as ssh-keygen reads it. It refuses objects that differ from what Seal makes of that
// text: with a signature elsewhere, or with one that not every object has.
func Unseal(sealed []byte) (text, signature []byte, err error) {
	line := sealLine().FindSubmatch(sealed)
	if line == nil {
		return nil, nil, errors.New("the objects are not signed: inner export --sign KEY")
	}
	body := strings.Trim(string(line[1]), `"`)
	text = sealLine().ReplaceAll(sealed, nil)
	again, err := seal(text, body)
	if err != nil {
		return nil, nil, err
	}
	data, err := base64.StdEncoding.DecodeString(body)
	if err != nil || !bytes.Equal(again, sealed) {
		return nil, nil, errors.New("not every object has the same signature, at its place")
	}
	return text, []byte(armourBegin + base64.StdEncoding.EncodeToString(data) + "\n" + armourEnd), nil
}
