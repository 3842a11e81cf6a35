package attack

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// readAll reads everything at the paths it was told: files, whole folders, what
// a socket answers. One line each, the path, a tab, the content.
func readAll(t Trial) (string, error) {
	return gather(t.Paths, func(p string) (string, error) {
		text, err := content(p)
		return p + "\t" + strings.ReplaceAll(text, "\n", " ") + "\n", err
	})
}

func content(p string) (string, error) {
	fi, err := os.Stat(p)
	switch {
	case err != nil:
		return "", err
	case fi.Mode()&fs.ModeSocket != 0:
		return dial("unix", p)
	case !fi.IsDir():
		data, err := os.ReadFile(p)
		return string(data), err
	}
	var b strings.Builder
	err = filepath.WalkDir(p, func(q string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(q) // what cannot be read says nothing
			b.Write(data)
		}
		return nil
	})
	return b.String(), err
}

// dial connects and reads what is answered.
func dial(network, address string) (string, error) {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	data, err := io.ReadAll(io.LimitReader(c, 1<<16))
	return string(data), err
}

// read returns the attack that reads what was planted.
func read(name, what string, made stage) Attack {
	return Attack{Name: name, Class: "secrets", What: what, Stage: made, Try: readAll}
}

func sshAllowed(rc profile.RunConfig) string { return allows("ssh-keys")(rc) }

func secrets() []Attack {
	list := []Attack{
		read("read-through-link", "read a key through a link in the project", readThroughLink),
		read("read-linked-secret", "read a secret file that is itself a link, under both names", readLinkedSecret),
		read("read-secret-by-parent-link", "read a secret whose folder is a link, under both names", readSecretByParentLink),
		read("read-moved-secret", "read secrets where a variable has moved them: GNUPGHOME, KUBECONFIG, XDG_CONFIG_HOME, HISTFILE", func(s *Fixture) error {
			s.Env = append(s.Env, "GNUPGHOME="+s.path("moved/gpg"), "KUBECONFIG="+s.path("moved/a")+":"+s.path("app/kube.yaml"), "XDG_CONFIG_HOME="+s.path("moved/conf"), "HISTFILE=~/moved/commands")
			return planted("moved/gpg/secring", "moved/a", "app/kube.yaml", "moved/conf/gh/hosts.yml", "moved/commands")(s)
		}),
		read("read-proc-root", "read a key through /proc/self/root, /proc/1/root and /proc/1/cwd", readProcRoot),
		uncover(),
		lateSecret(),
		read("inner-trust-read", "read inner's trust store and logs", planted(".inner/trust/record", ".inner/logs/audit.jsonl")),
		read("staged-read", "read what is staged for other runs", stagedRead),
		{Name: "read-unknown-dot", Class: "secrets", What: "read a secret that no table knows, in what begins with a dot in the home", Stage: planted(".unheard/of", ".unheardrc", ".config/unheard/of"), Try: readAll, Declared: homeWritable},
	}
	for i := range list {
		if list[i].Declared == nil && strings.Contains(list[i].What, "key") {
			list[i].Declared = sshAllowed
		}
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		list = append(list, read("read"+strings.ReplaceAll(dir, "/", "-"), "read a file of the host in "+dir, func(s *Fixture) error {
			at, err := s.temp(dir)
			if err != nil {
				return err
			}
			s.target(at)
			return s.plant(filepath.Join(at, "secret"))
		}))
	}
	list = append(list, readPlaces())
	return append(list, environment()...)
}

func readThroughLink(s *Fixture) error {
	s.target("app/link/id_ed25519")
	s.target("app/key")
	return errors.Join(s.plant(".ssh/id_ed25519"), os.Symlink(s.path(".ssh"), s.path("app/link")), os.Symlink(s.path(".ssh/id_ed25519"), s.path("app/key")))
}

func readLinkedSecret(s *Fixture) error {
	s.target("dotfiles/netrc")
	s.target(".netrc")
	return errors.Join(s.plant("dotfiles/netrc"), os.Symlink("dotfiles/netrc", s.path(".netrc")))
}

func readSecretByParentLink(s *Fixture) error {
	s.target("dotfiles/ssh/id")
	s.target(".ssh/id")
	return errors.Join(s.plant("dotfiles/ssh/id"), os.Symlink(s.path("dotfiles/ssh"), s.path(".ssh")))
}

func readProcRoot(s *Fixture) error {
	key := s.path(".ssh/id_ed25519")
	for _, root := range procRoots() {
		s.target(root + key)
	}
	return s.plant(".ssh/id_ed25519")
}

