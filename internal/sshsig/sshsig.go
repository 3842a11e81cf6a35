// Package sshsig signs and checks bytes with the keys of ssh, by ssh-keygen -Y.
//
// A signature carries the key that made it. Signer reads that, and proves nothing; Verify
// says whether one key, which the caller knows, has signed these bytes for one namespace.
package sshsig

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/sshkey"
)

// Signer returns the key that a signature says it was made with. The format is in
// PROTOCOL.sshsig of OpenSSH: "SSHSIG", a version of four bytes, the key, …
func Signer(signature []byte) (sshkey.Key, error) {
	text := strings.TrimSpace(string(signature))
	text, begins := strings.CutPrefix(text, "-----BEGIN SSH SIGNATURE-----")
	text, ends := strings.CutSuffix(text, "-----END SSH SIGNATURE-----")
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	data, magic := bytes.CutPrefix(data, []byte("SSHSIG"))
	if begins && ends && err == nil && magic && len(data) > 4 {
		blob, _ := sshkey.Field(data[4:])
		if name, ok := sshkey.Field(blob); ok {
			return sshkey.Parse(string(name) + " " + base64.StdEncoding.EncodeToString(blob))
		}
	}
	return sshkey.Key{}, errors.New("it is not a signature of ssh-keygen -Y sign")
}

// Sign returns the signature of data for a namespace. key is the file of a private key, or of
// the public half of one that an agent of ssh holds; program is the path of ssh-keygen, which
// may ask for a passphrase on the terminal.
func Sign(ctx context.Context, program, key, namespace string, data []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, "-q", "-Y", "sign", "-f", key, "-n", namespace)
	var out, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(data), &out, &complaint
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("ssh-keygen cannot sign with %q: %s", key, first(complaint.String(), err))
	}
	return out.Bytes(), nil
}

// Verify returns nil when the key signed data for a namespace. program is as for Sign.
func Verify(ctx context.Context, program string, key sshkey.Key, namespace string, data, signature []byte) error {
	dir, err := os.MkdirTemp("", "sshsig")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	signers, sig := filepath.Join(dir, "signers"), filepath.Join(dir, "sig")
	err = errors.Join(
		os.WriteFile(signers, []byte("signer namespaces=\""+namespace+"\" "+key.Line()+"\n"), 0o600),
		os.WriteFile(sig, signature, 0o600),
	)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "-q", "-Y", "verify", "-f", signers, "-I",
		"signer", "-n", namespace, "-s", sig)
	cmd.Env = []string{"LC_ALL=C", "HOME=" + dir}
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(data), &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the signature is not valid: %s", first(complaint.String(), err))
	}
	return nil
}

// first returns the first line of what a program said, or its error.
func first(said string, err error) string {
	lines := slices.DeleteFunc(strings.Split(said, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	if len(lines) == 0 {
		return err.Error()
	}
	return strings.TrimSpace(lines[0])
}
