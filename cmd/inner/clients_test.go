package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Real clients in a box that has the network by name: what its list grants they
// fetch, and the twin without the grant is refused. The servers stand on loopback
// addresses that no client thinks its own (127.0.0.2, 127.0.0.3). The user's own clients are
// set to them, which the box is told, and [groups] has them.
func TestClients(t *testing.T) {
	need(t, "bwrap", "bash", "git", "curl", "ssh", "npm", "pip3")
	goBin := goProgram(t)
	site := newSite(t)

	for _, c := range []struct {
		name  string
		grant string // what its list has; the twin's is empty
		line  string
		want  string // in what it prints
		seen  string // a request that reached the server
	}{
		{
			name: "curl", grant: site.plain, want: "hello over http\n", seen: "/hello",
			line: "curl -sS --fail http://$PLAIN/hello",
		},
		{
			name: "curl over https", grant: site.secure, want: "hello over https\n", seen: "/hello",
			line: "curl -sS --fail --cacert ca.crt https://$SECURE/hello",
		},
		{
			name: "git over https", grant: site.secure, want: "from the repository\n", seen: "/repo.git/info/refs",
			line: "git clone -q https://$SECURE/repo.git got && cat got/file",
		},
		{
			name: "npm", grant: "@npm", want: `"version": "1.2.3"`, seen: "/npm/stand-in/-/stand-in-1.2.3.tgz",
			line: "export npm_config_fetch_retries=0; npm install --no-audit --no-fund --no-update-notifier --loglevel=error stand-in && cat node_modules/stand-in/package.json",
		},
		{
			name: "pip", grant: "@pypi", want: "stand_in-1.0-py3-none-any.whl\n", seen: "/files/stand_in-1.0-py3-none-any.whl",
			line: "pip3 download -q --no-deps --disable-pip-version-check --retries 0 -d got stand-in && ls got",
		},
		{
			name: "go", grant: "@go", want: "example.test/standin v1.0.0", seen: "/go/example.test/standin/@v/v1.0.0.zip",
			line: "printf 'module m\\nrequire example.test/standin v1.0.0\\n' >go.mod && go mod download && go list -m all",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			p.path(filepath.Dir(goBin))
			p.write(".npmrc", "registry=http://"+site.plain+"/npm/\n//"+site.plain+"/:_authToken=hunter2\n")
			p.write(".config/pip/pip.conf", "[global]\nindex-url = http://me:hunter2@"+site.plain+"/simple\n")
			p.write(".config/go/env", "GOPROXY=http://"+site.outer+"/go\nGOSUMDB=off\n")
			p.write("app/ca.crt", site.ca)
			profile := func(name, list string) {
				p.write(".inner/profiles/"+name+".toml", fmt.Sprintf(`schema_version = "1"
[sandbox]
network_mode = "allowlist"
network_allow = [%s]
home = "isolated"
[env]
inherit = ["PATH", "LANG"]
set = { PLAIN = %q, SECURE = %q, GIT_SSL_CAINFO = %q, GIT_TERMINAL_PROMPT = "0", GOTOOLCHAIN = "local", GOFLAGS = "-mod=mod" }
[entrypoint]
cmd = "bash"
interactive = false
`, list, site.plain, site.secure, filepath.Join(p.app, "ca.crt")))
			}
			p.run("inner", "init")
			p.run("inner", "config", "set", "groups.npm", site.plain)
			p.run("inner", "config", "set", "groups.pypi", site.plain+" "+site.files)
			p.run("inner", "config", "set", "groups.go", site.outer)
			profile("with", `"`+c.grant+`"`)
			profile("without", `"other.example"`)
			box := func(name string) (out string, err error) {
				cmd := exec.Command(filepath.Join(os.Getenv("INNER_TEST_DIR"), "bin", "inner"), "run", "-p", name, "--timeout", "120", "--", "-c", c.line)
				cmd.Env, cmd.Dir = p.env, p.app
				text, err := cmd.CombinedOutput()
				return string(text), err
			}
			out, err := box("with")
			if err != nil || !strings.Contains(out, c.want) {
				t.Errorf("granted: %v\n%s", err, out)
			}
			if !site.reached(c.seen) {
				t.Errorf("%s never reached the server", c.seen)
			}
			if strings.Contains(out, "refused") || strings.Contains(out, "hunter2") {
				t.Errorf("granted: %s", out)
			}
			for _, left := range []string{"got", "node_modules", "package.json", "package-lock.json", "go.mod", "go.sum"} {
				if err := os.RemoveAll(filepath.Join(p.app, left)); err != nil {
					t.Fatal(err)
				}
			}
			// The twin has the variables that say where the server is: only the list differs.
			set := map[string]string{
				"@npm": "npm_config_registry=http://" + site.plain + "/npm/", "@pypi": "PIP_INDEX_URL=http://" + site.plain + "/simple", "@go": "GOSUMDB=off GOPROXY=http://" + site.outer + "/go",
			}[c.grant]
			if set != "" {
				c.line = "export " + set + "\n" + c.line
			}
			out, err = box("without")
			if err == nil || !strings.Contains(out, "inner: refused: ") || strings.Contains(out, c.want) {
				t.Errorf("not granted: %v\n%s", err, out)
			}
		})
	}
}

