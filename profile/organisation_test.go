package profile

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile/strict"
)

// TestOrganisation: each entry of forbid refuses the box that has that value, by the name of its key, and no other; limits
// are lowered and never raised.
func TestOrganisation(t *testing.T) {
	w, _ := resolveWorld(t, "")
	socket := filepath.Join(w.home, "socket")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: socket}))
	profiles := map[string]string{ // that only this entry refuses
		"sandbox.network_mode=full": "[sandbox]\nnetwork = true", "sandbox.network_mode=ask": "[sandbox]\nnetwork_mode = \"ask\"",
		"sandbox.publish=*": "[sandbox]\nnetwork_mode = \"allowlist\"\npublish = [\"8080:3000\"]", "sandbox.host_ports=*": "[sandbox]\nhost_ports = [\"5432\"]",
		"sandbox.allow=ssh-agent": "[sandbox]\nallow = [\"ssh-agent\"]", "sandbox.allow=no-landlock": "[sandbox]\nlandlock = \"off\"", "sandbox.allow=ssh-keys": "[sandbox]\nallow = [\"ssh-keys\"]",
		"mounts=socket": "[mounts]\n\"" + socket + "\" = { dest = \"~/file\", mode = \"ro\" }", "sandbox.allow=env-files": "[mounts]\n\"~/file\" = { mode = \"ro\", allow = \"env-files\" }",
		"mounts=rw":          "[mounts]\n\"/usr/share\" = \"rw\"",
		"sandbox.git_dir=rw": "[sandbox]\ngit_dir = \"rw\"", "sandbox.clipboard=true": "[sandbox]\nclipboard = true", "sandbox.devices=kvm": "[sandbox]\ndevices = [\"kvm\"]",
		"sandbox.base=minimal": "[sandbox]\nbase = \"minimal\"", "sandbox.home=own": "[sandbox]\nhome = \"own\"", "sandbox.workdir_mode=ro": "[sandbox]\nworkdir_mode = \"ro\"",
		"env.inherit=SECRET": "[env]\ninherit = [\"SECRET\"]", "sandbox.hide=*": "[sandbox]\nhide = [\"*.x\"]",
		"sandbox.mcp=github": "[sandbox]\nmcp = [\"*\"]", "env.inherit=NAMED": "[sandbox]\nmcp = [\"other\"]",
		"credentials=github": "[sandbox]\nnetwork_mode = \"allowlist\"\n[credentials]\ngithub = true",
		"credentials=lab":    "[sandbox]\nnetwork_mode = \"allowlist\"\n[credentials]\nlab = { hosts = [\"lab.example\"], from = \"env:LAB\" }",
	}
	refuses := func(entry, text string) bool {
		o, problems := &Organisation{}, strict.Problems{}
		o.Forbids(strict.Item{Text: entry, At: strict.Pos{File: OrganisationFile, Line: 7}}, &problems)
		must(t, problems.Err())
		w, p := resolveWorld(t, text)
		c := w.context()
		c.Organisation = o
		c.MCP = func(rc RunConfig) []MCPServer {
			if rc.GrantsMCP("github") { // by *
				return []MCPServer{{Name: "github"}}
			}
			return []MCPServer{{Name: "other", Vars: []string{"NAMED"}}}
		}
		_, err := p.Resolve(c)
		key, _, _ := strings.Cut(entry, "=")
		return err != nil && strings.Contains(err.Error(), key) && strings.Contains(err.Error(), "is forbidden by /etc/inner/config.toml:7 (forbid \""+entry+"\")")
	}
	for entry := range profiles {
		for of, text := range profiles {
			if got := refuses(entry, text); got != (entry == of) {
				t.Errorf("forbid %q, the profile of %q: refused %v", entry, of, got)
			}
		}
	}
	for _, entry := range []string{"sandbox.base=host", "sandbox.home=host", "sandbox.git_dir=checked", "sandbox.network_mode=off", "sandbox.network=false", "sandbox.workdir_mode=rw", "sandbox.backend=bwrap"} { // that nobody writes
		if !refuses(entry, "") {
			t.Errorf("forbid %q does not refuse a profile that does not say it", entry)
		}
	}
}

