package isolator

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Resource is one thing of the host that a box does not see unless the
// profile lists its Key in [sandbox] allow.
type Resource struct {
	Key   string   // the allow key
	What  string   // in words, for people
	Paths []string // host paths; ~ is the home, UID the user id
}

// Resources is the table of sensitive resources. Anything below /run, /tmp
// and /var/tmp is hidden anyway, by a tmpfs over the parent: the socket rows
// are here so that their keys can bind them back.
//
// Sources: the firejail common blacklist, the protected paths of peer tools,
// and measured leaks; one row per allow key.
func Resources() []Resource {
	return []Resource{
		{"ssh-keys", "SSH keys and configuration", []string{"~/.ssh"}},
		{"gpg-keys", "GnuPG keyring", []string{"~/.gnupg"}},
		{"git-credentials", "stored git credentials", []string{
			"~/.git-credentials", "~/.config/git/credentials", "~/.cache/git/credential", "~/.git-credential-cache",
		}},
		{"netrc", "passwords for ftp, curl and mail", []string{"~/.netrc", "~/_netrc", "~/.authinfo", "~/.authinfo.gpg"}},
		{"docker-socket", "the Docker daemon", []string{
			"/run/docker.sock", "/run/user/UID/docker.sock", "~/.docker/run/docker.sock", "~/.docker/desktop/docker.sock",
		}},
		{"podman-socket", "the Podman service", []string{"/run/user/UID/podman/podman.sock"}},
		{"bash-history", "bash history", []string{"~/.bash_history"}},
		{"zsh-history", "zsh history", []string{"~/.zsh_history", "~/.histfile"}},
		{"fish-history", "fish history", []string{"~/.local/share/fish/fish_history"}},
		{"repl-history", "histories of other programs", []string{
			"~/.python_history", "~/.node_repl_history", "~/.psql_history", "~/.mysql_history", "~/.rediscli_history",
			"~/.sqlite_history", "~/.lesshst", "~/.viminfo", "~/.local/share/atuin",
		}},
		{"docker-config", "registry logins", []string{"~/.docker/config.json", "~/.config/containers/auth.json"}},
		{"aws-credentials", "AWS credentials", []string{"~/.aws", "~/.boto", "~/.s3cfg"}},
		{"gcloud-credentials", "Google Cloud credentials", []string{"~/.config/gcloud", "~/.gsutil"}},
		{"azure-credentials", "Azure credentials", []string{"~/.azure"}},
		{"kube-config", "Kubernetes credentials", []string{"~/.kube", "/etc/rancher/k3s/k3s.yaml", "/etc/kubernetes/admin.conf"}},
		{"helm-config", "Helm registry logins", []string{"~/.config/helm"}},
		{"terraform-credentials", "Terraform and Pulumi credentials", []string{"~/.terraform.d", "~/.terraformrc", "~/.pulumi"}},
		{"gh-config", "GitHub command line login", []string{"~/.config/gh"}},
		{"hub-config", "other forge logins", []string{"~/.config/hub", "~/.config/glab-cli", "~/.config/tea"}},
		{"npmrc", "npm, yarn, pnpm and bun tokens", []string{"~/.npmrc", "~/.yarnrc", "~/.yarnrc.yml", "~/.config/pnpm/auth", "~/.bunfig.toml"}},
		{"pypirc", "Python package tokens", []string{"~/.pypirc", "~/.config/pip/pip.conf", "~/.config/pypoetry/auth.toml"}},
		{"cargo-credentials", "Cargo tokens", []string{"~/.cargo/credentials", "~/.cargo/credentials.toml"}},
		{"maven-settings", "Maven passwords", []string{"~/.m2/settings.xml", "~/.m2/settings-security.xml"}},
		{"gradle-properties", "Gradle properties", []string{"~/.gradle/gradle.properties"}},
		{"pgpass", "PostgreSQL passwords", []string{"~/.pgpass"}},
		{"mysql-config", "MySQL passwords", []string{"~/.my.cnf", "~/.mylogin.cnf"}},
		{"password-store", "password managers", []string{
			"~/.password-store", "~/.local/share/gopass", "~/.lastpass", "~/.config/Bitwarden", "~/.config/Bitwarden CLI", "~/.config/sops", "~/.config/age",
		}},
		{"keyrings", "desktop keyrings", []string{"~/.local/share/keyrings", "~/.gnome2/keyrings", "~/.local/share/kwalletd", "~/.config/kwalletrc"}},
		{"onepassword-config", "1Password", []string{"~/.config/op", "~/.op", "~/.1password", "~/.config/1Password"}},
		{"browser-profiles", "browser profiles", []string{
			"~/.mozilla", "~/.config/mozilla", "~/.config/google-chrome", "~/.config/chromium", "~/.config/BraveSoftware", "~/.config/microsoft-edge",
			"~/.config/vivaldi", "~/.config/opera", "~/snap/firefox", "~/.var/app", "~/.thunderbird",
		}},
		{"rclone", "rclone and restic remotes", []string{"~/.config/rclone", "~/.config/restic", "~/.config/borg"}},
		{"vault-token", "Vault token", []string{"~/.vault-token"}},
		{"agent-state", "logins and state of AI agents", []string{
			"~/.claude", "~/.claude.json", "~/.codex", "~/.gemini", "~/.cursor", "~/.config/cursor", "~/.local/share/opencode",
			"~/.config/opencode", "~/.copilot", "~/.config/github-copilot", "~/.qwen", "~/.pi", "~/.cline", "~/.continue",
		}},
		{"session-bus", "the session bus", []string{"/run/user/UID/bus"}},
		{"ssh-agent", "the SSH agent", []string{
			"/run/user/UID/ssh-agent.socket", "/run/user/UID/openssh_agent", "/run/user/UID/gcr/ssh", "/run/user/UID/keyring/ssh",
		}},
		{"gpg-agent", "the GnuPG agent", []string{"/run/user/UID/gnupg"}},
		{systemSecrets, "secrets of the system, which only root can read anyway", []string{
			"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/krb5.keytab", "/etc/wireguard",
			"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/NetworkManager/system-connections",
		}},
	}
}

// systemSecrets are hidden from boxes that root runs; for everybody else the
// kernel does it.
const systemSecrets = "system-secrets"

// expand turns the table's paths into host paths. There are two homes when
// $HOME is not the one of the password file: the secrets are in either.
func (r Resource) expand(homes []string, uid int) []string {
	if r.Key == systemSecrets && uid != 0 {
		return nil
	}
	out := make([]string, 0, len(r.Paths))
	for _, p := range r.Paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			for _, h := range homes {
				out = append(out, filepath.Join(h, rest))
			}
			continue
		}
		out = append(out, strings.Replace(p, "/UID/", "/"+strconv.Itoa(uid)+"/", 1))
	}
	return out
}

// AllowKeys returns the keys of the table, sorted.
func AllowKeys() []string {
	var keys []string
	for _, r := range Resources() {
		keys = append(keys, r.Key)
	}
	slices.Sort(keys)
	return keys
}
