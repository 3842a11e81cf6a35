package proxy

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/enr/inner/isolator/logins"
)

func signer(t *testing.T) ssh.Signer {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keysRig is inner-proxy with an agent of one key behind it.
type keysRig struct {
	*testing.T
	socket string
	known  string // of Ready
	lacks  string
	key    ssh.PublicKey // the user's

	mu   sync.Mutex
	told []string
}

func startKeys(t *testing.T, known string, hosts ...string) *keysRig {
	dir := t.TempDir()
	up, err := net.Listen("unix", filepath.Join(dir, "up"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	ring := agent.NewKeyring()
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	if err := ring.Add(agent.AddedKey{PrivateKey: key, Comment: "/home/me/.ssh/key"}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := up.Accept()
			if err != nil {
				return
			}
			go agent.ServeAgent(ring, c)
		}
	}()
	file := filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(file, []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &keysRig{T: t, socket: filepath.Join(dir, "box")}
	r.key, _ = ssh.NewPublicKey(key.Public())
	cmd := exec.Command(os.Args[0], "--build=test")
	c := logins.Credential{Name: "ssh", From: [][]string{{"agent", r.socket, up.Addr().String(), file}}, Hosts: hosts}
	p, err := logins.Start(cmd, logins.Job{Credentials: []logins.Credential{c}}, func(e logins.Event) {
		r.mu.Lock()
		r.told = append(r.told, e.Host+": "+e.Refused)
		r.mu.Unlock()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	ready, err := p.Wait(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	r.known, r.lacks = ready.Known, ready.Missing["ssh"]
	return r
}

func (r *keysRig) dial() agent.ExtendedAgent {
	c, err := net.Dial("unix", r.socket)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return agent.NewClient(c)
}

func (r *keysRig) heard(want string) {
	r.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		told := strings.Join(r.told, "\n")
		r.mu.Unlock()
		if strings.Contains(told, want) {
			return
		}
		if time.Now().After(end) {
			r.Errorf("told %q, want %q", told, want)
			return
		}
	}
}

// bind says what ssh says of a session with a host, whose signature is by.
func bind(a agent.ExtendedAgent, key ssh.PublicKey, by ssh.Signer, id []byte, forwarded bool) error {
	sig, err := by.Sign(rand.Reader, id)
	if err == nil {
		_, err = a.Extension("session-bind@openssh.com", ssh.Marshal(struct {
			Key, ID, Signature []byte
			Forwarded          bool
		}{key.Marshal(), id, ssh.Marshal(sig), forwarded}))
	}
	return err
}

// sshLogin is what is signed to log in.
type sshLogin struct {
	ID                    []byte
	Request               byte
	User, Service, Method string
	Signed                bool
	Algorithm             string
	Key                   []byte
	Rest                  []byte `ssh:"rest"`
}

func TestSSHKeys(t *testing.T) {
	host, other := signer(t), signer(t)
	r := startKeys(t, "# a comment\n\n"+knownhosts.Line([]string{knownhosts.HashHostname("here.example")}, host.PublicKey())+"\nother.example "+string(ssh.MarshalAuthorizedKey(other.PublicKey())), "here.example:22", "gone.example:22")
	if r.lacks != "known_hosts has no key of gone.example:22" || strings.Count(r.known, "\n") != 1 || !strings.HasPrefix(r.known, "here.example ssh-ed25519 ") {
		t.Errorf("%q, %q", r.lacks, r.known)
	}
	id := sha256.New().Sum([]byte("session"))
	good := sshLogin{id, 50, "me", "ssh-connection", "publickey", true, "ssh-ed25519", r.key.Marshal(), nil}
	hostbound := func(key ssh.PublicKey) sshLogin {
		l := good
		l.Method, l.Rest = "publickey-hostbound-v00@openssh.com", ssh.Marshal(struct{ Key []byte }{key.Marshal()})
		return l
	}
	cert := &ssh.Certificate{Key: r.key, CertType: ssh.UserCert, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, other); err != nil {
		t.Fatal(err)
	}
	certified, strange := good, *cert
	certified.Algorithm, certified.Key, strange.Key = "ssh-ed25519-cert-v01@openssh.com", cert.Marshal(), other.PublicKey()
	for _, data := range []sshLogin{good, hostbound(host.PublicKey()), certified} {
		a := r.dial()
		if err := bind(a, host.PublicKey(), host, id, false); err != nil {
			t.Fatal(err)
		}
		list, err := a.List()
		if err != nil || len(list) != 1 || list[0].Comment != "" {
			t.Errorf("%v, %v", list, err)
		}
		sig, err := a.Sign(r.key, ssh.Marshal(data))
		if err != nil || r.key.Verify(ssh.Marshal(data), sig) != nil {
			t.Errorf("%+v: %v", data, err)
		}
	}
	r.heard("here.example:22: ")

	// Nothing else is signed, and then nothing at all on that connection.
	with := func(change func(*sshLogin)) []byte {
		l := good
		change(&l)
		return ssh.Marshal(l)
	}
	for i, data := range [][]byte{
		nil, id, []byte("SSHSIG file"),
		with(func(l *sshLogin) { l.ID = []byte("another session") }),
		with(func(l *sshLogin) { l.Request = 51 }),
		with(func(l *sshLogin) { l.Service = "ssh-userauth" }),
		with(func(l *sshLogin) { l.Method = "hostbased" }),
		with(func(l *sshLogin) { l.Signed = false }),
		with(func(l *sshLogin) { l.Key = other.PublicKey().Marshal() }),
		with(func(l *sshLogin) { l.Key = strange.Marshal() }),
		with(func(l *sshLogin) { l.Rest = []byte("more") }),
		ssh.Marshal(hostbound(other.PublicKey())),
		append(ssh.Marshal(hostbound(host.PublicKey())), 0),
	} {
		a := r.dial()
		if err := bind(a, host.PublicKey(), host, id, false); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Sign(r.key, data); err == nil {
			t.Errorf("%d is signed", i)
		}
		if _, err := a.Sign(r.key, ssh.Marshal(good)); err == nil {
			t.Errorf("%d, and then a login is signed", i)
		}
	}
	r.heard("what is to be signed is no login there")

	// Whom the session is with has to be shown, once.
	for name, c := range map[string]struct {
		bind func(agent.ExtendedAgent) error
		want string
	}{
		"nothing":   {func(agent.ExtendedAgent) error { return nil }, "asks for a key, and not for a host"},
		"another":   {func(a agent.ExtendedAgent) error { return bind(a, other.PublicKey(), other, id, false) }, "its key is not one"},
		"not its":   {func(a agent.ExtendedAgent) error { return bind(a, host.PublicKey(), other, id, false) }, "without its signature"},
		"forwarded": {func(a agent.ExtendedAgent) error { return bind(a, host.PublicKey(), host, id, true) }, "the agent is not forwarded"},
		"another first": {func(a agent.ExtendedAgent) error {
			bind(a, other.PublicKey(), other, id, false)
			return bind(a, host.PublicKey(), host, id, false)
		}, "the agent is not forwarded"},
		"another then": {func(a agent.ExtendedAgent) error {
			bind(a, host.PublicKey(), host, id, false)
			return bind(a, other.PublicKey(), other, id, false)
		}, "another host: the agent is not forwarded"},
		"twice": {func(a agent.ExtendedAgent) error {
			bind(a, host.PublicKey(), host, id, false)
			return bind(a, host.PublicKey(), host, id, false)
		}, "the agent is not forwarded"},
		"garbage": {func(a agent.ExtendedAgent) error {
			_, err := a.Extension("session-bind@openssh.com", []byte("x"))
			return err
		}, "names a host without its signature"},
	} {
		a := r.dial()
		if err := c.bind(a); err == nil && name != "nothing" {
			t.Errorf("%s is taken", name)
		}
		if list, err := a.List(); err != nil || len(list) > 0 {
			t.Errorf("%s: %v, %v", name, list, err)
		}
		if _, err := a.Sign(r.key, ssh.Marshal(good)); err == nil {
			t.Errorf("%s is signed for", name)
		}
		r.heard(c.want)
	}

	// The rest of the protocol is not there, and the agent is as it was.
	a := r.dial()
	if err := bind(a, host.PublicKey(), host, id, false); err != nil {
		t.Fatal(err)
	}
	_, added, _ := ed25519.GenerateKey(rand.Reader)
	for i, err := range []error{a.Add(agent.AddedKey{PrivateKey: added}), a.Remove(r.key), a.RemoveAll(), a.Lock([]byte("x")), a.Unlock([]byte("x"))} {
		if err == nil {
			t.Errorf("%d is done", i)
		}
	}
	if _, err := a.Extension("query", nil); err == nil {
		t.Error("an extension is there")
	}
	if list, err := a.List(); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// Connections that a box leaves open take no more than their places, and a program that waits gets one.
func TestSSHKeysMany(t *testing.T) {
	host := signer(t)
	r := startKeys(t, "here.example "+string(ssh.MarshalAuthorizedKey(host.PublicKey())), "here.example:22")
	var open []net.Conn
	for range maxAsking {
		c, err := net.Dial("unix", r.socket)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	done := make(chan error, 1)
	a := r.dial()
	go func() { done <- bind(a, host.PublicKey(), host, []byte("id"), false) }()
	for _, c := range open {
		c.Close()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What a box sends is held up to what a message of ssh has, and no more.
func TestSSHKeysLong(t *testing.T) {
	host := signer(t)
	r := startKeys(t, "here.example "+string(ssh.MarshalAuthorizedKey(host.PublicKey())), "here.example:22")
	for size, ends := range map[uint32]bool{maxMessage: false, maxMessage + 1: true, 16 << 20: true} {
		c, err := net.Dial("unix", r.socket)
		if err != nil {
			t.Fatal(err)
		}
		message := make([]byte, 4+maxMessage)
		binary.BigEndian.PutUint32(message, size)
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, errUp := c.Write(message)
		n, errDown := c.Read(message)
		if closed := errUp != nil || errDown != nil; closed != ends {
			t.Errorf("%d bytes: closed %v (%d, %v, %v)", size, closed, n, errUp, errDown)
		}
		c.Close()
	}
}

// keysOf are the keys by files of known_hosts, for two hosts.
func keysOf(t *testing.T, known ...string) (*sshKeys, string, error) {
	ready := logins.Ready{Placeholders: map[string]string{}}
	from := append([]string{"agent", filepath.Join(t.TempDir(), "box"), "/nonexistent"}, known...)
	k, err := new(proxy).learnSSH(logins.Credential{From: [][]string{from}, Hosts: []string{"here.example:22", "port.example:2222"}}, &ready)
	return k, ready.Known, err
}

func TestHostKeys(t *testing.T) {
	host, authority := signer(t), signer(t)
	line := func(names string, s ssh.Signer) string {
		return names + " " + string(ssh.MarshalAuthorizedKey(s.PublicKey()))
	}
	certificate := func(change func(*ssh.Certificate)) ssh.PublicKey {
		c := &ssh.Certificate{Key: host.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"here.example"}, ValidBefore: ssh.CertTimeInfinity}
		change(c)
		if err := c.SignCert(rand.Reader, authority); err != nil {
			t.Fatal(err)
		}
		return c
	}
	cert := certificate(func(*ssh.Certificate) {})
	for i, c := range []struct {
		known string
		key   ssh.PublicKey
		want  string
	}{
		{line("here.example", host), host.PublicKey(), "here.example:22"},
		{line("a.example,here.example,192.0.2.1", host), host.PublicKey(), "here.example:22"},
		{line("*.example,!b.example", host), host.PublicKey(), "here.example:22"},
		{line("*.example,!here.*", host), host.PublicKey(), ""},
		{line("xhere.example", host), host.PublicKey(), ""},
		{line(knownhosts.HashHostname("here.example"), host), host.PublicKey(), "here.example:22"},
		{line(knownhosts.HashHostname("[port.example]:2222"), host), host.PublicKey(), "port.example:2222"},
		{line("[port.example]:2222", host), host.PublicKey(), "port.example:2222"},
		{line("port.example", host), host.PublicKey(), ""},
		{line("[here.example]:2222", host), host.PublicKey(), ""},
		{line("|1||", host), host.PublicKey(), ""},
		{line("here.example", signer(t)) + line("here.example", host), host.PublicKey(), "here.example:22"}, // as a host has while it changes its key
		{line("here.example", host) + line("@revoked *", host), host.PublicKey(), ""},
		{line("@cert-authority *.example", authority), cert, "here.example:22"},
		{line("@cert-authority *.example", authority) + line("@revoked *", host), cert, ""},
		{line("@cert-authority *.example", authority) + line("@revoked *", authority), cert, ""},
		{line("@cert-authority b.example", authority), cert, ""},
		{line("here.example", authority), cert, ""},
		{line("here.example", host), cert, "here.example:22"}, // nobody has its authority: ssh goes by the key
		{line("here.example", host) + line("@revoked *", host), cert, ""},
		{line("@cert-authority *.example", authority), certificate(func(c *ssh.Certificate) { c.ValidPrincipals = []string{"b.example"} }), ""},
		{line("@cert-authority *.example", authority), certificate(func(c *ssh.Certificate) { c.ValidBefore = 1 }), ""},
		{line("@cert-authority *.example", authority), certificate(func(c *ssh.Certificate) { c.CertType = ssh.UserCert }), ""},
	} {
		file := filepath.Join(t.TempDir(), "known")
		if err := os.WriteFile(file, []byte(c.known), 0o600); err != nil {
			t.Fatal(err)
		}
		k, text, err := keysOf(t, file)
		if err != nil && !strings.Contains(err.Error(), "known_hosts has no key of ") {
			t.Fatal(i, err)
		}
		if got := k.host(c.key); got != c.want {
			t.Errorf("%d: %q, want %q: %s%s", i, got, c.want, c.known, text)
		}
		// What the box is told says the same, but of what is revoked.
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if again, _, _ := keysOf(t, file); c.want != "" && again.host(c.key) != c.want {
			t.Errorf("%d: %s", i, text)
		}
	}
	// What cannot be read may say that a key is revoked.
	for _, known := range []string{"here.example\n", line("here.example", host) + "@revoked * ssh-ed25519 x\n", line("@unknown here.example", host), line("|2|a|b", host)} {
		file := filepath.Join(t.TempDir(), "known")
		if err := os.WriteFile(file, []byte(known), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]string{{file}, {"/nonexistent"}} {
			if k, text, err := keysOf(t, list...); err == nil || text != "" || k.hosts != nil {
				t.Errorf("%q is read", known)
			}
		}
	}
}