// TestForbidden: what can never be the case is no entry.
func TestForbidden(t *testing.T) {
	for text, want := range map[string]string{
		"sandbox.git_dir=rw": "", "sandbox.limits_required=false": "", "capabilities=claude": "", "capabilities=own": "", "command=bypass": "", "profile=https": "", "mounts=rw": "", "env.clearenv=*": "",
		"sandbox.network_allow=*.corp.example": "",
		"sandbox.git_dir":                      "is not KEY=VALUE",
		"sandbox.gitdir=rw":                    `"sandbox.gitdir" is no key of a profile (did you mean "sandbox.git_dir"?)`,
		"sandbox.git_dir=wr":                   `"wr" is not one of "checked", "ro", "rw"`,
		"sandbox.allow=everything":             `"everything"`,
		"sandbox.clipboard=yes":                `can never be "yes"`,
		"mounts=rx":                            `"rx" is unknown (did you mean`,
		"sandbox.network_allow=a b":            "a b",
		"command=run":                          "is no key",
	} {
		var problems strict.Problems
		new(Organisation).Forbids(strict.Item{Text: text}, &problems)
		if got := problems.Error(); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestOrganisationTime: a run that asks for no time limit, or for a longer one, by its profile or
// by a flag, has that of the organisation, with its line; a shorter one stays.
func TestOrganisationTime(t *testing.T) {
	o := &Organisation{MaxTimeout: strict.Value{V: "60", Place: strict.Place{Set: true, At: strict.Pos{File: OrganisationFile, Line: 3}}}}
	for _, c := range []struct {
		asked string
		flag  time.Duration
		want  time.Duration
		ruled int
	}{{"", 0, time.Minute, 1}, {"timeout_seconds = 0", 0, time.Minute, 1}, {"timeout_seconds = 61", 0, time.Minute, 1}, {"timeout_seconds = 60", 0, time.Minute, 0}, {"timeout_seconds = 5", 0, 5 * time.Second, 0}, {"timeout_seconds = 5", time.Hour, time.Minute, 1}, {"", 2 * time.Second, 2 * time.Second, 0}} {
		w, p := resolveWorld(t, "[output]\n"+c.asked)
		free := w.context()
		if c.flag > 0 {
			free.Overrides.Timeout = &c.flag
		}
		under := free
		under.Organisation = o
		rc, err := p.Resolve(under)
		must(t, err)
		if rc.Output.Timeout != c.want || len(rc.Organisation) != c.ruled {
			t.Errorf("%q, flag %s: %s, ruled by %v", c.asked, c.flag, rc.Output.Timeout, rc.Organisation)
		}
		before, err := p.Resolve(free)
		must(t, err)
		for _, d := range [][2]RunConfig{{before, rc}, {rc, before}} {
			if wider, _ := DiffGrants(Grants(d[0]), Grants(d[1])); len(wider) > 0 {
				t.Errorf("%q, flag %s: what was allowed before asks again: %v", c.asked, c.flag, wider)
			}
		}
	}
}

// TestOrganisationLimits: what is asked for is lowered and never raised, what nobody asks for
// is the default, and a limit of the organisation is not left to what the host can hold.
func TestOrganisationLimits(t *testing.T) {
	o := &Organisation{
		DefaultLimits: []strict.Item{{Key: "memory", Text: "1G"}, {Key: "files", Text: "100"}},
		MaxLimits:     []strict.Item{{Key: "memory", Text: "2G"}, {Key: "cpu", Text: "150%"}, {Key: "pids", Text: "50"}},
	}
	for asked, want := range map[string]Limits{
		``:                                 {Memory: "1G", CPU: "150%", Pids: "50", Files: "100"},
		`memory = "4096M"` + "\ncpu = 1":   {Memory: "2G", CPU: "1", Pids: "50", Files: "100"},
		`memory = "2048M"` + "\npids = 51": {Memory: "2048M", CPU: "150%", Pids: "50", Files: "100"},
		`files = 20` + "\ndisk = \"1G\"\ncpu = 2": {Memory: "1G", CPU: "150%", Pids: "50", Files: "20", Disk: "1G"},
	} {
		w, p := resolveWorld(t, "[sandbox]\nlimits_required = false\n[sandbox.limits]\n"+asked)
		c := w.context()
		c.Organisation = o
		rc, err := p.Resolve(c)
		must(t, err)
		if rc.Limits != want || rc.LimitsLoose {
			t.Errorf("%s: %+v, loose %v", asked, rc.Limits, rc.LimitsLoose)
		}
		before, err := p.Resolve(w.context())
		must(t, err)
		before.LimitsLoose = rc.LimitsLoose
		if wider, _ := DiffGrants(Grants(before), Grants(rc)); len(wider) > 0 {
			t.Errorf("%s: what was allowed before asks again: %v", asked, wider)
		}
	}
}

// What an organisation forbids of allow is refused by its name: a resource, a word that switches a layer off, and what
// the version before said for that.
func TestOrganisationAllow(t *testing.T) {
	o := &Organisation{}
	for _, word := range []string{"ssh-keys", "no-seccomp", "host-proc"} {
		o.Forbid = append(o.Forbid, Forbidden{"sandbox.allow", word, strict.Pos{File: OrganisationFile, Line: 3}})
	}
	for text, word := range map[string]string{
		`allow = ["ssh-keys"]`: "ssh-keys", `allow = ["no-seccomp"]`: "no-seccomp", `seccomp = "off"`: "no-seccomp", `proc = "bind"`: "host-proc",
		`allow = ["no-landlock"]`: "",
	} {
		w, p := resolveWorld(t, "[sandbox]\n"+text)
		c := w.context()
		c.Organisation = o
		_, err := p.Resolve(c)
		if refused := err != nil && strings.Contains(err.Error(), strconv.Quote(word)+" is forbidden by "+OrganisationFile+":3 (forbid \"sandbox.allow="); refused != (word != "") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
