// Package registry asks the user's own package managers which registry they are
// set to, for the groups of network_allow: @npm, @pypi, @go, @crates, @maven and
// @debian. No name of a registry is written here, so mirrors are what they are to
// the user, and a company that has its own sends nothing past it.
//
// It promises that a client is run in the folder it is given, with a small
// environment, ten seconds and 64 KiB to answer; that what is not a host is not
// granted; that no login of an address reaches an Answer; and that nothing is run
// as long as neither the client, nor its files, nor its variables changed (Book).
//
// It does not know what a mirror redirects to: files that it keeps on another
// host need that host listed. The two that say so in their index are asked (the
// simple index of Python, the index of crates).
//
//	told, err := book.Answers(ctx, []string{"npm"}, host, dir)
//	told[0].Places   // what to let through
//	told[0].Env      // what tells the clients in the box the same
package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
)

// Host is where the clients are, and what they are run with.
type Host struct {
	Home   string
	Path   string // PATH without what a stranger may have put there
	Dir    string // an empty folder: what a project sets must not count
	Lookup func(string) (string, bool)
	// Program finds a client that only the user or root can have put there.
	Program func(name string) (string, error)
	// Fetch reads what is at an address, and says which hosts it was sent on to.
	Fetch func(ctx context.Context, address string) (data []byte, hops []string, err error)
	// Patience is how long a client may take; 0 is ten seconds.
	Patience time.Duration
	// Resolve returns the addresses of a name. Nil asks the host's resolver.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Private tells the addresses of private networks; nil are those of RFC 1918 and
	// their kind in IPv6.
	Private func(netip.Addr) bool
	// Now is the time; nil is the clock's.
	Now func() time.Time
	// Environ are all variables of the user, as os.Environ has them.
	Environ []string
}

// Place is one host of a registry.
type Place struct {
	Entry string `json:"entry"` // as hosts.Parse reads it
	// Private says that the name led to a private address when it was looked up:
	// the user's own configuration names a registry of a private network.
	Private bool `json:"private,omitempty"`
	// Looked is when that was, and Failed that it led nowhere then.
	Looked time.Time `json:"looked"`
	Failed bool      `json:"failed,omitempty"`
}

// Answer is what a client said.
type Answer struct {
	Places []Place `json:"places,omitempty"`
	// Env are variables that set a client in the box to the same registry, without
	// the login that an address may have.
	Env []profile.KV `json:"env,omitempty"`
	// CA is the file of certificates that the client is set to, and CAVar the
	// variable that names it; "" for none.
	CA    string `json:"ca,omitempty"`
	CAVar string `json:"ca_var,omitempty"`
	// Config is a file of the client's own that says what no variable can, at
	// ConfigAt below the home; "" for none.
	Config   string `json:"config,omitempty"`
	ConfigAt string `json:"config_at,omitempty"`
	// Why says what is missing, for people; "" when everything is known. Places may
	// hold a part then.
	Why string `json:"why,omitempty"`
	// Absent says that there is no such client.
	Absent bool `json:"absent,omitempty"`

	// Files are those that the client reads its settings from, as far as only it
	// knows them.
	Files []string `json:"files,omitempty"`
}

// client is how one package manager is asked.
type client struct {
	names []string // of the program, the first that is there
	files func(h Host) []string
	vars  func(name string) bool // which of the user's variables count
	ask   func(ctx context.Context, c call) (Answer, error)
}

// clients is the table, by group.
func clients() map[string]client {
	return map[string]client{
		"npm":    {[]string{"npm"}, npmFiles, npmVar, askNPM},
		"pypi":   {[]string{"pip3", "pip"}, pipFiles, pipVar, askPip},
		"go":     {[]string{"go"}, goFiles, goVar, askGo},
		"crates": {[]string{"cargo"}, cargoFiles, cargoVar, askCargo},
		"maven":  {[]string{"mvn"}, mavenFiles, mavenVar, askMaven},
		"debian": {[]string{"apt-get"}, aptFiles, func(string) bool { return false }, askApt},
	}
}

// Fixed returns the members of a group whose hosts are the same everywhere: what
// git and an agent need to clone, to fetch and to download a release. Neither
// has a registry of packages or images among them, nor port 22, which a profile
// has to name (github.com:22).
func Fixed(group string) ([]string, bool) {
	switch group {
	case "github":
		return []string{
			"github.com", "api.github.com", "codeload.github.com", "gist.github.com",
			"raw.githubusercontent.com", "gist.githubusercontent.com", "media.githubusercontent.com",
			"objects.githubusercontent.com", "release-assets.githubusercontent.com",
		}, true
	case "gitlab":
		return []string{"gitlab.com"}, true
	}
	return nil, false
}

// call is one client being asked.
type call struct {
	Host
	program string
	env     []string
}

// Ask asks the client of a group. A client that is not there, or says nothing of
// use, gives an Answer whose Why says so.
func Ask(ctx context.Context, group string, h Host) Answer {
	c, ok := clients()[group]
	if !ok {
		return Answer{Why: "@" + group + " is not a group of a package manager"}
	}
	program, err := h.find(c.names)
	if err != nil {
		return Answer{Why: err.Error(), Absent: true}
	}
	a, err := c.ask(ctx, call{Host: h, program: program, env: h.environment(c)})
	if err != nil {
		a.Why = fmt.Sprintf("%s: %v", filepath.Base(program), err)
	}
	if len(a.Places) == 0 && a.Why == "" {
		a.Why = filepath.Base(program) + " names no registry on the network"
	}
	a.Why = withoutLogin(a.Why)
	h.lookNew(ctx, a.Places)
	return a
}

