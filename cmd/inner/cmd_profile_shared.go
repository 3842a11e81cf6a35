package main

// Profiles that a team publishes: `inner profile install NAME --from INDEX`, and
// `inner profile index`, which makes and signs the list.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/sshkey"
	"github.com/enr/inner/internal/sshsig"
	"github.com/enr/inner/isolator/handover"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/shared"
)

// sharedFlags are those of an install from an index.
type sharedFlags struct {
	from, publisher string
	name, pin       string
	force           bool
}

// helper is the path of a program of the host, which a package has.
func (a *app) helper(name, pkg string) (string, error) {
	path, why := host.FindHelper(name, a.Getenv("PATH"))
	if path == "" {
		return "", &fault.Refusal{Code: 125, Kind: fault.KindNotFound, Msg: name + " is needed: " + why, Hint: "sudo apt-get install " + pkg}
	}
	return path, nil
}

// sshKeygen makes and checks signatures.
func (a *app) sshKeygen() (string, error) { return a.helper("ssh-keygen", "openssh-client") }

// installShared installs a profile from an index, or brings an installed one up to date.
// Nothing is written before the last question.
func (a *app) installShared(called string, f sharedFlags) error {
	name := cmp.Or(f.name, called)
	if err := errors.Join(checkName(called), checkName(name)); err != nil {
		return err
	}
	if err := a.FirstUse(); err != nil {
		return err
	}
	known, err := shared.ReadKnown(a.Trust().Dir)
	if err != nil {
		return fault.Refuse(126, "bring the file back, or move it away and approve publishers again",
			"%v", err)
	}
	o, done, err := a.openIndex(f.from)
	if err != nil {
		return err
	}
	defer done()
	refuse := func(err error) error { return fault.Refuse(126, "", "%v", err) }
	if err := known.Check(o); err != nil {
		return refuse(err)
	}
	entry, file, err := o.Profile(called)
	if err != nil {
		return refuse(err)
	}
	if err := checkPin(file, f.pin); err != nil {
		return err
	}
	if err := a.approvePublisher(known, o, f.publisher); err != nil {
		return err
	}
	pl, err := a.Here()
	if err != nil {
		return err
	}
	at := a.ownProfile(pl, name)
	replace, err := a.replacing(at, known, o, entry, file, f)
	if err != nil {
		return err
	}
	remember := func() error { return shared.Remember(a.Trust().Dir, o, name, entry) }
	if !replace && files.Exists(at.path) {
		if err := remember(); err != nil {
			return refuse(err)
		}
		a.Say("profile %q is up to date: version %d of index %q", name, o.Index.Version, o.Index.Name)
		return nil
	}
	return a.keep(at, name, file, kept{
		scope: profile.Remote, force: replace, first: remember,
		source: fmt.Sprintf("version %d of index %q at %s, signed by %s", o.Index.Version,
			o.Index.Name, o.From, o.Key.Fingerprint()),
	})
}

// openIndex reads an index and checks its signature.
func (a *app) openIndex(from string) (o *shared.Opened, done func(), err error) {
	done = func() {}
	program, err := a.sshKeygen()
	if err != nil {
		return nil, done, err
	}
	if strings.Contains(from, "://") {
		if err := a.Permitted(profile.ForbidRemote, "a profile from a URL"); err != nil {
			return nil, done, err
		}
	}
	o, err = shared.Open(context.Background(), from, shared.Programs{SSHKeygen: program, Fetch: a.fetch, Git: func(ctx context.Context, repo string) (func(string) ([]byte, error), error) {
		path, err := a.helper("git", "git")
		if err != nil {
			return nil, err
		}
		read, remove, err := handover.Git{Program: path}.Files(ctx, repo, profile.MaxFileSize)
		if err == nil {
			done = remove
		}
		return read, err
	}})
	if err != nil {
		done()
		return nil, func() {}, fault.Refuse(126, "ask who publishes it", "%v", err)
	}
	return o, done, nil
}

