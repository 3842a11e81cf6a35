package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/remote"
)

func (a *app) cmdProfileInstall() *cobra.Command {
	var name, pin string
	var force bool
	c := &cobra.Command{
		Use: "install URL", Short: "Fetch a profile from an https URL and keep it", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Fetch a profile from an https URL, check it, and keep it in ~/.inner/profiles under the last\n" +
			"part of the URL or --name. Its digest and what it grants are printed. Nothing is run; from\n" +
			"then on it is a profile of your own, and not hardened as one of inner run -p URL is.",
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

func (a *app) installProfile(url, name, pin string, force bool) error {
	if !remote.IsURL(url) {
		return usagef("%q is not a URL; inner profile clone takes a file", url)
	}
	if name == "" {
		var err error
		if name, err = remote.Name(url); err != nil {
			return usagef("%w: --name gives it one", err)
		}
	} else if err := checkName(name); err != nil {
		return err
	}
	if err := a.firstUse(); err != nil {
		return err
	}
	pl, err := a.Here()
	if err != nil {
		return err
	}
	file, err := a.download(url, pin)
	if err != nil {
		return err
	}
	f := found{place: pl, loader: a.Loader(pl), path: filepath.Join(a.ProfilesDir(), name+".toml"), scope: profile.Global}
	// Loaded as what it is, so that faults name the URL and it builds on no file;
	// looked at as what it will be.
	p, err := f.loader.LoadBytes(file, profile.Remote)
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
	a.Audit(runlog.Event{Type: runlog.EventInstall, Profile: name, Path: f.path, Digest: file.Digest, Reason: "from " + bareURL(url)})
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
