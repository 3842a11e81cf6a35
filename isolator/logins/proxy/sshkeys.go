package proxy

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/logins"
)

// Keys of the user's agent, by a socket that knows one thing: to log in to a host whose key is that of a given name.
//
// It goes by session-bind@openssh.com (OpenSSH 8.9, PROTOCOL.agent): before ssh asks for a key, it says which host the
// session is with, and proves it by the host's signature of the session's id, which is of that one exchange of
// keys. What is signed names this id, so a signature logs in there and nowhere else. A host to which the agent
// is forwarded gets nothing: whom it would log in to, nobody could say.

// sshKeys are those of the user's agent, for hosts.
type sshKeys struct {
	p     *proxy
	agent string   // its socket
	hosts []string // host:port
	known ssh.HostKeyCallback
}

// learnSSH makes the socket of the box, and reads which keys the hosts have, for the box to know them, too.
func (p *proxy) learnSSH(c logins.Credential, ready *logins.Ready) (k *sshKeys, err error) {
	from := c.From[0][1:]
	l, err := net.Listen("unix", from[0])
	if err != nil {
		return nil, err
	}
	ready.Placeholders[c.Name] = paths.BoxSSHAgent
	k = &sshKeys{p: p, agent: from[1]}
	defer func() { go k.serve(l) }()
	if k.known, err = knownhosts.New(from[2:]...); err != nil {
		return k, err
	}
	var none []string
	k.hosts = c.Hosts
	nobody, _ := ssh.NewPublicKey(make(ed25519.PublicKey, ed25519.PublicKeySize))
	for _, host := range c.Hosts {
		var said *knownhosts.KeyError
		if !errors.As(k.known(host, &net.TCPAddr{}, nobody), &said) || len(said.Want) == 0 {
			none = append(none, host)
			continue
		}
		for _, w := range said.Want {
			data, _ := files.Read(w.Filename, files.NoLinks, 16<<20)
			if lines := strings.Split(string(data), "\n"); w.Line <= len(lines) && strings.HasPrefix(lines[w.Line-1], "@") {
				ready.Known += "@cert-authority "
			}
			ready.Known += knownhosts.Line([]string{host}, w.Key) + "\n"
		}
	}
	if none != nil {
		return k, errors.New("known_hosts has no key of " + strings.Join(none, ", "))
	}
	return k, nil
}

// host is the name that a key is of, or "". That of a certificate counts, too, as for ssh: the host has signed with it.
func (k *sshKeys) host(key ssh.PublicKey) string {
	for _, host := range k.hosts {
		if k.known(host, &net.TCPAddr{}, key) == nil || k.known(host, &net.TCPAddr{}, bare(key)) == nil {
			return host
		}
	}
	return ""
}

// bare is the key of a certificate, or the key that it is.
func bare(key ssh.PublicKey) ssh.PublicKey {
	if c, ok := key.(*ssh.Certificate); ok {
		return c.Key
	}
	return key
}

// maxAsking is how many connections of a box are open to the agent.
const maxAsking = 64

// serve takes connections of the box.
func (k *sshKeys) serve(l net.Listener) {
	places := make(chan struct{}, maxAsking)
	for {
		c, err := l.Accept()
		if err != nil { // of descriptors, which come back
			time.Sleep(time.Second)
			continue
		}
		places <- struct{}{}
		go func() {
			s := &sshSession{k: k}
			_ = agent.ServeAgent(s, &asking{Conn: c}) // until the end of the connection
			c.Close()
			if s.up != nil {
				s.up.Close()
			}
			<-places
		}()
	}
}

// maxMessage is how long a message of a box may be, as for ssh-agent, and loginTime how long one is waited for, as sshd
// does for a login.
const (
	maxMessage = 256 << 10
	loginTime  = 2 * time.Minute
)

// asking is what a box sends: messages behind their length, each of which is read into memory.
type asking struct {
	net.Conn
	size []byte // of a message, as far as it is not read
	left uint32 // of a message
}

func (a *asking) Read(b []byte) (int, error) {
	if len(a.size) == 0 && a.left == 0 {
		_ = a.SetReadDeadline(time.Now().Add(loginTime))
		a.size = make([]byte, 4)
		if _, err := io.ReadFull(a.Conn, a.size); err != nil {
			return 0, err
		}
		if a.left = binary.BigEndian.Uint32(a.size); a.left > maxMessage {
			return 0, errors.New("a message is too long")
		}
	}
	if n := copy(b, a.size); n > 0 {
		a.size = a.size[n:]
		return n, nil
	}
	n, err := a.Conn.Read(b[:min(len(b), int(a.left))])
	a.left -= uint32(n)
	return n, err
}