// approvePublisher asks once whether a key is the publisher's. What the organisation lists
// needs no question, and where it lists keys no other one is taken.
func (a *app) approvePublisher(known *shared.Known, o *shared.Opened, said string) error {
	org, err := a.Organisation()
	if err != nil {
		return a.Unusable(err, "")
	}
	fingerprint := o.Key.Fingerprint()
	if org != nil && len(org.Publishers.Items) > 0 {
		for _, it := range org.Publishers.Items {
			if key, err := sshkey.Parse(it.Text); err == nil && key == o.Key {
				return nil
			}
		}
		return fault.Refuse(126, "ask who administers this computer",
			"index %q is signed by %s, which is not one of profiles.publishers of %s", o.Index.Name, fingerprint, profile.At(org.Publishers.At))
	}
	if known.Approved(o) || said == fingerprint {
		return nil
	}
	a.Say("index %q, version %d, %d profiles, at %s", o.Index.Name, o.Index.Version, len(o.Index.Profiles), o.From)
	a.Say("signed by %s", o.Key.Line())
	a.Say("fingerprint %s", fingerprint)
	refused := &fault.Refusal{Code: 126, Msg: "the publisher's key is not approved", Hint: "compare the fingerprint with the publisher's, then: --publisher " + fingerprint}
	if said != "" {
		refused.Msg = fmt.Sprintf("the publisher's key is %s, not %s", fingerprint, said)
		return refused
	}
	return a.confirm(question{text: "Is this the publisher's key?", no: "nothing was written", noTerminal: refused})
}

// replacing reports whether a profile that is there is to be replaced, after showing what
// would be different.
func (a *app) replacing(at found, known *shared.Known, o *shared.Opened, e shared.Entry, file profile.File, f sharedFlags) (bool, error) {
	old, err := profile.ReadFile(at.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	name := cmp.Or(f.name, e.Name)
	was, ours := known.Owns(o, name, e)
	switch {
	case ours && old.Digest == file.Digest:
		return false, nil
	case !ours && !f.force:
		return false, fault.Refuse(1, "--name OTHER, or --force to replace it",
			"profile %q already exists, and is not from this index", name)
	case ours && old.Digest != was.SHA256 && !f.force:
		return false, fault.Refuse(1, "--name OTHER, or --force to replace it",
			"profile %q was changed here since it was installed", name)
	}
	a.Say("profile %q is replaced: sha256 %s becomes %s", name, old.Digest, file.Digest)
	if err := a.showDifference(at, old, file); err != nil {
		return false, err
	}
	return true, a.confirm(question{text: "Replace it?", yes: f.pin != "" || f.force, no: "nothing was written", noTerminal: &fault.Refusal{
		Code: 126, Msg: "an update needs confirmation, and standard input is not a terminal", Hint: "read it above, then add: --sha256 " + file.Digest,
	}})
}

// showDifference prints what a new text of a profile grants that the old one does not, and the
// other way round, and which lines differ.
func (a *app) showDifference(at found, old, file profile.File) error {
	p, err := at.loader.LoadBytes(file, profile.Remote)
	if err != nil {
		a.Fail(err)
		return cli.Exit(125)
	}
	p.Name, p.Scope = cli.NameOf(at.path), profile.Global
	if q, err := at.loader.LoadBytes(old, profile.Global); err == nil {
		if wider, narrower, err := a.changeOf(at, q, p); err == nil {
			a.printChange("", wider, narrower)
		}
	}
	for _, l := range lineDifference(string(old.Data), string(file.Data)) {
		fmt.Fprintln(a.Err, cli.Printable(l))
	}
	return nil
}

// lineDifference is the lines that only one of two texts has, in their order.
func lineDifference(old, now string) (out []string) {
	only := func(sign, a, b string) {
		there := map[string]int{}
		for _, l := range strings.Split(b, "\n") {
			there[l]++
		}
		for _, l := range strings.Split(a, "\n") {
			if there[l]--; there[l] < 0 {
				out = append(out, sign+l)
			}
		}
	}
	only("-", old, now)
	only("+", now, old)
	return out
}

func (a *app) cmdProfileIndex() *cobra.Command {
	var key, name string
	c := &cobra.Command{
		Use: "index [FOLDER] --key KEY", Short: "Publish the profiles of a folder: write and sign its index", Args: cobra.MaximumNArgs(1),
		Long: "Write " + shared.IndexFile + " into a folder of profiles, the current one unless another is named, with the\n" +
			"digest of each *.toml, and sign it with an ssh key: then the folder can be put into a git repository or\n" +
			"on a web server, and inner profile install NAME --from takes profiles from it. What changed makes a new\n" +
			"version. KEY is the file of a private key, or of the public half of one that ssh-agent has.",
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error {
			if key == "" {
				return cli.Usagef("--key is missing: the file of an ssh key, such as ~/.ssh/id_ed25519")
			}
			return a.publishIndex(filepath.Clean(cmp.Or(strings.Join(args, ""), ".")), key, name)
		}),
	}
	c.Flags().StringVar(&key, "key", "", "the ssh key to sign with: `FILE`")
	c.Flags().StringVar(&name, "name", "", "the name of a new index, instead of the folder's; it stays the same in later versions")
	return c
}

