package registry

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// machine is a computer with made-up clients: scripts in a folder of their own,
// each of which says on its way what it was asked.
type machine struct {
	t    *testing.T
	host Host
	bin  string
	env  map[string]string
	page map[string]string // what Fetch finds
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{t: t, bin: filepath.Join(dir, "bin"), env: map[string]string{}, page: map[string]string{}}
	for _, d := range []string{"bin", "home", "empty"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m.host = Host{
		Home: filepath.Join(dir, "home"), Path: m.bin + ":/usr/bin:/bin", Dir: filepath.Join(dir, "empty"),
		Lookup: func(name string) (string, bool) { v, ok := m.env[name]; return v, ok },
		Program: func(name string) (string, error) {
			p := filepath.Join(m.bin, name)
			_, err := os.Stat(p)
			return p, err
		},
		Fetch: func(_ context.Context, address string) ([]byte, []string, error) {
			if text, ok := m.page[address]; ok {
				return []byte(text), nil, nil
			}
			return nil, nil, fmt.Errorf("%q: nothing is there", address)
		},
		Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			switch {
			case strings.HasSuffix(name, ".corp.test"):
				return []netip.Addr{netip.MustParseAddr("10.1.2.3")}, nil
			case strings.HasSuffix(name, ".both.test"):
				return []netip.Addr{netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("8.8.8.8")}, nil
			case strings.HasSuffix(name, ".nowhere.test"):
				return nil, errors.New("no such host")
			}
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		},
	}
	return m
}

// client installs a script.
func (m *machine) client(name, script string) {
	m.t.Helper()
	text := "#!/bin/sh\necho \"$0 $*\" >>\"" + m.bin + "/../calls\"\n" + script + "\n"
	// No test beside this one may start a program meanwhile: its child would have the file open for
	// writing until it is another program, and the kernel runs no such file ("text file busy").
	syscall.ForkLock.RLock()
	err := os.WriteFile(filepath.Join(m.bin, name), []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		m.t.Fatal(err)
	}
}

// setenv sets a variable of the user.
func (m *machine) setenv(name, value string) {
	m.env[name] = value
	m.host.Environ = append(m.host.Environ, name+"="+value)
}

// say is a script that prints text.
func say(text string) string { return "cat <<'END'\n" + text + "\nEND" }

