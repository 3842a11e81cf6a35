package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/sshkey"
	"github.com/enr/inner/internal/sshsig"
	"github.com/enr/inner/isolator/export"
	"github.com/enr/inner/profile"
)

// signed signs exported objects. A key that would sign otherwise the next time is refused:
// the same export is the same bytes.
func (a *app) signed(text []byte, key string) ([]byte, error) {
	program, err := a.SSHKeygen()
	if err != nil {
		return nil, err
	}
	signature, err := sshsig.Sign(context.Background(), program, key, export.Namespace, text)
	if err != nil {
		return nil, fault.Refuse(125, "--sign takes the file of an ssh key: ssh-keygen -t ed25519 -f FILE makes one", "%v", err)
	}
	signer, err := sshsig.Signer(signature)
	if err != nil {
		return nil, err
	}
	if !signer.Repeatable() {
		return nil, &fault.Refusal{
			Code: 125, Msg: fmt.Sprintf("a key of the type %s signs the same objects differently each time", signer.Type), Hint: "ssh-keygen -t ed25519 -f FILE",
		}
	}
	return export.Seal(text, signature)
}

func (a *app) cmdExportVerify() *cobra.Command {
	var keys []string
	c := &cobra.Command{
		Use: "verify --key FILE.pub [OBJECTS]", Short: "Check who signed exported objects",
		Long: "Check that the objects of a file, or of standard input, are what one of these keys signed with\n" +
			"inner export --sign: all of them, unchanged, in their order. Exit code 0 when they are, 1 when not.",
		Args: cobra.MaximumNArgs(1),
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error {
			if len(keys) == 0 {
				return cli.Usagef("--key is missing: name the public key of the signer, FILE.pub")
			}
			return a.verifyExport(args, keys)
		}),
	}
	c.Flags().StringArrayVar(&keys, "key", nil, "the public key of one who may sign: `FILE.pub` (repeatable)")
	return c
}

// verifyExport checks the signature of objects.
func (a *app) verifyExport(args, keys []string) error {
	var sealed []byte
	var err error
	if len(args) == 1 {
		sealed, err = os.ReadFile(args[0])
	} else {
		sealed, err = io.ReadAll(a.In)
	}
	if err != nil {
		return err
	}
	program, err := a.SSHKeygen()
	if err != nil {
		return err
	}
	no := func(format string, args ...any) error {
		return &fault.Refusal{Code: 1, Kind: fault.KindNotTrusted, Msg: fmt.Sprintf(format, args...)}
	}
	text, signature, err := export.Unseal(sealed)
	if err != nil {
		return no("%v", err)
	}
	signer, err := sshsig.Signer(signature)
	if err != nil {
		return no("%v", err)
	}
	for _, file := range keys {
		read, err := profile.ReadFile(file)
		if err != nil {
			return err
		}
		key, err := sshkey.Parse(string(read.Data))
		if err != nil {
			return cli.Usagef("--key: %w", err)
		}
		if key != signer {
			continue
		}
		if err := sshsig.Verify(context.Background(), program, key, export.Namespace, text, signature); err != nil {
			return no("%v", err)
		}
		a.Say("signed by %s", key.Fingerprint())
		return nil
	}
	return no("the objects are signed by %s, and by none of these keys", signer.Fingerprint())
}
