package plan

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// TestMovedSecrets: what a variable has moved is hidden where it is, and allowed by
// the key of its row, whatever kind of path the value is.
func TestMovedSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		env, set string // NAME=VALUE
		path     string
		key      string
	}{
		"a tree":               {env: "XDG_CONFIG_HOME=/data/conf", path: "/data/conf/gh", key: "gh-config"},
		"a tree of data":       {env: "XDG_DATA_HOME=/data/share", path: "/data/share/keyrings", key: "keyrings"},
		"a folder":             {env: "GNUPGHOME=/data/gpg", path: "/data/gpg", key: "gpg-keys"},
		"a file":               {env: "NETRC=/data/logins", path: "/data/logins", key: "netrc"},
		"several":              {env: "KUBECONFIG=/data/k1:/data/k2", path: "/data/k2", key: "kube-config"},
		"below a variable":     {env: "CARGO_HOME=/data/cargo/", path: "/data/cargo/credentials.toml", key: "cargo-credentials"},
		"relative":             {env: "KUBECONFIG=deploy/kube.yaml", path: testWork + "/deploy/kube.yaml", key: "kube-config"},
		"with a tilde":         {env: "PASSWORD_STORE_DIR=~/keys/pass", path: testHome + "/keys/pass", key: "password-store"},
		"in the project":       {env: "CLAUDE_CONFIG_DIR=" + testWork + "/.state", path: testWork + "/.state", key: "agent-state"},
		"a history":            {env: "HISTFILE=" + testHome + "/.cmds", path: testHome + "/.cmds", key: "bash-history"},
		"a shell's folder":     {env: "ZDOTDIR=" + testHome + "/z", path: testHome + "/z/.zsh_history", key: "zsh-history"},
		"registry logins":      {env: "DOCKER_CONFIG=/data/d", path: "/data/d/config.json", key: "docker-config"},
		"a scheme before it":   {env: "KRB5CCNAME=FILE:/data/ticket", path: "/data/ticket", key: "kerberos"},
		"a name with a colon":  {env: "GNUPGHOME=/data/a:b", path: "/data/a:b", key: "gpg-keys"},
		"set by the profile":   {set: "GNUPGHOME=/data/gpg", path: "/data/gpg", key: "gpg-keys"},
		"only named by one":    {env: "GOOGLE_APPLICATION_CREDENTIALS=/data/sa.json", path: "/data/sa.json", key: "gcloud-credentials"},
		"a line's end in it":   {env: "GNUPGHOME=/data/a\nb", path: "/data/a\nb", key: "gpg-keys"},
		"like an address":      {env: "GNUPGHOME=/data/x://y", path: "/data/x:/y", key: "gpg-keys"},
		"behind an address":    {env: "KUBECONFIG=/data/x://y:/data/k2", path: "/data/k2", key: "kube-config"},
		"at home, like one":    {env: "GNUPGHOME=~/x://y", path: testHome + "/x:/y", key: "gpg-keys"},
		"a pattern's letters":  {env: "GNUPGHOME=/data/a[b]*", path: "/data/a[b]*", key: "gpg-keys"},
		"a tree of letters":    {env: "XDG_CONFIG_HOME=/data/a[b]", path: "/data/a[b]/gh", key: "gh-config"},
		"a folder of patterns": {env: "ANDROID_USER_HOME=/data/and", path: "/data/and/adbkey", key: "key-files"},
	} {
		t.Run(name, func(t *testing.T) {
			rc, f := config(), machine()
			put := func(kv string, to func(k, v string)) {
				if k, v, ok := strings.Cut(kv, "="); ok {
					to(k, v)
				}
			}
			put(c.env, func(k, v string) { f.Env[k] = v })
			put(c.set, func(k, v string) { rc.Env.Set = append(rc.Env.Set, profile.KV{Key: k, Value: v}) })
			rc.Mounts = []profile.Mount{{Source: "/data", Dest: "/data", Mode: profile.RW}}
			f.Paths[c.path] = host.Path{Kind: host.File, Real: c.path}
			seen := func() bool {
				plan, err := build(rc, f, staged())
				if err != nil {
					t.Fatal(err)
				}
				return len(replayed(plan).everywhere(c.path)) > 0
			}
			if seen() {
				t.Errorf("%s is seen", c.path)
			}
			if got := ResourceAt(c.path, rc, f); got != c.key {
				t.Errorf("ResourceAt says %q, want %q", got, c.key)
			}
			rc.Allow = []string{c.key}
			if !seen() {
				t.Errorf("%s is not seen with allow = [%q]", c.path, c.key)
			}
			rc.Allow = nil
			f.Env, rc.Env.Set = map[string]string{}, nil
			if !seen() {
				t.Errorf("%s is hidden without the variable, too", c.path)
			}
		})
	}
}

