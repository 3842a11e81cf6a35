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
	"syscall"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/sshkey"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

// organisation is profile.OrganisationFile as written. It has no key that gives a box
// anything.
type organisation struct {
	SchemaVersion strict.String       `toml:"schema_version"`
	Hide          hideTable           `toml:"hide"`
	DefaultLimits profile.LimitsTable `toml:"default_limits"`
	MaxLimits     struct {
		profile.LimitsTable
		Timeout strict.Int `toml:"timeout_seconds"`
	} `toml:"max_limits"`
	Forbid struct {
		Values       strict.List `toml:",short"`
		Hosts        strict.List `toml:"hosts"` // these and Grants of the version before
		Capabilities strict.List `toml:"capabilities"`
		Allow        strict.List `toml:"allow"`
		Grants       strict.List `toml:"grants"`
	} `toml:"forbid"`
	Profiles struct {
		Publishers strict.List `toml:"publishers"`
	} `toml:"profiles"`
}

// LoadOrganisation reads the configuration of this computer's organisation; nil when there
// is none. What it forbids would be lost with it, so everything that keeps it from being
// read, or that would let another user than root change it, is an error: a Refusal with the
// code 125, or strict.Problems.
func LoadOrganisation() (*profile.Organisation, error) {
	return loadOrganisation(profile.OrganisationFile)
}

func loadOrganisation(path string) (*profile.Organisation, error) {
	refuse := func(hint, format string, args ...any) (*profile.Organisation, error) {
		return nil, &fault.Refusal{Code: 125, Kind: fault.KindProfile, Hint: hint, Msg: "what this computer's organisation forbids is not known: " + fmt.Sprintf(format, args...)}
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
		if why := notRoots(st); why != "" {
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

// notRoots says why another user than root could change a file or folder, or "".
func notRoots(st fs.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch mode := st.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "is a link"
	case !ok || sys.Uid != 0:
		return "does not belong to root"
	case mode.Perm()&0o022 != 0:
		return fmt.Sprintf("can be changed by others than root (mode %04o)", mode.Perm())
	}
	return ""
}

func parseOrganisation(read profile.File) (*profile.Organisation, error) {
	var f organisation
	problems := strict.Decode(read.Path, read.Data, &f)
	for i := range problems {
		if problems[i].Msg == strict.UnknownKey {
			problems[i].Msg += ": this file only takes from what users and projects say"
		}
	}
	f.check(&problems)
	o := &profile.Organisation{
		Hide: f.Hide.Paths, HideEnv: f.Hide.Env, DefaultLimits: f.DefaultLimits, MaxLimits: f.MaxLimits.LimitsTable, MaxTimeout: f.MaxLimits.Timeout, Publishers: f.Profiles.Publishers,
	}
	for _, it := range f.Forbid.Values.Items {
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
	for prefix, keys := range map[string][]strict.Key{"": strict.Keys(f), "max_limits.": strict.Keys(&f.MaxLimits.LimitsTable)} {
		for _, k := range keys {
			for _, p := range k.Parts() {
				if k.Path[0] != "forbid" && k.Path[0] != "schema_version" {
					add(prefix+k.Name(), p.Text, p.At)
				}
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
		strict.List
		key   string
		means func(word string) []string
	}{
		{f.Forbid.Hosts, "forbid.hosts", func(word string) []string { return []string{"sandbox.network_allow=" + word} }},
		{f.Forbid.Capabilities, "forbid.capabilities", func(word string) []string { return []string{"capabilities=" + word} }},
		{f.Forbid.Allow, "forbid.allow", func(word string) []string { return []string{"sandbox.allow=" + word} }},
		{f.Forbid.Grants, "forbid.grants", func(word string) []string { return formerGrants()[word] }},
	} {
		for _, it := range l.Items {
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
			"sandbox.allow=docker-socket", "sandbox.allow=podman-socket", "sandbox.allow=container-sockets", "sandbox.allow=session-bus", "sandbox.allow=systemd-user",
			"sandbox.allow=ssh-agent", "sandbox.allow=gpg-agent", "mounts=socket",
		},
		"remote-profiles": {profile.ForbidRemote.String()}, "bypass": {profile.ForbidBypass.String()},
	}
}

func (f *organisation) check(problems *strict.Problems) {
	f.DefaultLimits.Check("default_limits", problems)
	f.MaxLimits.Check("max_limits", problems)
	f.Hide.check(problems)
	if t := f.MaxLimits.Timeout; t.Set && (t.Int() < 1 || t.Int() > profile.MaxSeconds) {
		problems.Add(t.At, "max_limits.timeout_seconds", fmt.Sprintf("%d is not between 1 and %d", t.Int(), int64(profile.MaxSeconds)), "")
	}
	checkVersion(f.SchemaVersion, problems)
	for _, it := range f.Profiles.Publishers.Items {
		_, err := sshkey.Parse(it.Text)
		problems.Judge(it.At, "profiles.publishers", err)
	}
}