// sshSession is a connection of the box: with one session of ssh, or it gets nothing.
type sshSession struct {
	k     *sshKeys
	up    net.Conn // to the agent, once the session is with a host that counts
	agent agent.ExtendedAgent

	said bool   // it was said what the session is with
	host string // whose it is, or "" for nothing more
	key  []byte
	id   []byte
}

var errRefused = errors.New("refused")

func (s *sshSession) refuse(host, why string) error {
	s.host = ""
	s.k.p.tell(logins.Event{Credential: "ssh", Host: host, Refused: why})
	return errRefused
}

// Extension hears which host the session is with.
func (s *sshSession) Extension(kind string, contents []byte) ([]byte, error) {
	if kind != "session-bind@openssh.com" {
		return nil, agent.ErrExtensionUnsupported
	}
	var said struct {
		Key, ID, Signature []byte
		Forwarded          bool
	}
	err := ssh.Unmarshal(contents, &said)
	key, errKey := ssh.ParsePublicKey(said.Key)
	var sig ssh.Signature
	if errors.Join(err, errKey, ssh.Unmarshal(said.Signature, &sig)) != nil || key.Verify(said.ID, &sig) != nil {
		return nil, s.refuse("a program", "names a host without its signature")
	}
	again, host := s.said, s.k.host(key)
	s.said = true
	switch {
	case again || said.Forwarded:
		return nil, s.refuse(cmp.Or(host, "another host"), "the agent is not forwarded")
	case host == "":
		return nil, s.refuse("another host", "its key is not one that known_hosts has for a host of the profile")
	}
	if s.up, err = net.Dial("unix", s.k.agent); err != nil {
		return nil, s.refuse(host, "your agent does not answer")
	}
	s.agent = agent.NewClient(s.up)
	s.host, s.key, s.id = host, said.Key, said.ID
	_, _ = s.agent.Extension(kind, contents) // of keys that have hosts of their own, see ssh-add -h
	return nil, nil
}

// bound reports whether the session is with a host that counts.
func (s *sshSession) bound() bool {
	if !s.said {
		_ = s.refuse("a program", "asks for a key, and not for a host: ssh-add, ssh-keygen, or an ssh before 8.9")
	}
	return s.host != ""
}

func (s *sshSession) List() (list []*agent.Key, err error) {
	if s.bound() {
		list, err = s.agent.List()
	}
	for _, key := range list {
		key.Comment = "" // paths of the host, and names
	}
	return list, err
}

func (s *sshSession) SignWithFlags(key ssh.PublicKey, data []byte, flags agent.SignatureFlags) (*ssh.Signature, error) {
	if !s.bound() {
		return nil, errRefused
	}
	var login struct { // RFC 4252 section 7
		ID                    []byte
		Request               byte
		User, Service, Method string
		Signed                bool
		Algorithm             string
		Key                   []byte
		Rest                  []byte `ssh:"rest"`
	}
	const request = 50
	err := ssh.Unmarshal(data, &login)
	plain := login.Method == "publickey" && len(login.Rest) == 0
	withHost := login.Method == "publickey-hostbound-v00@openssh.com" && bytes.Equal(login.Rest, ssh.Marshal(struct{ Key []byte }{s.key}))
	as, errKey := ssh.ParsePublicKey(login.Key) // of a certificate ssh has its key sign
	if errors.Join(err, errKey) != nil || !bytes.Equal(login.ID, s.id) || login.Request != request || login.Service != "ssh-connection" || !login.Signed ||
		!plain && !withHost || !bytes.Equal(bare(as).Marshal(), bare(key).Marshal()) {
		return nil, s.refuse(s.host, "what is to be signed is no login there")
	}
	sig, err := s.agent.SignWithFlags(key, data, flags)
	if err == nil {
		s.k.p.tell(logins.Event{Credential: "ssh", Host: s.host})
	}
	return sig, err
}

func (s *sshSession) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	return s.SignWithFlags(key, data, 0)
}

// What else an agent does, this one does not.
func (*sshSession) Add(agent.AddedKey) error       { return errRefused }
func (*sshSession) Remove(ssh.PublicKey) error     { return errRefused }
func (*sshSession) RemoveAll() error               { return errRefused }
func (*sshSession) Lock([]byte) error              { return errRefused }
func (*sshSession) Unlock([]byte) error            { return errRefused }
func (*sshSession) Signers() ([]ssh.Signer, error) { return nil, errRefused }
