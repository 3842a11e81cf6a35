// Package remote downloads profiles: which URLs are accepted, what a profile is called
// here, and how its bytes are fetched.
//
// It promises that a URL that is not https is refused (http only to a loopback
// address written as a number, for tests), that at most a mebibyte is read
// within thirty seconds, and that every error names the URL. It writes nothing
// to disk and believes nothing: what the bytes say is for package profile to
// judge, and whether they may run for the person at the keyboard.
//
// The http client itself is in remote/fetch. It is a large thing to start, and
// every start of inner would pay for it; so a program beside inner has it.
package remote

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/enr/inner/profile"
)

// maxURL is more than any link a person pastes.
const maxURL = 2048

// Check reports why a URL is not fetched, or nil.
func Check(raw string) error {
	fail := func(why string) error { return fmt.Errorf("%q %s", raw, why) }
	if len(raw) > maxURL {
		return fmt.Errorf("%q is longer than %d bytes", raw[:80]+"…", maxURL)
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return fail("contains a space or a control character")
	}
	u, err := url.Parse(raw)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return fail("is not a URL: " + err.Error())
	}
	switch {
	case u.User != nil:
		u.User = nil // not shown: it may be a password
		return fmt.Errorf("%q with credentials in it is not fetched", u.String())
	case u.Host == "" || u.Opaque != "":
		return fail("names no host")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return fail("is not https")
}

// loopback accepts addresses only: what a name leads to is for others to say.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// Name is what a profile from a URL is called: the last part of its path.
func Name(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", fmt.Errorf("%q is not a URL", raw)
	}
	name := strings.TrimSuffix(path.Base(u.Path), ".toml")
	if err := profile.CheckName(name); err != nil {
		return "", fmt.Errorf("%q gives the profile no name: %w", raw, err)
	}
	return name, nil
}

// ParseDigest reads the digest of --sha256: 64 hex digits, in any case, with or
// without "sha256:".
func ParseDigest(text string) (string, error) {
	digest := strings.ToLower(strings.TrimPrefix(text, "sha256:"))
	if b, err := hex.DecodeString(digest); err != nil || len(b) != 32 {
		return "", fmt.Errorf("%q is not a sha256 digest: 64 hex digits", text)
	}
	return digest, nil
}

// Page is what was at a URL.
type Page struct {
	Data []byte
	Hops []string // the hosts it was sent on to, each when it changed
}

// Answer is what the fetching program prints, as JSON.
type Answer struct {
	Page  Page
	Error string `json:",omitempty"`
}

// Get reads what is at a URL that Check accepts, within thirty seconds, by a program that prints an Answer.
// Of the environment the program gets what a fetch depends on, and nothing else.
func Get(cmd *exec.Cmd, raw string) (Page, error) {
	if err := Check(raw); err != nil {
		return Page{}, err
	}
	cmd.Env, cmd.Dir = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains([]string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "RES_OPTIONS", "LOCALDOMAIN"}, strings.ToUpper(name))
	}), "/"
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Start()
	if err == nil {
		// It stops by itself; this is for one that does not.
		defer time.AfterFunc(40*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
		err = cmd.Wait()
	}
	var a Answer
	if json.Unmarshal(out.Bytes(), &a) != nil || a.Error == "" && err != nil {
		first, _, _ := strings.Cut(complaint.String(), "\n")
		return Page{}, fmt.Errorf("%q cannot be fetched: %w: %s", raw, err, first)
	}
	if a.Error != "" {
		return Page{}, errors.New(a.Error)
	}
	return a.Page, nil
}
