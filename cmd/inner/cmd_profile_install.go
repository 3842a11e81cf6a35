package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/contrib/profiles"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/remote"
	"github.com/enr/inner/profile/strict"
)

func (a *app) cmdProfileInstall() *cobra.Command {
	var name, pin string
	var force bool
	c := &cobra.Command{
		Use: "install NAME|URL", Short: "Keep a sample profile, or one from an https URL", Args: cobra.ExactArgs(1), ValidArgsFunction: completeSamples,
		Long: "Keep one of the sample profiles that come with inner, or fetch a profile from an https URL, check it, and\n" +
			"keep it in ~/.inner/profiles under its name, the last part of the URL, or --name. Its digest and what it\n" +
			"grants are printed. Nothing is run; from then on it is a profile of your own, and not hardened as one of\n" +
			"inner run -p URL is.\n\nSample profiles: " + strings.Join(profiles.Names(), ", "),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.outside(cmd); err != nil {
				return err
			}
			return a.installProfile(args[0], name, pin, force)
		},
	}
	c.Flags().StringVar(&name, "name", "", "keep it under this name")
	c.Flags().StringVar(&pin, "sha256", "", "the digest it must have, as `HEX`")
	c.Flags().BoolVar(&force, "force", false, "replace a profile of that name")
	return c
}

func completeSamples(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return profiles.Names(), cobra.ShellCompDirectiveNoFileComp
}

// toInstall is the text of a profile that is to be installed, and what it is called where it
// comes from.
func (a *app) toInstall(from, pin string) (file profile.File, name, source string, err error) {
	if remote.IsURL(from) {
		if file, err = a.download(from, pin); err != nil {
			return file, "", "", err
		}
		name, _ = remote.Name(from) // or --name, which was looked at
		return file, name, bareURL(from), nil
	}
	data := profiles.Read(from)
	if data == nil || strings.Contains(from, "/") {
		return file, "", "", meant(fmt.Sprintf("%q is neither a URL nor a sample profile; inner profile clone takes a file, and inner profile list shows those you have", from), strict.Nearest(from, profiles.Names()))
	}
	if pin != "" {
		return file, "", "", usagef("--sha256 is for a URL: the sample profiles are part of inner")
	}
	sum := sha256.Sum256(data)
	file = profile.File{Path: from + ".toml", Digest: hex.EncodeToString(sum[:]), Data: data}
	return file, from, "the sample profiles", nil
}

func (a *app) installProfile(from, name, pin string, force bool) error {
	if name != "" {
		if err := checkName(name); err != nil {
			return err
		}
	} else if remote.IsURL(from) { // before anything is fetched
		if _, err := remote.Name(from); err != nil {
			return usagef("%w: --name gives it one", err)
		}
	}
	if err := a.firstUse(); err != nil {
		return err
	}
	pl, err := a.Here()
	if err != nil {
		return err
	}
	file, called, source, err := a.toInstall(from, pin)
	if err != nil {
		return err
	}
	name = cmp.Or(name, called)
	f := found{place: pl, loader: a.Loader(pl), path: filepath.Join(a.ProfilesDir(), name+".toml"), scope: profile.Global}
	// Loaded as what it is, so that faults name the URL and it builds on no file;
	// looked at as what it will be.
	scope := profile.Remote
	if !remote.IsURL(from) {
		scope = profile.Global
	}
	p, err := f.loader.LoadBytes(file, scope)
	if err != nil {
		a.fail(err)
		return exit(125)
	}
	// Under its name it may be its own base.
	if err := f.judge(profile.File{Path: f.path, Digest: file.Digest, Data: file.Data}); err != nil {
		a.fail(err)
		a.hint("--name OTHER")
		return exit(125)
	}
	p.Name, p.Scope = name, profile.Global
	if err := a.store(f.path, file.Data, force); err != nil {
		return err
	}
	a.Audit(runlog.Event{Type: runlog.EventInstall, Profile: name, Path: f.path, Digest: file.Digest, Reason: "from " + source})
	a.say("sha256 %s", file.Digest)
	rc, _, err := a.resolveHere(f, p)
	if err == nil {
		a.say("it grants:")
		for _, g := range profile.Grants(rc) {
			fmt.Fprintf(a.stderr, "  %s\n", printable(g.Text))
		}
	}
	v := a.validateLoaded(validated{Name: name, Path: f.path}, f, p)
	for _, e := range v.Errors {
		a.warn("it does not run here yet: %s", e)
	}
	for _, w := range v.Warnings {
		a.warn("%s", w)
	}
	a.hint("inner profile show %s --explain, then inner run -p %s", name, name)
	return a.saved(f)
}

// bareURL is a URL without what may be a secret in it: who asks, and with which
// words.
func bareURL(url string) string {
	url, _, _ = strings.Cut(url, "#")
	url, _, _ = strings.Cut(url, "?")
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:] + "/" + path
}

// store writes a profile that was downloaded.
func (a *app) store(path string, data []byte, force bool) error {
	err := createFile(path, data, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if force {
		return files.Rewrite(path, data)
	}
	return &fault.Refusal{Code: 1, Msg: fmt.Sprintf("profile %q is there already", path), Hint: "--name OTHER, or --force to replace it"}
}