// find returns the first of the names that is there.
func (h Host) find(names []string) (string, error) {
	why := fmt.Errorf("%s is not installed", strings.Join(names, " or "))
	for _, name := range names {
		program, err := h.Program(name)
		switch {
		case err == nil:
			return program, nil
		case !errors.Is(err, fs.ErrNotExist):
			why = err
		}
	}
	return "", why
}

// environment is what a client is run with: where it looks for its settings, and
// nothing else of the user's.
func (h Host) environment(c client) []string {
	env := []string{"HOME=" + h.Home, "PATH=" + h.Path, "LC_ALL=C", "TERM=dumb", "NO_COLOR=1", "COLUMNS=10000"}
	for _, name := range []string{"USER", "LOGNAME", "XDG_CONFIG_HOME"} {
		if v, ok := h.Lookup(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, h.counted(c)...)
}

// counted are the user's variables that a client is set by, sorted.
func (h Host) counted(c client) []string {
	var out []string
	for _, kv := range h.Environ {
		if name, _, ok := strings.Cut(kv, "="); ok && c.vars(name) && !fromScript(h, name) {
			out = append(out, kv)
		}
	}
	slices.Sort(out)
	return out
}

// fromScript reports whether a variable is what npm tells its scripts: then it is
// what the project says, not the user.
func fromScript(h Host, name string) bool {
	if !strings.HasPrefix(strings.ToLower(name), "npm_config_") {
		return false
	}
	for _, mark := range []string{"npm_lifecycle_event", "npm_execpath", "npm_command"} {
		if _, ok := h.Lookup(mark); ok {
			return true
		}
	}
	return false
}

// grant adds the host of an address.
func (a *Answer) grant(address string) error {
	entry, err := entryOf(address)
	if err == nil && !slices.ContainsFunc(a.Places, func(p Place) bool { return p.Entry == entry }) {
		a.Places = append(a.Places, Place{Entry: entry})
	}
	return err
}

// entryOf is the host of an address as hosts.Parse reads it. Ports that are an http
// server's usual ones are granted as a name is that states none.
func entryOf(address string) (string, error) {
	u, err := url.Parse(address)
	usual := map[string]string{"http": "80", "https": "443"}
	if err != nil || u.Host == "" || usual[u.Scheme] == "" {
		return "", fmt.Errorf("%q is not the address of a registry", printable(bare(address)))
	}
	entry := u.Host
	if p := u.Port(); p == "" || p == usual[u.Scheme] {
		entry = strings.TrimSuffix(u.Host, ":"+p)
	}
	e, err := hosts.Parse(entry)
	if err != nil {
		return "", err
	}
	if e.Wild || e.Group != "" {
		return "", fmt.Errorf("%q is not a host", entry)
	}
	return e.String(), nil
}

// set adds a variable, once it is known that it says nothing secret.
func (a *Answer) set(key, value string) {
	if value != "" && !strings.ContainsAny(value, "\x00\r\n") {
		a.Env = append(a.Env, profile.KV{Key: key, Value: value})
	}
}

// certificates notes the file of certificates a client is set to.
func (a *Answer) certificates(variable, file string) {
	if filepath.IsAbs(file) {
		a.CA, a.CAVar = filepath.Clean(file), variable
	}
}

// bare is an address without its login: what stands before an @ in its host.
func bare(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	return scheme + "://" + rest[strings.LastIndexByte(upTo(rest, "/?#"), '@')+1:]
}

// upTo is a text up to the first of some characters.
func upTo(text, ends string) string {
	if i := strings.IndexAny(text, ends); i >= 0 {
		return text[:i]
	}
	return text
}

// withoutLogin is what is told and kept of a complaint, which may quote the user's
// settings: without what stands before an @ in an address, however it is spelt, and
// without what follows the name of one of npm's secrets.
func withoutLogin(text string) string {
	for _, secret := range []string{"_auth", "_password"} { // _authToken, too
		if i := strings.Index(text, secret); i >= 0 {
			text = text[:i+len(secret)] + "..."
		}
	}
	out := ""
	for {
		before, rest, ok := strings.Cut(text, "://")
		out += before
		if !ok {
			return out
		}
		out += "://"
		text = rest[strings.LastIndexByte(upTo(rest, " \t\""), '@')+1:]
	}
}

func printable(s string) string {
	s = withoutLogin(s) // whole: what is cut off might be the @
	if len(s) > 200 {
		s = s[:200]
	}
	return visible.Text(s)
}

const lookFor = 3 * time.Second

// look finds out which places are those of a private network, all at once: a name
// is, when all its addresses are.
func (h Host) look(ctx context.Context, places []Place) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	var wg sync.WaitGroup
	for i := range places {
		wg.Go(func() { h.lookAt(ctx, &places[i]) })
	}
	wg.Wait()
}

// lookNew looks at those places that were never looked at: they are the last.
func (h Host) lookNew(ctx context.Context, places []Place) {
	if i := slices.IndexFunc(places, func(p Place) bool { return p.Looked.IsZero() }); i >= 0 {
		h.look(ctx, places[i:])
	}
}

func (h Host) lookAt(ctx context.Context, p *Place) {
	p.Looked, p.Failed, p.Private = h.now(), false, false
	e, err := hosts.Parse(p.Entry)
	if err != nil || e.Addr.IsValid() {
		return // a literal address is what it is
	}
	if e.Host == "localhost" {
		p.Private = true
		return
	}
	resolve := h.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	addrs, err := resolve(ctx, e.Host)
	if p.Failed = err != nil || len(addrs) == 0; !p.Failed {
		private := h.Private
		if private == nil {
			private = func(a netip.Addr) bool { return a.Unmap().IsPrivate() }
		}
		p.Private = !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !private(a) })
	}
}

func (h Host) now() time.Time {
	if h.Now != nil {
		return h.Now()
	}
	return time.Now()
}