// ssh, which knows no proxy, goes to the addresses and ports that are listed.
func TestClientSSH(t *testing.T) {
	need(t, "bwrap", "bash", "git", "ssh")
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	heard := make(chan string, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "SSH-2.0-standin\r\n")
			line := make([]byte, 64)
			n, _ := c.Read(line)
			heard <- string(line[:n])
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	p := newPerson(t)
	p.run("inner", "init")
	for name, list := range map[string]string{"with": `"127.0.0.2:` + port + `"`, "without": `"127.0.0.2"`} {
		p.write(".inner/profiles/"+name+".toml", "schema_version = \"1\"\n[sandbox]\nnetwork_mode = \"allowlist\"\nnetwork_allow = ["+list+"]\nhome = \"isolated\"\n[git]\n[entrypoint]\ncmd = \"bash\"\ninteractive = false\n")
	}
	box := func(name, line string) string {
		cmd := exec.Command(filepath.Join(os.Getenv("INNER_TEST_DIR"), "bin", "inner"), "run", "-p", name, "--timeout", "60", "--", "-c", line)
		cmd.Env, cmd.Dir = p.env, p.app
		out, _ := cmd.CombinedOutput() // it never gets past the greeting
		return string(out)
	}
	for _, line := range []string{
		"ssh -v -p " + port + " 127.0.0.2 true",
		"GIT_SSH_COMMAND='ssh -v' git ls-remote ssh://git@127.0.0.2:" + port + "/x.git",
	} {
		out := box("with", line)
		if !strings.Contains(out, "remote software version standin") {
			t.Errorf("%s: the greeting did not arrive:\n%s", line, out)
		}
		select {
		case got := <-heard:
			if !strings.HasPrefix(got, "SSH-2.0-") {
				t.Errorf("%s: the server heard %q", line, got)
			}
		case <-time.After(2 * time.Minute):
			t.Errorf("%s: the server heard nothing", line)
		}
		out = box("without", line)
		if !strings.Contains(out, "Connection refused") || strings.Contains(out, "standin") || len(heard) > 0 {
			t.Errorf("%s, not granted:\n%s", line, out)
		}
	}
}

// The built-in profile of an agent, with nothing added, and the registries of the
// world: what a person meets on the first day.
func TestOnline(t *testing.T) {
	if os.Getenv("INNER_TEST_ONLINE") == "" {
		t.Skip("make online asks the registries of npm and go")
	}
	need(t, "bwrap", "bash", "npm")
	p := newPerson(t)
	p.path(filepath.Dir(goProgram(t)))
	p.run("inner", "init")
	for _, c := range []struct{ name, line, want string }{
		{"npm view", "npm view is-number name", "is-number\n"},
		{"npm install", "npm install --no-audit --no-fund is-number && node -p 'require(\"is-number\")(7)'", "true\n"},
		{"go", "printf 'module m\\nrequire github.com/google/shlex v0.0.0-20191202100458-e7afc7fbc510\\n' >go.mod && GOTOOLCHAIN=local GOFLAGS=-mod=mod go mod download && go list -m all", "github.com/google/shlex v0.0.0-20191202100458-e7afc7fbc510"},
		{"what is not listed", "curl -sS -m 20 https://example.com/ 2>&1 || echo no way", "no way\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			here := *p
			here.t = t
			out := here.run("inner", "run", "-p", "claude-one-shot", "-w", p.app, "--timeout", "120", "--entrypoint", "bash", "--", "-c", c.line)
			if !strings.Contains(out, c.want) {
				t.Error(out)
			}
			t.Logf("%s", out)
		})
	}
}

// goProgram is where Go is: it need not be on the plain user's PATH.
func goProgram(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"go", "/usr/local/go/bin/go"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	missing(t, "Go is neither on PATH nor in /usr/local/go")
	return ""
}