func entries(a Answer) string {
	var out []string
	for _, p := range a.Places {
		word := p.Entry
		if p.Private {
			word += " private"
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

func variables(a Answer) string {
	var out []string
	for _, kv := range a.Env {
		out = append(out, kv.Key+"="+kv.Value)
	}
	return strings.Join(out, "\n")
}

func TestAsk(t *testing.T) {
	const pipHelp = "Package Index Options:\n  -i, --index-url <url>  Base URL (default %s). This should point\n  --extra-index-url <url>  Extra URLs.\n"
	pip := func(index, settings string) string {
		return "case \"$1\" in install) " + say(fmt.Sprintf(pipHelp, index)) + "\n;; config) " + say(settings) + "\n;; esac"
	}
	cargo := func(complaint string) string {
		return "test -f Cargo.toml && exec >&2\n" + say(complaint) + "\nexit 101"
	}
	const noConfig = "download of config.json failed\n  failed to download from `%sconfig.json`\n"
	for _, c := range []struct {
		name, group, program, script string
		pages                        map[string]string
		want, env, ca, config, why   string
	}{
		{
			name: "npm", group: "npm", program: "npm",
			script: say(`{"registry": "https://registry.example.com/", "cafile": null, "userconfig": "/u/.npmrc"}`),
			want:   "registry.example.com", env: "npm_config_registry=https://registry.example.com/",
		},
		{
			name: "npm with a login, a scope and a port", group: "npm", program: "npm",
			script: say(`{"registry": "https://me:secret@npm.corp.test/x/", "@a:registry": "http://127.0.0.1:4873/", "cafile": "/etc/ca.pem"}`),
			want:   "127.0.0.1:4873, npm.corp.test private",
			env:    "npm_config_@a:registry=http://127.0.0.1:4873/\nnpm_config_registry=https://npm.corp.test/x/", ca: "npm_config_cafile=/etc/ca.pem",
		},
		{
			name: "npm, half private", group: "npm", program: "npm", script: say(`{"registry": "https://npm.both.test:443/"}`),
			want: "npm.both.test", env: "npm_config_registry=https://npm.both.test:443/",
		},
		{name: "npm of another kind", group: "npm", program: "npm", script: say("hello"), why: "npm: its settings cannot be read"},
		{name: "npm without a registry", group: "npm", program: "npm", script: say(`{"registry": "ftp://me:secret@x/"}`), why: `npm: its setting registry: "ftp://x/" is not the address of a registry`},
		{name: "npm with a star", group: "npm", program: "npm", script: say(`{"registry": "https://*.example.com/"}`), why: `npm: its setting registry: "*.example.com" is not a host`},
		{name: "npm fails", group: "npm", program: "npm", script: "echo 'no node' >&2; exit 3", why: "npm: config: exit status 3: no node"},
		{name: "npm says too much", group: "npm", program: "npm", script: "head -c 100000 /dev/zero", why: "npm: config: it printed more than 64 KiB"},
		{name: "no npm", group: "npm", why: "npm is not installed"},
		{
			name: "pip", group: "pypi", program: "pip", script: pip("https://me:****@pypi.example.com/simple", "global.cert='/etc/ca.pem'\nglobal.trusted-host='a'\ninstall.trusted-host='b'"),
			pages: map[string]string{"https://pypi.example.com/simple/pip/": `<a href="../x">x</a><a href="https://files.example.com/pip-1.whl#sha256=1">`},
			want:  "pypi.example.com, files.example.com", env: "PIP_INDEX_URL=https://pypi.example.com/simple\nPIP_TRUSTED_HOST=b", ca: "PIP_CERT=/etc/ca.pem",
		},
		{
			name: "pip3 goes first, extra indexes", group: "pypi", program: "pip3",
			script: pip("https://pypi.example.com/simple/", `global.extra-index-url='https://x:y@a.example.com/s\nhttps://b.corp.test/s'`),
			pages: map[string]string{
				"https://pypi.example.com/simple/pip/": "", "https://a.example.com/s/pip/": "", "https://b.corp.test/s/pip/": "",
			},
			want: "pypi.example.com, a.example.com, b.corp.test private",
			env:  "PIP_INDEX_URL=https://pypi.example.com/simple/\nPIP_EXTRA_INDEX_URL=https://a.example.com/s https://b.corp.test/s",
		},
		{
			name: "pip, an index that cannot be asked", group: "pypi", program: "pip", script: pip("https://pypi.example.com/simple", ""),
			want: "pypi.example.com", env: "PIP_INDEX_URL=https://pypi.example.com/simple",
			why: `the index was not asked which host its files are on: "https://pypi.example.com/simple/pip/": nothing is there`,
		},
		{ // offline: nothing is downloaded
			name: "pip, an index whose name leads nowhere", group: "pypi", program: "pip", script: pip("https://pypi.nowhere.test/simple", ""),
			pages: map[string]string{"https://pypi.nowhere.test/simple/pip/": `<a href="https://files.example.com/pip-1.whl">`},
			want:  "pypi.nowhere.test", env: "PIP_INDEX_URL=https://pypi.nowhere.test/simple",
			why: "the index was not asked which host its files are on: pypi.nowhere.test has no address here",
		},
		{
			name: "pip, an index that names many hosts", group: "pypi", program: "pip", script: pip("https://pypi.example.com/simple", ""),
			pages: map[string]string{"https://pypi.example.com/simple/pip/": `href="https://a.test/" href="https://b.test/" href="https://c.test/" href="https://d.test/" href="https://e.test/"`},
			want:  "pypi.example.com", env: "PIP_INDEX_URL=https://pypi.example.com/simple",
			why: "the index was not asked which host its files are on: its files are on more than 4 hosts",
		},
		{name: "pip with a folder", group: "pypi", program: "pip", script: pip("/srv/wheels", ""), why: `pip: its index: "/srv/wheels" is not the address of a registry`},
		{
			name: "go", group: "go", program: "go", script: say(`{"GOPROXY":"https://u:p@proxy.example.com|http://athens.corp.test:3000,direct","GOSUMDB":"sum.example.com","GOPRIVATE":"*.corp.test","GOENV":"/x/env"}`),
			want: "proxy.example.com, athens.corp.test:3000 private, sum.example.com",
			env:  "GOPROXY=https://proxy.example.com|http://athens.corp.test:3000,direct\nGOSUMDB=sum.example.com\nGOPRIVATE=*.corp.test",
		},
		{
			name: "go with a key and a server of its own", group: "go", program: "go", script: say(`{"GOPROXY":"https://proxy.example.com","GOSUMDB":"sum.example.com+033de0ae+Ac4zctda0e5eza https://u:p@mirror.example.com/sum"}`),
			want: "proxy.example.com, mirror.example.com",
			env:  "GOPROXY=https://proxy.example.com\nGOSUMDB=sum.example.com+033de0ae+Ac4zctda0e5eza https://mirror.example.com/sum",
		},
		{
			name: "go, direct only", group: "go", program: "go", script: say(`{"GOPROXY":"direct","GOSUMDB":"sum.example.com"}`),
			env: "GOPROXY=direct\nGOSUMDB=sum.example.com", why: "go names no registry on the network",
		},
		{
			name: "cargo", group: "crates", program: "cargo", script: cargo(fmt.Sprintf(noConfig, "https://index.example.com/")),
			pages: map[string]string{"https://index.example.com/config.json": `{"dl":"https://files.example.com/crates","api":"https://x"}`},
			want:  "index.example.com, files.example.com",
		},
		{
			name: "cargo with a mirror", group: "crates", program: "cargo", script: cargo("failed to query replaced source registry `crates-io`\n" + fmt.Sprintf(noConfig, "https://me:secret@crates.corp.test/i/")),
			pages: map[string]string{"https://crates.corp.test/i/config.json": `{"dl":"https://crates.corp.test/dl/{crate}"}`},
			want:  "crates.corp.test private", config: ".cargo/config.toml\n[source.crates-io]\nreplace-with = \"inner\"\n\n[source.inner]\nregistry = \"sparse+https://crates.corp.test/i/\"\n",
		},
		{
			name: "cargo, an index that cannot be asked", group: "crates", program: "cargo", script: cargo(fmt.Sprintf(noConfig, "https://index.example.com/")),
			want: "index.example.com", why: `the index was not asked which host its crates are on: "https://index.example.com/config.json": nothing is there`,
		},
		{
			name: "cargo with an index in git", group: "crates", program: "cargo", script: cargo("  failed to fetch `https://git.example.com/index`"),
			want: "git.example.com", why: "its index is a repository of git, which does not tell which host the crates are on (cargo 1.70 asks another)",
		},
		{name: "cargo without a toolchain", group: "crates", program: "cargo", script: cargo("error: rustup could not choose a version"), why: "cargo: it does not say which index it uses"},
		{name: "cargo that has it", group: "crates", program: "cargo", script: "exit 0", why: "cargo: it succeeded, which it cannot do offline"},
		{
			name: "maven", group: "maven", program: "mvn", script: say("[ERROR] Plugin x: Cannot access central (https://repo.example.com/maven2) in offline mode and") + "\nexit 1",
			want: "repo.example.com",
		},
		{
			name: "maven with a mirror", group: "maven", program: "mvn", script: say("[ERROR] Plugin x: Cannot access a&b (http://u:p@nexus.corp.test:8081/m?a=1&b=2) in offline mode and") + "\nexit 1",
			want:   "nexus.corp.test:8081 private",
			config: ".m2/settings.xml\n<settings>\n  <mirrors>\n    <mirror>\n      <id>a&amp;b</id>\n      <mirrorOf>*</mirrorOf>\n      <url>http://nexus.corp.test:8081/m?a=1&amp;b=2</url>\n    </mirror>\n  </mirrors>\n</settings>\n",
		},
		{name: "debian", group: "debian", program: "apt-get", script: say("http://deb.example.com/debian\nhttps://sec.nowhere.test:443/x\nfile:/srv\nhttp://deb.example.com/other\ncdrom:[x]/"), want: "deb.example.com, sec.nowhere.test"},
		{name: "debian without a network", group: "debian", program: "apt-get", script: say("file:/srv"), why: "apt-get names no registry on the network"},
		{name: "no such group", group: "github", why: "@github is not a group of a package manager"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			if c.program != "" {
				m.client(c.program, c.script)
			}
			if c.pages != nil {
				m.page = c.pages
			}
			a := Ask(context.Background(), c.group, m.host)
			ca, config := "", ""
			if a.CA != "" {
				ca = a.CAVar + "=" + a.CA
			}
			if a.Config != "" {
				config = a.ConfigAt + "\n" + a.Config
			}
			got := []string{entries(a), variables(a), ca, config, a.Why}
			if diff := cmp.Diff([]string{c.want, c.env, c.ca, c.config, c.why}, got); diff != "" {
				t.Error(diff)
			}
			if text := fmt.Sprintf("%+v", a); strings.Contains(text, "secret") || strings.Contains(text, "u:p@") {
				t.Errorf("a login is in the answer: %s", text)
			}
		})
	}
}

// A client sees the user's settings, and neither the project's nor the secrets of
// the environment.
func TestEnvironment(t *testing.T) {
	m := newMachine(t)
	m.client("npm", `{ env | grep -v -e ^_= -e ^SHLVL= | cut -d= -f1 | sort; pwd; } >"`+m.bin+`/../seen"; echo '{"registry":"https://a.example.com"}'`)
	m.setenv("npm_config_registry", "https://a.example.com")
	m.setenv("GITHUB_TOKEN", "secret")
	m.setenv("USER", "me")
	look := func() string {
		t.Helper()
		if a := Ask(context.Background(), "npm", m.host); a.Why != "" {
			t.Fatal(a.Why)
		}
		data, err := os.ReadFile(filepath.Join(m.bin, "../seen"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(data)), " ")
	}
	const usual = "COLUMNS HOME LC_ALL NO_COLOR PATH PWD TERM USER npm_config_cache "
	if got, want := look(), usual+"npm_config_registry "+m.host.Dir; got != want {
		t.Errorf("it sees %q, want %q", got, want)
	}
	// In a script of npm's that variable is the project's word.
	m.setenv("npm_lifecycle_event", "test")
	if got, want := look(), usual+m.host.Dir; got != want {
		t.Errorf("in a script it sees %q, want %q", got, want)
	}
}

// Nothing is run as long as nothing changed; what changed is asked about again.
func TestBook(t *testing.T) {
	m := newMachine(t)
	m.client("npm", say(`{"registry":"https://a.example.com","globalconfig":"`+m.host.Home+`/global"}`))
	m.client("pip", "exit 1")
	now := time.Now()
	m.host.Now = func() time.Time { return now }
	book := Book{Path: filepath.Join(m.host.Home, "registries.json")}
	asked := func(want int, groups ...string) []Answer {
		t.Helper()
		calls := filepath.Join(m.bin, "../calls")
		_ = os.Remove(calls)
		answers, err := book.Answers(context.Background(), groups, m.host, func() (string, error) { return os.MkdirTemp(m.host.Dir, "ask") })
		if err != nil {
			t.Fatal(err)
		}
		data, _ := os.ReadFile(calls)
		if got := strings.Count(string(data), "\n"); got != want {
			t.Errorf("%d calls, want %d:\n%s", got, want, data)
		}
		return answers
	}
	first := asked(3, "npm", "pypi")
	if entries(first[0]) != "a.example.com" || first[1].Why == "" {
		t.Fatalf("%+v", first)
	}
	if diff := cmp.Diff(first, asked(0, "npm", "pypi")); diff != "" {
		t.Error(diff)
	}
	if fi, err := os.Stat(book.Path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi, err)
	}
	// What is missing is asked for again; a look-up is renewed without a question.
	now = now.Add(holdPart + time.Second)
	asked(2, "npm", "pypi")
	now = now.Add(holdLook)
	m.host.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("192.168.1.1")}, nil
	}
	if a := asked(0, "npm")[0]; !a.Places[0].Private {
		t.Errorf("%+v", a)
	}
	for _, file := range []string{".npmrc", "global"} {
		if err := os.WriteFile(filepath.Join(m.host.Home, file), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		asked(1, "npm")
		asked(0, "npm")
	}
	m.setenv("npm_config_registry", "https://b.example.com")
	asked(1, "npm")
	m.setenv("EDITOR", "vi")
	asked(0, "npm")
	m.client("npm", say(`{"registry":"https://c.example.com"}`)+"\n# newer")
	if a := asked(1, "npm")[0]; entries(a) != "c.example.com private" {
		t.Errorf("%+v", a)
	}
	if err := os.Remove(filepath.Join(m.bin, "npm")); err != nil {
		t.Fatal(err)
	}
	if a := asked(0, "npm")[0]; a.Why != "npm is not installed" || a.Places != nil {
		t.Errorf("%+v", a)
	}
	// Nobody is asked who must not be, and what is known is known then, too.
	known, err := book.Answers(context.Background(), []string{"npm", "go"}, m.host, nil)
	if err != nil || known[0].Why != "npm is not installed" || known[1].Why != "go is asked when the profile runs" {
		t.Errorf("%+v %v", known, err)
	}
	if err := os.WriteFile(book.Path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked(0, "npm")
}

// A client that does not end is ended, with what it started.
func TestPatience(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.client("npm", "sleep 600 & echo $! >\""+m.bin+"/../pid\"; wait")
	m.host.Patience = 5 * time.Second
	if a := Ask(context.Background(), "npm", m.host); a.Why != "npm: config: it did not end within 5s" {
		t.Error(a.Why)
	}
	data, err := os.ReadFile(filepath.Join(m.bin, "../pid"))
	if err != nil {
		t.Fatal(err)
	}
	// A process that was killed is there until it gets a processor.
	stat := "/proc/" + strings.TrimSpace(string(data)) + "/stat"
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		state, err := os.ReadFile(stat)
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s still runs: %s", data, state)
		}
	}
}

