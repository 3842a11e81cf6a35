package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/own"
	"github.com/enr/inner/internal/sshkey"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

// organisationKeys are those of profile.OrganisationFile. There is none that gives a box anything.
func organisationKeys() []strict.Key {
	return slices.Concat(
		[]strict.Key{{Name: "schema_version"}}, hideKeys(), profile.LimitKeys("default_limits"), profile.LimitKeys("max_limits"),
		[]strict.Key{
			{Name: "max_limits.timeout_seconds", Kind: strict.AnInt},
			{Name: "forbid", Kind: strict.AList},
			{Name: "forbid.hosts", Kind: strict.AList}, // these of the version before
			{Name: "forbid.capabilities", Kind: strict.AList},
			{Name: "forbid.allow", Kind: strict.AList},
			{Name: "forbid.grants", Kind: strict.AList},
			{Name: "profiles.publishers", Kind: strict.AList},
		},
	)
}

// organisation is the file as written.
type organisation struct{ strict.Doc }

// LoadOrganisation reads the configuration of this computer's organisation; nil when there
// is none. What it forbids would be lost with it, so everything that keeps it from being
// read, or that would let another user than root change it, is an error: a Refusal with the
// code 125, or strict.Problems.
func LoadOrganisation() (*profile.Organisation, error) {
	return loadOrganisation(profile.OrganisationFile)
}

func loadOrganisation(path string) (*profile.Organisation, error) {
	refuse := func(hint, format string, args ...any) (*profile.Organisation, error) {
		return nil, &fault.Refusal{
			Code: 125, Kind: fault.KindProfile,
			Hint: hint,
			Msg:  "what this computer's organisation forbids is not known: " + fmt.Sprintf(format, args...),
		}
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return refuse("sudo ls -l "+path, "%v", err)
	}
	for at := path; ; at = filepath.Dir(at) {
		st, err := os.Lstat(at)
		if err != nil {
			return refuse("sudo ls -l "+path, "%v", err)
		}
		if why := own.RootFault(st); why != "" {
			return refuse("sudo chown -h root:root "+at+" && sudo chmod go-w "+at, "%s %s", at, why)
		}
		if at == "/" {
			break
		}
	}
	read, err := profile.ReadFile(path)
	if err != nil {
		return refuse("sudo chmod go=r "+path, "%v", err)
	}
	return parseOrganisation(read)
}

func parseOrganisation(read profile.File) (*profile.Organisation, error) {
	doc, problems := strict.Decode(read.Path, read.Data, organisationKeys())
	f := organisation{doc}
	for i := range problems {
		if problems[i].Msg == strict.UnknownKey {
			problems[i].Msg += ": this file only takes from what users and projects say"
		}
	}
	o := &profile.Organisation{
		Hide: *f.Value("hide.paths"), HideEnv: *f.Value("hide.env"), Publishers: *f.Value("profiles.publishers"),
		DefaultLimits: profile.TableOf(&f.Doc, "default_limits"), MaxLimits: profile.TableOf(&f.Doc, "max_limits"), MaxTimeout: *f.Value("max_limits.timeout_seconds"),
	}
	f.check(o, &problems)
	for _, it := range f.Value("forbid").Items {
		o.Forbids(it, &problems)
	}
	f.former(o, &problems)
	o.Lines = f.lines(o)
	if err := problems.Sorted().Err(); err != nil {
		return nil, err
	}
	return o, nil
}

// lines are what the file says, each with its place. What [forbid] of the version before says is there as what it is
// read as.
func (f *organisation) lines(o *profile.Organisation) (out []profile.Origin) {
	add := func(key, value string, at strict.Pos) {
		out = append(out, profile.Origin{Key: key, Value: value, File: at.File, Line: at.Line})
	}
	for _, k := range f.Keys() {
		for _, p := range k.Parts() {
			if table := k.Path()[0]; table != "forbid" && table != "schema_version" {
				add(k.Name, p.Text, p.At)
			}
		}
	}
	for _, f := range o.Forbid {
		add("forbid", f.String(), f.At)
	}
	slices.SortStableFunc(out, func(a, b profile.Origin) int { return cmp.Or(a.Line-b.Line, strings.Compare(a.Key, b.Key)) })
	return out
}

// former reads the [forbid] of the version before.
func (f *organisation) former(o *profile.Organisation, problems *strict.Problems) {
	for _, l := range []struct {
		key   string
		means func(word string) []string
	}{
		{"forbid.hosts", func(word string) []string { return []string{"sandbox.network_allow=" + word} }},
		{"forbid.capabilities", func(word string) []string { return []string{"capabilities=" + word} }},
		{"forbid.allow", func(word string) []string { return []string{"sandbox.allow=" + word} }},
		{"forbid.grants", func(word string) []string { return formerGrants()[word] }},
	} {
		for _, it := range f.Value(l.key).Items {
			means := l.means(it.Text)
			if len(means) == 0 {
				words := slices.Sorted(maps.Keys(formerGrants()))
				problems.Add(it.At, l.key, fmt.Sprintf("%q is unknown", it.Text), strict.DidYouMean(it.Text, words))
				continue
			}
			for _, text := range means {
				o.Forbids(strict.Item{Text: text, At: it.At}, problems)
			}
			o.Former.Add(it.At, l.key, strconv.Quote(it.Text)+" is read as forbid = "+quoted(means), "write that")
		}
	}
}

func quoted(list []string) string { return `["` + strings.Join(list, `", "`) + `"]` }

// formerGrants are the words of [forbid] grants.
func formerGrants() map[string][]string {
	return map[string][]string{
		"full-network": {"sandbox.network_mode=full"}, "ask-network": {"sandbox.network_mode=ask"},
		"host-ports": {"sandbox.host_ports=*", "sandbox.publish=*"}, "clipboard": {"sandbox.clipboard=true"}, "devices": {"sandbox.devices=*"},
		"git-rw": {"sandbox.git_dir=rw"}, "writable-outside": {"mounts=rw"}, "own-capabilities": {"capabilities=own"},
		"weaker-layers": {"sandbox.allow=no-seccomp", "sandbox.allow=no-landlock", "sandbox.allow=host-proc"},
		"host-sockets": {
			"sandbox.allow=docker-socket", "sandbox.allow=podman-socket", "sandbox.allow=container-sockets",
			"sandbox.allow=session-bus", "sandbox.allow=systemd-user",
			"sandbox.allow=ssh-agent", "sandbox.allow=gpg-agent", "mounts=socket",
		},
		"remote-profiles": {profile.ForbidRemote.String()}, "bypass": {profile.ForbidBypass.String()},
	}
}

func (f *organisation) check(o *profile.Organisation, problems *strict.Problems) {
	profile.CheckLimits(o.DefaultLimits, "default_limits", problems)
	profile.CheckLimits(o.MaxLimits, "max_limits", problems)
	checkHide(&f.Doc, problems)
	if t := o.MaxTimeout; t.Set && (t.Int() < 1 || t.Int() > profile.MaxSeconds) {
		problems.Add(t.At, "max_limits.timeout_seconds", fmt.Sprintf("%d is not between 1 and %d", t.Int(), int64(profile.MaxSeconds)), "")
	}
	checkVersion(&f.Doc, problems)
	for _, it := range o.Publishers.Items {
		_, err := sshkey.Parse(it.Text)
		problems.Judge(it.At, "profiles.publishers", err)
	}
}