// outerAddr is an address of this machine that is none of its loopback: Go goes
// to every loopback address without a proxy. A machine without a network has none,
// and then the box gets the port itself (see ownPorts). Nothing is sent.
func outerAddr() string {
	c, err := net.Dial("udp4", "192.0.2.1:9")
	if err != nil {
		return "127.0.0.1"
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String()
}

// site is four servers in one: plain and with TLS on 127.0.0.2, one for the files
// of Python on 127.0.0.3, and one on no loopback address.
type site struct {
	plain, secure, ca string
	files             string // plain, of Python
	outer             string // plain, at an address that Go takes a proxy for

	mu       sync.Mutex
	requests map[string]bool
}

func (s *site) reached(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{requests: map[string]bool{}}
	pages := map[string]string{}
	mux := http.NewServeMux()
	serve := func(addr string, secure bool) string {
		l, err := net.Listen("tcp", addr+":0")
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.requests[r.URL.Path] = true
			text, ok := pages[r.URL.Path]
			s.mu.Unlock()
			if !ok {
				mux.ServeHTTP(w, r)
				return
			}
			if strings.HasPrefix(r.URL.Path, "/simple/") {
				w.Header().Set("Content-Type", "text/html")
			}
			fmt.Fprint(w, text)
		}))
		server.Listener.Close()
		server.Listener = l
		if secure {
			cert, ca := selfSigned(t, addr)
			s.ca = ca
			server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
		return l.Addr().String()
	}
	s.plain, s.secure = serve("127.0.0.2", false), serve("127.0.0.2", true)
	s.files = serve("127.0.0.3", false)
	s.outer = serve(outerAddr(), false)
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		fmt.Fprintf(w, "hello over %s\n", scheme)
	})

	repo := filepath.Join(t.TempDir(), "repo.git")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.test", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	work := filepath.Join(t.TempDir(), "work")
	git("init", "-q", work)
	if err := os.WriteFile(filepath.Join(work, "file"), []byte("from the repository\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("-C", work, "add", ".")
	git("-C", work, "commit", "-qm", "x")
	git("clone", "-q", "--bare", work, repo)
	git("-C", repo, "update-server-info") // it is served as files, git-http-backend(1) calls that dumb
	mux.Handle("/repo.git/", http.StripPrefix("/repo.git/", http.FileServer(http.Dir(repo))))

	tgz := tarball(t, "package/package.json", `{"name": "stand-in", "version": "1.2.3"}`)
	sum := sha512.Sum512([]byte(tgz))
	pages["/npm/stand-in/-/stand-in-1.2.3.tgz"] = tgz
	pages["/npm/stand-in"] = fmt.Sprintf(`{"name": "stand-in", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": {"name": "stand-in", "version": "1.2.3", "dist": {"tarball": "http://%s/npm/stand-in/-/stand-in-1.2.3.tgz", "integrity": "sha512-%s"}}}}`,
		s.plain, base64.StdEncoding.EncodeToString(sum[:]))

	const wheel = "stand_in-1.0-py3-none-any.whl"
	pages["/files/"+wheel] = zipped(t, [][2]string{
		{"stand_in.py", ""},
		{"stand_in-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: stand-in\nVersion: 1.0\n"},
		{"stand_in-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"stand_in-1.0.dist-info/RECORD", ""},
	})
	link := func(name, file string) string {
		return fmt.Sprintf(`<!DOCTYPE html><html><body><a href="http://%s/files/%s">%s</a></body></html>`, s.files, file, file)
	}
	pages["/simple/pip/"], pages["/simple/stand-in/"] = link("pip", "pip-1.0.tar.gz"), link("stand-in", wheel)

	const at = "/go/example.test/standin/@v/"
	pages[at+"list"] = "v1.0.0\n"
	pages[at+"v1.0.0.info"] = `{"Version": "v1.0.0", "Time": "2024-01-01T00:00:00Z"}`
	pages[at+"v1.0.0.mod"] = "module example.test/standin\n"
	pages[at+"v1.0.0.zip"] = zipped(t, [][2]string{{"example.test/standin@v1.0.0/go.mod", "module example.test/standin\n"}, {"example.test/standin@v1.0.0/x.go", "package standin\n"}})
	return s
}

func tarball(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zipped(t *testing.T, files [][2]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// selfSigned is a certificate for an address, and as the authority that vouches
// for it.
func selfSigned(t *testing.T, addr string) (cert tls.Certificate, ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stand-in"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP(addr)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
