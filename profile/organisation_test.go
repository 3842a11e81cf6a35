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

// TestOrganisation: each word of [forbid] grants refuses the box that has that grant, and no
// other; limits are lowered and never raised.
func TestOrganisation(t *testing.T) {
	w, _ := resolveWorld(t, "")
	socket := filepath.Join(w.home, "socket")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: socket}))
	samples := keySamples(t)
	texts := map[string]string{ // where the first profile of testdata/keys.txtar is not refused
		"sandbox.network_mode full-network": "[sandbox]\nnetwork = true", "sandbox.network_mode ask-network": "[sandbox]\nnetwork_mode = \"ask\"",
		"sandbox.publish host-ports": "[sandbox]\nnetwork_mode = \"allowlist\"\npublish = [\"8080:3000\"]", "sandbox.host_ports host-ports": "[sandbox]\nhost_ports = [\"5432\"]",
		"sandbox.allow host-sockets": "[sandbox]\nallow = [\"ssh-agent\"]", "mounts host-sockets": "[mounts]\n\"" + socket + "\" = { dest = \"~/file\", mode = \"ro\" }",
		"mounts writable-outside": "[mounts]\n\"/usr/share\" = \"rw\"", "sandbox.git_dir git-rw": "[sandbox]\ngit_dir = \"rw\"",
		"sandbox.allow weaker-layers": "[sandbox]\nallow = [\"no-landlock\"]",
	}
	for _, rule := range keyRules() {
		for _, f := range rule.forbid {
			text, ok := texts[rule.key+" "+f.word]
			if samples[rule.key] != nil && !ok && len(rule.forbid) == 1 {
				text, ok = samples[rule.key][0], f.word != "own-capabilities"
			}
			if !ok && f.word != "own-capabilities" { // which the context of this test has none of
				t.Errorf("%s has no profile here that is refused for %s", rule.key, f.word)
			}
			for _, forbidden := range ForbiddenGrants() {
				w, p := resolveWorld(t, text)
				c := w.context()
				c.Organisation = &Organisation{Grants: strict.List{Items: []strict.Item{{Text: forbidden, At: strict.Pos{File: OrganisationFile, Line: 7}}}}}
				_, err := p.Resolve(c)
				refused := err != nil && strings.Contains(err.Error(), rule.key) && strings.Contains(err.Error(), "forbidden by /etc/inner/config.toml:7 (forbid.grants \""+forbidden+"\")")
				if refused != (ok && f.word == forbidden) {
					t.Errorf("%s forbidden, the profile has %s of %s: %v", forbidden, f.word, rule.key, err)
				}
			}
		}
	}
	if ownCapability(&RunConfig{Capabilities: []string{"claude"}}) {
		t.Error("claude is taken for a capability of a config.toml")
	}
	if !ownCapability(&RunConfig{Capabilities: []string{"claude", "mine"}}) {
		t.Error("a capability of a config.toml is not found")
	}
}

// TestOrganisationTime: a run that asks for no time limit, or for a longer one, by its profile or
// by a flag, has that of the organisation, with its line; a shorter one stays.
func TestOrganisationTime(t *testing.T) {
	o := &Organisation{MaxTimeout: strict.Int{V: 60, Set: true, At: strict.Pos{File: OrganisationFile, Line: 3}}}
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
	number := func(s string) strict.Number { return strict.Number{V: strict.Scalar(s), Set: true} }
	o := &Organisation{DefaultLimits: LimitsTable{Memory: number("1G"), Files: number("100")}, MaxLimits: LimitsTable{Memory: number("2G"), CPU: number("150%"), Pids: number("50")}}
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
		o.Allow.Items = append(o.Allow.Items, strict.Item{Text: word, At: strict.Pos{File: OrganisationFile, Line: 3}})
	}
	for text, word := range map[string]string{
		`allow = ["ssh-keys"]`: "ssh-keys", `allow = ["no-seccomp"]`: "no-seccomp", `seccomp = "off"`: "no-seccomp", `proc = "bind"`: "host-proc",
		`allow = ["no-landlock"]`: "",
	} {
		w, p := resolveWorld(t, "[sandbox]\n"+text)
		c := w.context()
		c.Organisation = o
		_, err := p.Resolve(c)
		if refused := err != nil && strings.Contains(err.Error(), strconv.Quote(word)+" is forbidden by "+OrganisationFile+":3 (forbid.allow)"); refused != (word != "") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