// publishIndex makes and signs the index of a folder.
func (a *app) publishIndex(dir, key, name string) error {
	program, err := a.sshKeygen()
	if err != nil {
		return err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	old, text, err := indexOf(dir)
	if err != nil {
		return err
	}
	if text == nil {
		name = cmp.Or(name, filepath.Base(dir))
	}
	entries, err := a.entriesOf(dir)
	if err != nil {
		return err
	}
	next, err := shared.Next(old, name, entries)
	if err != nil {
		return err
	}
	data := next.Bytes()
	signature, err := sshsig.Sign(context.Background(), program, key, shared.Namespace, data)
	if err != nil {
		return fault.Refuse(1, "", "%v", err)
	}
	signer, err := sshsig.Signer(signature)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, data) {
		err = files.Write(filepath.Join(dir, shared.IndexFile), data, 0o644)
	}
	if err == nil {
		err = files.Write(filepath.Join(dir, shared.SignatureFile), signature, 0o644)
	}
	if err != nil {
		return err
	}
	a.Say("version %d of index %q has %d profiles, signed by %s", next.Version, next.Name,
		len(next.Profiles), signer.Fingerprint())
	return nil
}

// indexOf reads the index of a folder, and its text; nil when there is none yet.
func indexOf(dir string) (index shared.Index, text []byte, err error) {
	read, err := profile.ReadFile(filepath.Join(dir, shared.IndexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return index, nil, nil
	}
	if err == nil {
		index, err = shared.Parse(read.Data)
	}
	return index, read.Data, err
}

// entriesOf lists the profiles of a folder. One that could not be installed is an error.
func (a *app) entriesOf(dir string) ([]shared.Entry, error) {
	paths, err := filepath.Glob(filepath.Join(strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir), "*.toml"))
	if err != nil || len(paths) == 0 {
		return nil, errors.Join(err, cli.Usagef("%s has no profile, no *.toml", dir))
	}
	pl, err := a.Here()
	if err != nil {
		return nil, err
	}
	var list []shared.Entry
	for _, path := range paths {
		name := cli.NameOf(path)
		if err := checkName(name); err != nil {
			return nil, err
		}
		read, err := profile.ReadFile(path)
		if err != nil {
			return nil, err
		}
		p, err := a.Loader(pl).LoadBytes(read, profile.Remote)
		if err != nil {
			a.Fail(err)
			return nil, cli.Exit(1)
		}
		list = append(list, shared.Entry{Name: name, SHA256: read.Digest, Description: p.Description})
	}
	return list, nil
}
