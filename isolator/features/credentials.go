package features

// Logins that the box uses and cannot read ([credentials]): inner-proxy puts them into its requests (package
// logins), the box has placeholders, and takes the certificates of that program.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/logins"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/gitconfig"
	"github.com/enr/inner/profile/gitignore"
)

// noNetwork is why a login is not there which nobody would use.
const noNetwork = "there is no network"

// readyTimeout is how long the values may take, of which a password store may ask for its passphrase.
const readyTimeout = 2 * time.Minute

// credentialsOf is what a run has of them.
type credentialsOf struct {
	home  *ownHome
	job   logins.Job
	proxy *logins.Proxy
	start func() error // starts that, and is nil without credentials

	mu   sync.Mutex
	seen []logins.Event
	told int                 // of these
	more []logins.Credential // that the box got while it runs
	has  []profile.KV        // the placeholders of the box, by the names of their credentials
}

// credentials starts inner-proxy for a profile that has some.
func credentials(home *ownHome) Feature {
	c := &credentialsOf{home: home}
	return Feature{
		Name: "credentials", Keys: []string{"credentials"}, Ask: c.ask, Make: c.make,
		Start: func(run *Run, _ *launch.Options) {
			for _, k := range run.Spec.Credentials {
				why := run.LostLogins[k.Name]
				if none := why == logins.Nobody || why == noNetwork; why != "" && (!none || !k.Builtin) {
					run.Warn("credential %s: %s: the box makes its requests without it", k.Name, why)
				}
			}
			clear(run.LostLogins)
		},
		Grant: c.grant, Between: c.tell, Finish: func(run *Run, o *Outcome) error {
			go c.end() // while the rest is done, which waits for it
			return c.tell(run, o)
		},
	}
}

// ask hides where the values are, also of a box without a network, and starts the program that reads them.
func (c *credentialsOf) ask(run *Run) error {
	rc := &run.Spec
	beside(run, c.home, atServers)
	if rc.Network == profile.NetFull && slices.ContainsFunc(rc.Credentials,
		func(k profile.Credential) bool { return k.Name != profile.SSHKeys && !k.Clone }) {
		hint := `network_mode = "allowlist" under [sandbox]`
		if i := slices.IndexFunc(rc.Credentials, func(k profile.Credential) bool { return k.Agent != "" }); i >= 0 {
			hint = rc.Credentials[i].Name + ` = "clone" under [credentials], or ` + hint
		}
		return fault.Refuse(125, hint,
			"profile %q: [credentials] are put in by inner's proxy, and with the whole network nothing leads there", rc.Name)
	}
	for _, k := range rc.Credentials {
		if k.Agent != "" {
			if err := (&agentsOf{home: c.home}).end(run, k.Agent); err != nil {
				return err
			}
		}
	}
	run.usedLogins = map[string]*usedLogin{}
	c.job, run.LostLogins = c.wanted(run, rc.Credentials)
	if !run.Mode.Made() || len(c.job.Credentials) == 0 {
		return nil
	}
	path, err := run.Beside("inner-proxy")
	if err != nil {
		return err
	}
	cmd := exec.Command(path, "--build="+run.Version)
	cmd.Env = c.environ(run)
	c.start = sync.OnceValue(func() (err error) {
		c.proxy, err = logins.Start(cmd, c.job, c.hear)
		return err
	})
	go func() { _ = c.start() }()
	run.Undo(c.end)
	return nil
}

// end ends inner-proxy.
func (c *credentialsOf) end() {
	if c.start != nil && c.start() == nil {
		c.proxy.Close()
	}
}