// TestMovedIsNoPlace: values that name nothing of the kind change nothing, and one
// that names what cannot be hidden refuses.
func TestMovedIsNoPlace(t *testing.T) {
	plain, err := build(config(), machine(), staged())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range []string{"HISTFILE=", "HISTFILE=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "XDG_CONFIG_HOME=" + testHome + "/.config", "ENV=test", "EDITOR=test", "VISUAL=./test --wait", "PAGER=less -R", "KUBECONFIG=https://a.example/x", "ZDOTDIR=" + testHome} {
		f := machine()
		for _, dir := range []string{"test", "https:"} {
			f.Paths[testWork+"/"+dir] = host.Path{Kind: host.Dir, Real: testWork + "/" + dir}
		}
		f.Paths["/dev/null"] = host.Path{Kind: host.Other, Real: "/dev/null"}
		k, v, _ := strings.Cut(kv, "=")
		f.Env[k] = v
		plan, err := build(config(), f, staged())
		if err != nil {
			t.Fatalf("%s: %v", kv, err)
		}
		if !slices.Equal(plan.Words(), plain.Words()) {
			t.Errorf("%s changes the plan", kv)
		}
	}
	f := machine()
	f.Env["GNUPGHOME"] = testHome
	rc := config()
	rc.Project, rc.Workdir, rc.Cwd = "/data", "/data", "/data"
	if _, err := build(rc, f, staged()); fault.AsRefusal(err) == nil || !strings.Contains(err.Error(), "it holds your home") {
		t.Errorf("GNUPGHOME is the home: %v", err)
	}
}

// TestProfilesOwnPlace: a folder that the profile mounts, and names in a variable
// that it sets, is the box's.
func TestProfilesOwnPlace(t *testing.T) {
	rc, f := config(), machine()
	rc.Mounts = []profile.Mount{{Source: "/data/gpg", Dest: "/data/gpg", Mode: profile.RW}}
	rc.Env.Set = []profile.KV{{Key: "GNUPGHOME", Value: "/data/gpg"}}
	f.Paths["/data/gpg"] = host.Path{Kind: host.Dir, Real: "/data/gpg"}
	plan, err := build(rc, f, staged())
	if err != nil {
		t.Fatal(err)
	}
	if _, write := replayed(plan).shown("/data/gpg"); !write {
		t.Error("/data/gpg cannot be written")
	}
	f.Env["GNUPGHOME"] = "/data/gpg" // now it is the person's
	if _, err := build(rc, f, staged()); fault.AsRefusal(err) == nil {
		t.Error("the person's own keyring is mounted")
	}
}