func uncover() Attack {
	return Attack{
		Name: "uncover", Class: "secrets", What: "take the cover off a key: unmount it, or bind what is below elsewhere, also from a namespace of its own", Declared: sshAllowed,
		Stage: planted(".ssh/id_ed25519"),
		Try: func(t Trial) (string, error) {
			const script = `d=${1%/*}; cat "$1"; umount "$d"; umount -l "$d"; cat "$1"; mkdir -p "$2"; mount --bind "${d%/*}" "$2" && cat "$2/.ssh/"*`
			return twice(script, t.Paths[0], filepath.Join(t.App, "x"))
		},
	}
}

func lateSecret() Attack {
	return Attack{
		Name: "late-secret", Class: "secrets", What: "read a key that is made after the start", Declared: sshAllowed,
		Stage: func(s *Fixture) error {
			s.target(".ssh/late")
			done := make(chan bool)
			s.undo = append(s.undo, func() { <-done })
			go func() {
				defer close(done)
				time.Sleep(150 * time.Millisecond)
				if s.plant("outside/late") == nil { // never seen empty
					_ = os.Rename(s.path("outside/late"), s.path(".ssh/late"))
				}
			}()
			return s.put(".ssh/config", "")
		},
		Try: func(t Trial) (said string, err error) {
			for range 60 {
				if said, err = readAll(t); err == nil && said != "" {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			return said, err
		},
	}
}

func stagedRead(s *Fixture) error {
	s.target(filepath.Join(s.Run, "inner", "other"))
	if err := os.Mkdir(filepath.Join(s.Run, "inner"), 0o700); err != nil {
		return err
	}
	return s.plant(filepath.Join(s.Run, "inner", "other"))
}

func readPlaces() Attack {
	return Attack{
		Name: "read-places", Class: "secrets", What: "read what lies in /mnt, /media, /srv, /var/log and other homes", Try: readAll,
		Stage: func(s *Fixture) error {
			err := errors.New("only root can put something there")
			// Who can write to /root is root, and that is a home of its own.
			for _, dir := range []string{"/mnt", "/media", "/srv", "/var/log", "/home"} {
				at, fault := s.temp(dir)
				if fault != nil {
					continue
				}
				if err = s.plant(filepath.Join(at, "secret")); err != nil {
					return err
				}
				s.target(at)
			}
			return err
		},
	}
}

// environment attacks variables.
func environment() []Attack {
	show := func(Trial) (string, error) {
		var b strings.Builder
		for _, kv := range os.Environ() {
			name, value, _ := strings.Cut(kv, "=")
			b.WriteString(name + "\t" + value + "\n")
		}
		// Whoever started this may still have what it was not given.
		others, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			return "", err
		}
		for _, p := range others {
			data, _ := os.ReadFile(p) // not ours to read, or gone
			b.WriteString(p + "\t" + strings.NewReplacer("\x00", " ", "\n", " ").Replace(string(data)) + "\n")
		}
		return b.String(), nil
	}
	set := func(names ...string) func(*Fixture) error {
		return func(s *Fixture) error {
			for _, n := range names {
				s.Env = append(s.Env, n+"="+s.Secret)
			}
			return nil
		}
	}
	// Names that no built-in profile asks for.
	named := func(names ...string) func(profile.RunConfig) string {
		return func(rc profile.RunConfig) string {
			for _, n := range names {
				if slices.Contains(rc.Env.Inherit, n) {
					return "env.inherit names " + n
				}
			}
			return ""
		}
	}
	tokens := []string{
		"GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "NPM_TOKEN", "PYPI_TOKEN", "CARGO_REGISTRY_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "ARM_CLIENT_SECRET", "DIGITALOCEAN_TOKEN", "CLOUDFLARE_API_TOKEN", "HEROKU_API_KEY",
		"DOCKER_AUTH_CONFIG", "VAULT_TOKEN", "CONSUL_HTTP_TOKEN", "SLACK_BOT_TOKEN", "STRIPE_SECRET_KEY", "SENTRY_AUTH_TOKEN", "DATABASE_URL",
		"PGPASSWORD", "MYSQL_PWD", "REDIS_URL", "MONGODB_URI", "SMTP_PASSWORD", "JWT_SECRET", "SECRET_KEY_BASE", "DJANGO_SECRET_KEY",
		"HF_TOKEN", "WANDB_API_KEY", "MISTRAL_API_KEY", "COHERE_API_KEY", "REPLICATE_API_TOKEN", "TWILIO_AUTH_TOKEN", "SENDGRID_API_KEY",
		"BW_SESSION", "OP_SESSION_my", "RESTIC_PASSWORD", "BORG_PASSPHRASE",
	}
	ways := []string{
		"BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL",
		"GIT_EXTERNAL_DIFF", "LESSOPEN", "BASH_FUNC_ls%%", "LD_PRELOAD", "LD_LIBRARY_PATH", "GIT_CONFIG_COUNT", "TMUX", "STY", "NVIM", "KITTY_LISTEN_ON", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
		"WAYLAND_DISPLAY", "XAUTHORITY", "VSCODE_IPC_HOOK_CLI", "KUBECONFIG",
	}
	return []Attack{
		{Name: "env-secrets", Class: "secrets", What: "print the environment: 40 names of secrets", Stage: set(tokens...), Try: show, Declared: named(tokens...)},
		{Name: "env-ways-out", Class: "secrets", What: "print the environment: names of sockets, and of code that programs run", Stage: set(ways...), Try: show, Declared: named(ways...)},
	}
}

// hidden attacks every resource of the table that can be planted, one attack for
// each key.
func hidden() []Attack {
	var keys []string
	rows := map[string][]sensitive.Resource{}
	for _, r := range sensitive.Resources() {
		if r.Part || r.Root {
			continue
		}
		if rows[r.Key] == nil {
			keys = append(keys, r.Key)
		}
		rows[r.Key] = append(rows[r.Key], r)
	}
	var list []Attack
	for _, key := range keys {
		if key == "agent-state" {
			list = append(list, agentState(rows[key])...)
			continue
		}
		if a, ok := row("table-"+key, rows[key], func(rc profile.RunConfig) bool { return slices.Contains(rc.Allow, key) }); ok {
			list = append(list, a)
		}
	}
	return list
}

// row returns the attack on some rows of the table, unless none of it can be planted.
func row(name string, rows []sensitive.Resource, given func(profile.RunConfig) bool) (Attack, bool) {
	plantable := func(r sensitive.Resource) bool {
		return slices.ContainsFunc(r.Paths, func(p string) bool { _, ok := placed(p); return ok })
	}
	if !slices.ContainsFunc(rows, plantable) {
		return Attack{}, false
	}
	return Attack{
		Name: name, Class: "secrets", What: "read " + rows[0].What, Try: readAll,
		Stage: func(s *Fixture) error {
			for _, r := range rows {
				if err := s.plantRow(r); err != nil {
					return err
				}
			}
			return nil
		},
		Declared: func(rc profile.RunConfig) string {
			if given(rc) {
				return "allow, or a copy for a capability"
			}
			return ""
		},
	}, true
}

// agentState returns an attack for each agent that has a capability, and one for the
// rest: a profile gives a copy of one agent's state, not of all.
func agentState(rows []sensitive.Resource) []Attack {
	of := func(path string) string {
		for _, c := range profile.Capabilities() {
			if strings.Contains(strings.ToLower(path), c) {
				return c
			}
		}
		return ""
	}
	var list []Attack
	for _, c := range append(profile.Capabilities(), "") {
		var part []sensitive.Resource
		for _, r := range rows {
			r.Paths = slices.DeleteFunc(slices.Clone(r.Paths), func(p string) bool { return of(p) != c })
			part = append(part, r)
		}
		name := strings.TrimSuffix("table-agent-state-"+c, "-")
		a, ok := row(name, part, func(rc profile.RunConfig) bool {
			return slices.Contains(rc.Allow, "agent-state") || c != "" && slices.Contains(rc.Capabilities, c)
		})
		if ok {
			list = append(list, a)
		}
	}
	return list
}

// placed returns where in the home a path of the table is planted.
func placed(p string) (string, bool) {
	rest, home := strings.CutPrefix(p, "~/")
	if !home {
		var project bool
		if rest, project = strings.CutPrefix(p, "PROJECT/"); !project {
			return "", false
		}
		rest = "app/" + rest
	}
	return strings.NewReplacer("*", "x", "?", "y").Replace(rest), true
}

func (s *Fixture) plantRow(r sensitive.Resource) error {
	for _, p := range r.Paths {
		name, ok := placed(p)
		at := s.path(name)
		if !ok || slices.Contains(s.Trial.Paths, at) {
			continue
		}
		if r.Kind == "socket" {
			if len(at) > 107 { // what sun_path holds (unix(7))
				continue
			}
			if _, err := s.serve("unix", at); err != nil {
				return err
			}
			s.target(at)
			continue
		}
		s.target(at)
		base, text := filepath.Base(at), s.Secret+"\n"
		switch {
		case r.Holds != "":
			text = r.Holds + "\n" + text
		case strings.HasSuffix(base, ".json"):
			text = `{"secret":"` + s.Secret + `"}`
		case r.Kind == "dir" && !strings.Contains(strings.TrimPrefix(base, "."), "."):
			name += "/secret"
		}
		if err := s.put(name, text); err != nil {
			return err
		}
	}
	return nil
}

// self runs inner, as a program inside or outside would.
func self(t Trial, args ...string) (string, error) {
	cmd := exec.Command(t.Inner, args...)
	cmd.Args[0] = "inner"
	cmd.Dir = t.App
	cmd.Stderr = io.Discard
	out, err := cmd.Output()
	return string(out), err
}
