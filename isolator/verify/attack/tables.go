package attack

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// Rows that are made from the tables of the product.

// configs attack what tools on the host obey in a project.
func configs() []Attack {
	var list []Attack
	declared := []reason{allows("project-config")}
	for _, dir := range sensitive.Made(nil) {
		list = append(list, Attack{
			Name: "config" + strings.Replace(dir, ".", "-",
				1), Class: "files", What: "make a file in " + dir + " of the project",
			Stage: "aim " + quote.POSIX("app/"+dir+"/new"), declared: declared,
		}.usual())
	}
	each := []string{"app/a/b/c/.envrc"}
	done := map[string]bool{}
	for _, r := range sensitive.Rows() {
		if r.Told || r.Where != sensitive.Anywhere || done[r.Tool] || r.Tool == "inner" {
			continue
		}
		done[r.Tool] = true
		f := "app/a/b/c/" + strings.Replace(r.Names[0], "*", "x", 1)
		if strings.HasSuffix(f, "/") {
			f += "there"
		}
		each = append(each, quote.POSIX(f))
	}
	for i, half := range [][]string{each[:len(each)/2], each[len(each)/2:]} { // of all, more than are protected in one project
		files := strings.Join(half, " ")
		list = append(list, Attack{
			Name: [...]string{"config-each", "config-each-more"}[i], Class: "files",
			What:  "append to one file of each kind of tool in the table, three folders below the project",
			Stage: "put '{}' " + files + "; aim " + files, declared: declared,
		}.usual())
	}
	return list
}

// environment attacks variables.
func environment() []Attack {
	of := func(name, what, names string) Attack {
		a := Attack{Name: name, Class: "secrets", What: what, Try: "x env"}
		list := strings.Fields(names)
		for _, n := range list {
			a.Stage += "with " + quote.POSIX(n) + "=\"$SECRET\"\n"
		}
		a.declared = []reason{func(rc profile.RunConfig) string { // names that no built-in profile asks for
			if i := slices.IndexFunc(list, func(n string) bool { return slices.Contains(rc.Env.Inherit, n) }); i >= 0 {
				return "env.inherit names " + list[i]
			}
			return ""
		}}
		return a.usual()
	}
	return []Attack{
		of("env-secrets", "print the environment: 40 names of secrets", `
			GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN NPM_TOKEN PYPI_TOKEN CARGO_REGISTRY_TOKEN AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
			AWS_SESSION_TOKEN AZURE_CLIENT_SECRET ARM_CLIENT_SECRET DIGITALOCEAN_TOKEN CLOUDFLARE_API_TOKEN HEROKU_API_KEY
			DOCKER_AUTH_CONFIG VAULT_TOKEN CONSUL_HTTP_TOKEN SLACK_BOT_TOKEN STRIPE_SECRET_KEY SENTRY_AUTH_TOKEN DATABASE_URL
			PGPASSWORD MYSQL_PWD REDIS_URL MONGODB_URI SMTP_PASSWORD JWT_SECRET SECRET_KEY_BASE DJANGO_SECRET_KEY
			HF_TOKEN WANDB_API_KEY MISTRAL_API_KEY COHERE_API_KEY REPLICATE_API_TOKEN TWILIO_AUTH_TOKEN SENDGRID_API_KEY
			BW_SESSION OP_SESSION_my RESTIC_PASSWORD BORG_PASSPHRASE`),
		of("env-ways-out", "print the environment: names of sockets, and of code that programs run", `
			BASH_ENV ENV PROMPT_COMMAND PYTHONSTARTUP PERL5OPT RUBYOPT NODE_OPTIONS JAVA_TOOL_OPTIONS GIT_SSH_COMMAND
			GIT_CONFIG_GLOBAL GIT_EXTERNAL_DIFF LESSOPEN BASH_FUNC_ls%% LD_PRELOAD LD_LIBRARY_PATH GIT_CONFIG_COUNT TMUX STY NVIM
			KITTY_LISTEN_ON SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS DOCKER_HOST WAYLAND_DISPLAY XAUTHORITY VSCODE_IPC_HOOK_CLI
			KUBECONFIG`),
	}
}

// devices attack the sets of devices.
func devices() (list []Attack) {
	for _, set := range profile.DeviceSets() {
		var nodes []string
		for _, p := range set.Nodes {
			nodes = append(nodes, p, p+"/*")
		}
		list = append(list, Attack{
			Name: "device-" + set.Name, Class: "kernel", What: "open a device for " + set.What, Try: "allowed x open " + strings.Join(nodes, " "),
			declared: []reason{when(fmt.Sprintf("devices = [%q]", set.Name),
				func(rc profile.RunConfig) bool { return slices.Contains(rc.Devices, set.Name) })},
		}.usual())
	}
	return list
}

// hidden attacks every resource of the table that can be planted, one attack for each key. Of
// the state of agents there is one for each that has a capability, and one for the rest: a profile
// gives a copy of one agent's state, not of all.
func hidden() []Attack {
	var names []string
	of := map[string]*Attack{}
	for _, r := range sensitive.Resources() {
		if r.Part || r.Root {
			continue
		}
		for _, p := range r.Paths {
			at, ok := placed(p)
			if !ok {
				continue
			}
			name, capability := "table-"+r.Key, ""
			if r.Key == "agent-state" {
				i := slices.IndexFunc(profile.Capabilities(),
					func(c string) bool { return strings.Contains(strings.ToLower(p), c) })
				if i >= 0 {
					capability = profile.Capabilities()[i]
					name += "-" + capability
				}
			}
			a := of[name]
			if a == nil {
				names = append(names, name)
				given := func(rc profile.RunConfig) bool {
					alone := func(m profile.Mount) bool { return m.Allow == r.Key }
					return slices.Contains(rc.Allow, r.Key) || slices.ContainsFunc(rc.Mounts, alone) || capability != "" && slices.Contains(rc.Capabilities, capability)
				}
				a = &Attack{
					Name: name, Class: "secrets", What: "read " + r.What,
					declared: []reason{when("allow, or a copy for a capability", given)},
				}
				of[name] = a
			}
			a.Stage += plantRow(r, at)
		}
	}
	var list []Attack
	for _, n := range names {
		list = append(list, of[n].usual())
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

// plantRow returns the script that puts the secret where a row of the table has it.
func plantRow(r sensitive.Resource, at string) string {
	base, file, text := filepath.Base(at), at, `"$SECRET"`
	switch {
	case r.Kind == "socket": // of which the name may be too long (unix(7))
		return fmt.Sprintf("start serve unix \"$H/\"%s && target \"$AT\" || :\n", quote.POSIX(at))
	case r.Holds != "":
		text = quote.POSIX(r.Holds+"\n") + text
	case strings.HasSuffix(base, ".json"):
		text = `'{"secret":"'"$SECRET"'"}'`
	case r.Kind == "dir" && !strings.Contains(strings.TrimPrefix(base, "."), "."):
		file += "/secret"
	}
	return fmt.Sprintf("target %s; put %s %s\n", quote.POSIX(at), text, quote.POSIX(file))
}