// TestMovedStartup: start-up files, folders of programs, and what is in a command line, are
// read-only where a variable names them.
func TestMovedStartup(t *testing.T) {
	for kv, p := range map[string]string{
		"ZDOTDIR=/data/z": "/data/z/.zshrc", "XDG_CONFIG_HOME=/data/c": "/data/c/fish", "BASH_ENV=/data/env.sh": "/data/env.sh", "ENV=./env.sh": testWork + "/env.sh",
		"INPUTRC=/data/inputrc": "/data/inputrc", "GIT_CONFIG_GLOBAL=/data/git": "/data/git", "PYTHONSTARTUP=/data/start.py": "/data/start.py", "CARGO_HOME=/data/cargo": "/data/cargo/bin",
		"BASH_ENV=/data/a[b]/env.sh": "/data/a[b]/env.sh", "ZDOTDIR=/data/a*b": "/data/a*b/.zshrc", "CARGO_HOME=/data/a?b": "/data/a?b/bin",
		"GIT_TEMPLATE_DIR=/data/tpl": "/data/tpl", "PNPM_HOME=/data/pnpm": "/data/pnpm", "BUN_INSTALL=/data/bun": "/data/bun/bin", "NVM_DIR=/data/nvm": "/data/nvm/nvm.sh",
		"EDITOR=/data/ed.sh --wait": "/data/ed.sh", "PAGER=LESS=-R sh tools/page.sh": testWork + "/tools/page.sh", "GIT_SSH_COMMAND=ssh -F /data/ssh.conf": "/data/ssh.conf", "VISUAL=/data/my ed.sh": "/data/my ed.sh",
		"BASH_ENV=$HOME/env.sh": testHome + "/env.sh", "ENV=${XDG_DATA_HOME}/env.sh": "/data/share/env.sh",
		"GOBIN=" + testWork + "/tools": testWork + "/tools",
	} {
		rc, f := config(), machine()
		rc.Mounts = []profile.Mount{{Source: "/data", Dest: "/data", Mode: profile.RW}, {Source: testHome, Dest: testHome, Mode: profile.RW}}
		k, v, _ := strings.Cut(kv, "=")
		kind := host.File
		if filepath.Ext(p) == "" && !strings.HasPrefix(filepath.Base(p), ".") && k != "INPUTRC" && k != "GIT_CONFIG_GLOBAL" {
			kind = host.Dir
		}
		f.Paths[p] = host.Path{Kind: kind, Real: p}
		write := func() bool {
			plan, err := build(rc, f, staged())
			if err != nil {
				t.Fatal(kv, err)
			}
			_, w := replayed(plan).shown(p)
			return w
		}
		if !write() {
			t.Errorf("%s: %s cannot be written without the variable, either", kv, p)
		}
		f.Env[k] = v
		if k == "ENV" {
			f.Env["XDG_DATA_HOME"] = "/data/share"
		}
		if write() {
			t.Errorf("%s: %s can be written", kv, p)
		}
	}
}

// TestMovedPatterns: what a value holds is no pattern.
func TestMovedPatterns(t *testing.T) {
	f := machine()
	f.Env["XDG_CONFIG_HOME"], f.Env["GNUPGHOME"] = "/data/a*b", "/data/[x]"
	var spots []sensitive.Spot
	for _, spot := range site(config(), f).Spots() {
		spots = append(spots, spot)
	}
	for _, want := range []sensitive.Spot{{Path: "/data/a*b", Pattern: "azure*"}, {Path: "/data/a*b/gh"}, {Path: "/data/[x]"}} {
		if !slices.Contains(spots, want) {
			t.Errorf("%v is not looked for", want)
		}
	}
}

// TestRest: a file whose name says that it is a secret is hidden, and what another
// row has is left to that row.
func TestRest(t *testing.T) {
	rc, f := config(), machine()
	own, other := testHome+"/.config/unheard/token", testHome+"/.config/gh/token"
	f.Globs[testHome+"/.config/*/*token*"] = []string{other, own}
	for _, p := range []string{own, other} {
		f.Paths[p] = host.Path{Kind: host.File, Real: p}
	}
	rc.Allow = []string{"gh-config"}
	plan, err := build(rc, f, staged())
	if err != nil {
		t.Fatal(err)
	}
	r := replayed(plan)
	if at := r.everywhere(own); len(at) > 0 {
		t.Errorf("%s is seen at %v", own, at)
	}
	if len(r.everywhere(other)) == 0 {
		t.Errorf("%s is hidden although gh-config is allowed", other)
	}
}

// TestSocketsUnknown: without the table of sockets nothing starts.
func TestSocketsUnknown(t *testing.T) {
	f := machine()
	f.SocketsUnknown = "open /proc/net/unix: permission denied"
	if _, err := build(config(), f, staged()); fault.AsRefusal(err) == nil || fault.AsRefusal(err).Code != 125 {
		t.Errorf("%v", err)
	}
}