// What a client complains of may quote settings. It is told and kept without the
// logins in them, however they are spelt.
func TestComplaintsHaveNoLogin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ group, name, script, want string }{
		{
			"npm", "npm", `echo 'bad line: registry=https://me:hunter2@npm.corp.test/x/ at 3' >&2; exit 1`,
			"npm: config: exit status 1: bad line: registry=https://npm.corp.test/x/ at 3",
		},
		{
			"npm", "npm", `echo 'bad line: //npm.corp.test/:_authToken=hunter2' >&2; exit 1`,
			"npm: config: exit status 1: bad line: //npm.corp.test/:_auth...",
		},
		{
			"npm", "npm", `echo "bad line: https://me:` + strings.Repeat("hunter2", 40) + `@npm.corp.test/" >&2; exit 1`,
			"npm: config: exit status 1: bad line: https://npm.corp.test/",
		},
		{
			"pypi", "pip3", `echo '  -i, --index-url <url>  Base (default https://me:hun/t@hunter2@pip.corp.test:8443/simple)'`,
			`pip3: its index: "https://pip.corp.test:8443/simple" is not the address of a registry`,
		},
	} {
		m := newMachine(t)
		m.client(tt.name, tt.script)
		a := Ask(context.Background(), tt.group, m.host)
		if diff := cmp.Diff(tt.want, a.Why); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.script, diff)
		}
		if a.Places != nil {
			t.Errorf("%s: grants %v", tt.script, a.Places)
		}
	}
}