// wanted is what inner-proxy is told of credentials, and why others have no value.
func (c *credentialsOf) wanted(run *Run, list []profile.Credential) (logins.Job, map[string]string) {
	job, lost := logins.Job{Values: map[string]string{}}, map[string]string{}
	off := map[profile.Network]error{profile.NetOff: errors.New(noNetwork)}[run.Spec.Network]
	for _, k := range list {
		given := off
		if k.Of == "" { // hosts and places of an agent's login are not the profile's to choose
			given = cmp.Or(asFile(run), off)
		}
		w := logins.Credential{Name: k.Name, Hosts: k.Hosts, In: k.In, Allow: k.Allow, Deny: k.Deny, Filter: k.Filter}
		var err error
		var none []string // what each place of the value lacks
		if k.Clone {
			continue
		}
		if k.Agent != "" {
			run.usedLogins[k.Agent] = &usedLogin{}
			if w.OAuth, err = store(run, k.Agent); err != nil {
				lost[k.Name] = err.Error()
			} else if given == nil {
				of, _ := capability.Find(k.Agent)
				is, _ := (&agentsOf{home: c.home}).loginIn(run, of)
				w.OAuth.Inside = of.End(is)
				job.Credentials = append(job.Credentials, w)
				continue
			}
		}
		for _, from := range k.From {
			var source []string
			if source, err = c.source(run, from); err != nil {
				none = append(none, err.Error())
				continue
			}
			w.From = append(w.From, source)
			if source[0] == "env" {
				job.Values[source[1]] = run.Getenv(source[1])
			}
		}
		if k.Of != "" && c.home.Home != nil { // the agent asks once whether to use a key, and keeps the answer there
			w.Seed = c.home.Secret() + k.Name
		}
		switch {
		case given != nil:
			lost[cmp.Or(k.Of, k.Name)] = given.Error()
		case len(w.From) == 0 && k.Of != "": // of several, one is enough
		case len(w.From) == 0:
			lost[k.Name] = cmp.Or(strings.Join(none, ", and "), lost[k.Name])
		default:
			job.Credentials = append(job.Credentials, w)
		}
	}
	return job, lost
}

