package shared

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/sshkey"
	"github.com/enr/inner/internal/sshsig"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/remote"
	"github.com/enr/inner/profile/strict"
)

// Opened is an index whose signature holds.
type Opened struct {
	From   string // where it is: a URL, or an absolute path
	Key    sshkey.Key
	Index  Index
	SHA256 string // of the index

	read func(name string) ([]byte, error)
}

func (o *Opened) id() string { return o.Index.Name + " " + o.Key.Line() }

// Programs are those of the host that an index is read and checked with.
type Programs struct {
	SSHKeygen string // path

	Fetch func(url string) (remote.Page, error)

	// Git returns the files of a repository at its HEAD, nil for one that it does not have.
	Git func(ctx context.Context, repo string) (read func(name string) ([]byte, error), err error)
}

// Open reads an index and checks its signature. from is a folder, a repository of git (a URL
// that ends in .git, or a bare one on this computer), or the https URL of a folder.
func Open(ctx context.Context, from string, p Programs) (*Opened, error) {
	o := &Opened{From: from}
	var err error
	switch {
	case profile.IsURL(from) && !strings.HasSuffix(from, ".git"):
		o.From = strings.TrimSuffix(from, "/")
		if err := remote.Check(o.From); err != nil {
			return nil, err
		}
		o.read = func(name string) ([]byte, error) {
			page, err := p.Fetch(o.From + "/" + name)
			return page.Data, err
		}
	case profile.IsURL(from):
		o.read, err = p.Git(ctx, from)
	default:
		if o.From, err = filepath.Abs(from); err != nil {
			return nil, err
		}
		o.read = o.fromFolder
		_, noIndex := os.Lstat(filepath.Join(o.From, IndexFile))
		if _, noHead := os.Lstat(filepath.Join(o.From, "HEAD")); noIndex != nil && noHead == nil {
			o.read, err = p.Git(ctx, o.From)
		}
	}
	if err != nil {
		return nil, err
	}
	return o, o.verify(ctx, p.SSHKeygen)
}

func (o *Opened) fromFolder(name string) ([]byte, error) {
	read, err := profile.ReadFile(filepath.Join(o.From, name))
	return read.Data, err
}

// verify reads the index, when its signature is one.
func (o *Opened) verify(ctx context.Context, program string) error {
	data, err := o.read(IndexFile)
	if err != nil {
		return err
	}
	signature, err := o.read(SignatureFile)
	if err != nil {
		return err
	}
	if o.Key, err = sshsig.Signer(signature); err != nil {
		return fmt.Errorf("%s of %s: %w", SignatureFile, o.From, err)
	}
	if err := sshsig.Verify(ctx, program, o.Key, Namespace, data, signature); err != nil {
		return fmt.Errorf("%s of %s: %w", IndexFile, o.From, err)
	}
	o.SHA256 = digest(data)
	o.Index, err = Parse(data)
	return err
}

// Profile returns the profile of that name, whose bytes have the digest of the index.
func (o *Opened) Profile(name string) (Entry, profile.File, error) {
	var names []string
	for _, e := range o.Index.Profiles {
		if e.Name != name {
			names = append(names, e.Name)
			continue
		}
		data, err := o.read(name + ".toml")
		if err != nil {
			return e, profile.File{}, err
		}
		file := profile.File{Path: o.From + "/" + name + ".toml", Digest: digest(data), Data: data}
		if file.Digest != e.SHA256 {
			return e, file, fmt.Errorf("%s has the sha256 %s, and the index lists %s", file.Path, file.Digest, e.SHA256)
		}
		return e, file, nil
	}
	text := fmt.Sprintf("index %q has no profile %q", o.Index.Name, name)
	if hint := strict.DidYouMean(name, names); hint != "" {
		text += ": " + hint
	}
	return Entry{}, profile.File{}, errors.New(text)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