// grant hands inner-proxy what the profile of a box that runs has more. The programs of the box keep the variables of their
// start, so the person is told the placeholder.
func (c *credentialsOf) grant(before, next *Run, _ launch.Running) (words string, err error) {
	more := slices.DeleteFunc(slices.Clone(next.Spec.Credentials), func(k profile.Credential) bool {
		return slices.ContainsFunc(before.Spec.Credentials, func(o profile.Credential) bool { return o.Name == k.Name })
	})
	if len(more) == 0 {
		return "", nil
	}
	if slices.ContainsFunc(more, func(k profile.Credential) bool { return k.Of != "" || k.Clone }) {
		return "", NewRun("the sandbox has its files of the agent from its start")
	}
	if !c.puts() {
		return "", NewRun("the sandbox began without [credentials], and takes no certificates of inner-proxy")
	}
	var ready logins.Ready
	if slices.ContainsFunc(more, func(k profile.Credential) bool { return k.Name == profile.SSHKeys }) {
		return "", NewRun("the sandbox began without a socket for ssh")
	}
	job, lost := c.wanted(next, more)
	if len(lost) == 0 {
		if err = c.proxy.Add(job); err == nil {
			ready, err = c.proxy.Wait(readyTimeout)
		}
		if err != nil {
			return "", fmt.Errorf("inner-proxy: %w", err)
		}
		lost = ready.Missing
	}
	for _, why := range lost {
		return "", errors.New(why)
	}
	for _, k := range more {
		if ready.Placeholders[k.Name] == "" { // the answer is a late one, to what was wanted before
			return "", errors.New("inner-proxy does not know it yet: type it again")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.more = append(c.more, job.Credentials...)
	for _, k := range more {
		c.has = append(c.has, profile.KV{Key: k.Name, Value: ready.Placeholders[k.Name]})
		words += fmt.Sprintf("; of its programs those of a new run have %s, others set it to %s",
			k.Env, ready.Placeholders[k.Name])
	}
	return words, nil
}

// environ is the environment of inner-proxy, and of programs that know a value: what such programs are found
// and asked by, and no variable by which a file of a box would be code or settings of theirs.
func (c *credentialsOf) environ(run *Run) []string {
	names := []string{
		"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR",
		"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
		"GPG_TTY", "SSH_AUTH_SOCK",
	}
	for _, name := range []string{
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "GNUPGHOME",
		"PASSWORD_STORE_DIR", "GH_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
	} {
		if err := places(run, run.Getenv(name)); err != nil {
			run.Warn("%s does not count for [credentials]: %v", name, err)
		} else {
			names = append(names, name)
		}
	}
	env := []string{"PATH=" + pathOutside(run)}
	for _, name := range names {
		if v, ok := run.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// places says what is wrong with what a variable names: in files of a box, it would decide whom a value is
// given to, or which.
func places(run *Run, value string) error {
	for _, p := range filepath.SplitList(value) {
		if run.ofSystem(p) { // root's
			continue
		}
		for _, file := range withEntries(p) {
			if _, err := run.unplanted(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// withEntries is a path, and where it is a folder what is in it.
func withEntries(p string) []string {
	list := []string{p}
	entries, _ := os.ReadDir(p)
	for _, e := range entries {
		list = append(list, filepath.Join(p, e.Name()))
	}
	return list
}

// asFile says what is wrong with a profile that is named as a file, which nobody was asked about: a box that
// wrote it would have values sent where it likes, and programs run outside.
func asFile(run *Run) error {
	for _, file := range run.Spec.Files {
		if _, err := run.unplanted(file); err != nil && run.Spec.Scope == profile.Direct {
			return fmt.Errorf("%w: put the profile into %s", err, run.Short(run.ProfilesDir()))
		}
	}
	return nil
}

// source is where a value is, as inner-proxy is told: a file or a program in which no box had a say. The box does not
// see it.
func (c *credentialsOf) source(run *Run, from string) ([]string, error) {
	rc := &run.Spec
	kind, arg, _ := strings.Cut(from, ":")
	words := strings.Fields(arg)
	switch kind {
	case "env", "agent":
		rc.Env.Never = append(slices.Clip(rc.Env.Never), arg)
		value := run.Getenv(arg)
		if value == "" {
			return nil, fmt.Errorf("the variable %s is not set", arg)
		}
		for _, kv := range rc.Env.Set { // as "${NAME}" of [env] set
			if len(value) > 7 && strings.Contains(kv.Value, value) {
				rc.Env.Set = slices.DeleteFunc(slices.Clone(rc.Env.Set), func(o profile.KV) bool { return o.Key == kv.Key })
				run.Warn("%s is not passed: it holds the value of %s, which is a credential", kv.Key, arg)
			}
		}
		for _, kv := range run.Environ { // and another variable that has it as well
			name, other, _ := strings.Cut(kv, "=")
			if len(value) > 7 && name != arg && strings.Contains(other, value) {
				rc.Env.Never = append(rc.Env.Never, name)
			}
		}
		if kind == "env" {
			return []string{kind, arg}, nil
		}
		rc.Hide = append(slices.Clip(rc.Hide), gitignore.Escape(value))
		agent, err := run.unplanted(value)
		known, errKnown := knownHosts(run)
		return append([]string{kind, run.Folder.At(sshSocket), agent}, known...), cmp.Or(err, errKnown)
	case "file":
		path, key, _ := strings.Cut(arg, "#")
		rc.Hide = append(slices.Clip(rc.Hide), gitignore.Escape(path))
		real, err := run.unplanted(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s does not exist", run.Short(path))
		}
		return []string{kind, real, key}, err
	case "key":
		s, err := store(run, arg)
		if err != nil {
			return nil, err
		}
		return []string{"file", s.Path, s.Key}, nil
	case "pass":
		words = []string{"pass", "show", arg}
	case "secret-tool":
		words = append([]string{"secret-tool", "lookup"}, words...)
	}
	for i, word := range words {
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			words[i] = filepath.Join(run.Home, rest)
		}
		var err error
		switch {
		case filepath.IsAbs(words[i]):
		case i == 0:
			if words[0], err = hostProgram(run, word, pathOutside(run)); err != nil {
				return nil, err
			}
		default:
			continue
		}
		if _, err = run.unplanted(words[i]); err != nil && (i == 0 || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	return append([]string{"cmd"}, words...), nil
}

// make gives the box what stands for the values, and the certificate of the run.
func (c *credentialsOf) make(run *Run) error {
	if c.start == nil {
		return nil
	}
	if c.puts() {
		run.trusted = trustOf(run)
	}
	var ready logins.Ready
	err := c.start()
	if err == nil {
		ready, err = c.proxy.Wait(readyTimeout)
	}
	if err != nil {
		return fault.Refuse(125, "inner doctor", "inner-proxy does not start: %v", err)
	}
	for _, k := range run.Spec.Credentials {
		text := ready.Placeholders[k.Name]
		if why := ready.Missing[k.Name]; why != "" && (k.Of == "" || k.Agent != "") {
			run.LostLogins[k.Name] = why
		}
		if text != "" {
			c.has = append(c.has, profile.KV{Key: k.Name, Value: text})
			delete(run.LostLogins, k.Of)
		}
		if u := run.usedLogins[k.Of]; u != nil {
			u.take(k, text, ready.Missing[k.Name], ready.Stores[k.Name])
		}
		if why := ready.Ended[k.Name]; why != "" {
			if err := (&agentsOf{home: c.home}).ended(run, k, why, ready.Placeholders); err != nil {
				return err
			}
		}
		if text != "" && k.Env != "" {
			run.Assets.Env = append(run.Assets.Env, profile.KV{Key: k.Env, Value: text})
			run.gitLogins = append(run.gitLogins, helpers(k)...)
			if k.Name == profile.SSHKeys {
				giveSSH(run, text, ready.Known)
			}
			if k.Name == "npm" {
				npmFile(run, "//"+k.Hosts[0]+"/:_authToken=${"+k.Env+"}", "npm has a placeholder ([credentials])")
			}
		}
	}
	if c.puts() {
		run.authority, run.throughLogins, run.clearLogins = []byte(ready.Authority), c.through, c.clear
	}
	return nil
}

// helpers have git use a credential that is a password, by the variable that holds the placeholder.
func helpers(k profile.Credential) (list []gitconfig.Entry) {
	for _, place := range k.In {
		user, basic := strings.CutPrefix(place, "basic:")
		if user = cmp.Or(user, "x-access-token"); !basic { // as GitHub wants it; others take any
			continue
		}
		for _, host := range k.Hosts {
			list = append(list, gitconfig.Entry{
				Key:   "credential.https://" + host + ".helper",
				Value: fmt.Sprintf(`!f() { test "$1" != get || printf 'username=%%s\npassword=%%s\n' %s "$%s"; }; f`, quote.POSIX(user), k.Env),
			})
		}
	}
	return list
}

// puts reports whether values are put into requests, which is not how ssh uses keys.
func (c *credentialsOf) puts() bool {
	return slices.ContainsFunc(c.job.Credentials, func(k logins.Credential) bool { return k.In != nil })
}

// through makes the connections to a host of a credential, by inner-proxy; nil for any other.
func (c *credentialsOf) through(to netproxy.Target) func([]netip.Addr) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.ContainsFunc(slices.Concat(c.job.Credentials, c.more),
		func(k logins.Credential) bool { return k.Takes(to.Host, to.Port) || k.Renews(to.Host, to.Port) }) {
		return nil
	}
	return func(addrs []netip.Addr) (net.Conn, error) {
		return c.proxy.Dial(logins.Conn{Host: to.Host, Port: to.Port, Addrs: addrs})
	}
}

// clear looks for placeholders in a request that is not encrypted.
func (c *credentialsOf) clear(to netproxy.Target, head []byte) {
	c.mu.Lock()
	has := slices.Clone(c.has)
	c.mu.Unlock()
	for _, kv := range has {
		if bytes.Contains(head, []byte(kv.Value)) {
			c.hear(logins.Event{
				Credential: kv.Key,
				Host:       to.String(),
				Refused:    "it got the placeholder, in the clear: a login is put in over TLS alone",
			})
		}
	}
}

// hear keeps what inner-proxy tells.
func (c *credentialsOf) hear(e logins.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := slices.ContainsFunc(c.seen, func(o logins.Event) bool {
		return o.Credential == e.Credential && o.Host == e.Host && o.Refused == e.Refused
	})
	if e.At = time.Now(); len(c.seen) < maxTold && !known {
		c.seen = append(c.seen, e)
	}
}

// tell says what was refused, and records what was used.
func (c *credentialsOf) tell(run *Run, o *Outcome) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.seen[c.told:] {
		of := ""
		if e.Credential != "" {
			of = "credential " + e.Credential + ", "
		}
		if e.Refused != "" {
			run.Say("%s%s%s: %s", of, e.Host, visible.Short(e.Path), e.Refused)
		}
		ask := run.Profile.Question("credential:" + e.Credential)
		if e.Refused == logins.NotAllowed && ask != "" {
			run.Hint("%s", ask)
		}
		o.Events = append(o.Events, runlog.Event{
			Type: runlog.EventCredential, Run: run.ID(), Profile: run.Spec.Name,
			Program: e.Credential, Host: e.Host, Path: e.Path, Reason: e.Refused, At: e.At,
		})
	}
	c.told = len(c.seen)
	return nil
}
