package profile

// [credentials]: logins that a box uses, and cannot read.

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/strict"
)

// Credential is a login that the box uses and cannot read: see package logins, which puts it in.
type Credential struct {
	Name   string
	From   []string // where its value is; the first that has one counts
	Hosts  []string // host or host:port
	In     []string // the places in which it may stand: see logins.Credential
	Env    string   // the variable that has the placeholder in the box, or ""
	Allow  []string // requests that may be made with it; none is all
	Deny   []string // requests by which the service makes another secret
	Filter bool     // it is taken out of bodies of answers, too

	Of      string   // the name in the profile, of a login of several
	Agent   string   // whose own login it is, that it renews: From is empty then
	Servers []string // variables that name another server of that agent
	Clone   bool     // the box has a copy of it, and can read that
	Why     string   // it has that, where a built-in profile wants it used and nobody asked
	File    string   // that names it
	Builtin bool     // which is a built-in profile that nobody changed
}

// SSHKeys names the entry that is a list of hosts, to which the keys of the user's agent log in.
const SSHKeys = "ssh"

// knownCredentials are those that a profile names by true.
func knownCredentials() map[string]Credential {
	return map[string]Credential{
		"github": {
			From: []string{"env:GH_TOKEN", "env:GITHUB_TOKEN", "cmd:gh auth token"}, Env: "GH_TOKEN",
			Hosts: []string{"github.com", "api.github.com", "uploads.github.com"}, In: []string{"authorization", "basic:"},
			Deny: []string{
				"POST /user/keys", "POST /user/gpg_keys", "POST /user/ssh_signing_keys", "POST /repos/*/*/keys",
				"POST /repos/*/*/actions/runners/*", "POST /orgs/*/actions/runners/*", "POST /enterprises/*/actions/runners/*",
				"POST /repositories/*/keys", "POST /repositories/*/actions/runners/*",
				"POST /organizations/*/actions/runners/*", "POST /authorizations",
			},
		},
		"npm": { // no PUT: what is published has names with %2f, and a user is made with a password alone
			From: []string{"env:NPM_TOKEN", "file:~/.npmrc#//registry.npmjs.org/:_authToken"}, Env: "NPM_TOKEN",
			Hosts: []string{"registry.npmjs.org"}, In: []string{"authorization"},
			Deny: []string{"POST /-/npm/v1/tokens", "POST /-/npm/v1/tokens/*", "POST /-/npm/v1/user", "POST /-/package/*/trust", "POST /-/package/*/*/trust"},
		},
	}
}

// agentLogins are those of agents, which a profile names by true, too: the login that the
// agent keeps and renews, and its keys. Those of which the host has none are no loss.
func agentLogins() map[string][]Credential {
	row := func(from, in string, hosts ...string) Credential {
		return Credential{From: []string{from}, In: []string{in}, Hosts: hosts}
	}
	claude, codex, gemini := "api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"
	all := map[string][]Credential{
		"claude": {
			{Agent: "claude", Hosts: []string{claude}, Servers: []string{"ANTHROPIC_BASE_URL"}},
			row("env:ANTHROPIC_API_KEY", "header:X-Api-Key", claude),
			row("env:ANTHROPIC_AUTH_TOKEN", "authorization", claude),
			row("env:CLAUDE_CODE_OAUTH_TOKEN", "authorization", claude),
		},
		"codex": {
			{
				Agent: "codex", Hosts: []string{"chatgpt.com"}, Servers: []string{"OPENAI_BASE_URL"},
				Allow: []string{"* /backend-api/codex/*", "* /backend-api/wham/*", "* /backend-api/ps/*"},
			},
			row("env:OPENAI_API_KEY", "authorization", codex),
			row("env:CODEX_API_KEY", "authorization", codex),
			row("key:codex", "authorization", codex),
		},
		"gemini": {
			{
				Agent: "gemini", Hosts: []string{"cloudcode-pa.googleapis.com", "www.googleapis.com", "oauth2.googleapis.com"},
				Servers: []string{"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "CODE_ASSIST_ENDPOINT"},
				// The login is one for all of Google Cloud, and much of that is at
				// www.googleapis.com, too.
				Allow: []string{
					"POST /v1internal:*", "GET /v1internal:*", "GET /v1internal/*",
					"GET /oauth2/v2/userinfo", "POST /tokeninfo",
				},
			},
			row("env:GEMINI_API_KEY", "header:X-Goog-Api-Key", gemini),
			row("env:GOOGLE_API_KEY", "header:X-Goog-Api-Key", gemini),
		},
	}
	for name, list := range all {
		for i := range list {
			c := &list[i]
			c.Name, c.Of = name, name
			if c.Agent != "" {
				c.In = []string{"authorization"}
			} else {
				kind, what, _ := strings.Cut(c.From[0], ":")
				c.Name += " (" + map[string]string{"env": what, "key": "a key"}[kind] + ")"
			}
			if name == "claude" {
				c.Deny = []string{"POST /api/oauth/claude_cli/create_api_key"}
			}
		}
	}
	return all
}

// AgentLogins are the names of agents of which a profile can name the login.
func AgentLogins() []string { return slices.Sorted(maps.Keys(agentLogins())) }

// KnowsCredential reports whether NAME = true is a login.
func KnowsCredential(name string) bool {
	_, known := knownCredentials()[name]
	return known || agentLogins()[name] != nil
}

// CredentialLine is how any other login is written.
func CredentialLine(name string) string {
	if name == SSHKeys {
		return name + ` = ["HOST"]`
	}
	return strict.Join(name) + ` = { hosts = ["HOST"], from = "env:NAME" }`
}

func credentialRules() []keyRule {
	return []keyRule{{
		key:   "credentials",
		kind:  strict.ATable,
		of:    credentialKeys(),
		check: (*validator).credential,
		take:  (*resolver).credentials,
		say:   (*granter).credentials,
		remote: each(func(p strict.Item) string {
			if p.Text == "" && p.Parts == nil || p.Text == "true" && agentLogins()[p.Key] != nil {
				return "" // of an agent it is less than the copy that capabilities bring
			}
			return "your logins stay yours"
		}),
	}}
}

func credentialKeys() []strict.Key {
	return []strict.Key{
		{Name: "known", Kind: strict.ASwitch, Short: true, Words: []string{"true", "clone"}}, // credentials.github = true
		{Name: "hosts", Kind: strict.AList, Short: true},                                     // credentials.ssh = ["github.com"]
		{Name: "from"},
		{Name: "header"},
		{Name: "basic"},
		{Name: "query"},
		{Name: "env"},
		{Name: "allow", Kind: strict.AList},
		{Name: "filter", Kind: strict.ABool},
	}
}

func (v *validator) credential(key string, p strict.Item) {
	part := func(name string) strict.Item { it, _ := p.Get(name); return it }
	bad := func(it strict.Item, name, msg, hint string) {
		v.Add(cmp.Or(it.At, p.At), key+"."+name, msg, hint)
	}
	_, known := p.Get("known")
	switch {
	case p.Key == SSHKeys && (known || len(p.Parts) != 1):
		v.Add(p.At, key, "is a list of hosts: the keys are those of your agent", CredentialLine(p.Key))
		return
	case known:
		switch {
		case len(p.Parts) > 1:
			v.Add(p.At, key, "is one that inner knows, with keys of its own", "take known out, and say hosts and from")
		case p.Text == "clone" && agentLogins()[p.Key] != nil:
		case p.Text != "true":
			v.Add(p.At, key, fmt.Sprintf("is %q, not true or a table", p.Text), "")
		case !KnowsCredential(p.Key):
			v.Add(p.At, key, "is no login that inner knows", CredentialLine(p.Key))
		}
		return
	}
	if agentLogins()[p.Key] != nil {
		v.Add(p.At, key, "is the login of an agent: true or \"clone\"; an entry of your own has another name", "")
	}
	list := part("hosts")
	for _, h := range list.Parts {
		if e, err := hosts.Parse(h.Text); err != nil {
			bad(h, "hosts", fmt.Sprintf("%q %v", h.Text, err), "")
		} else if e.Host == "" || e.Wild {
			bad(h, "hosts", fmt.Sprintf("%q is not the name of one host", h.Text), "")
		}
	}
	if len(list.Parts) == 0 {
		bad(list, "hosts", "is missing: a login goes to the hosts that are named, and to no other", `hosts = ["HOST"]`)
	}
	if p.Key == SSHKeys {
		return
	}
	from := part("from")
	kind, arg, _ := strings.Cut(from.Text, ":")
	file, _, _ := strings.Cut(arg, "#")
	switch {
	case !slices.Contains([]string{"env", "file", "pass", "secret-tool", "cmd"}, kind), strings.TrimSpace(arg) == "":
		bad(from, "from", "does not say where the value is", `"env:NAME", "file:PATH", "file:PATH#KEY", "pass:NAME", "secret-tool:ATTRIBUTE VALUE" or "cmd:PROGRAM ARG"`)
	case kind == "env" && !isVariable(arg):
		bad(from, "from", fmt.Sprintf("%q is not the name of a variable", arg), "")
	case signs(arg) || signs(part("env").Text):
		bad(from, "from", "names a key that signs requests (AWS), for which no placeholder can stand", `for Bedrock: from = "env:AWS_BEARER_TOKEN_BEDROCK"`)
	case kind == "file" && !strings.HasPrefix(file, "~/") && !filepath.IsAbs(file):
		bad(from, "from", fmt.Sprintf("%q is neither absolute nor below ~/", file), "")
	}
	if env, ok := p.Get("env"); ok && !isVariable(env.Text) {
		bad(env, "env", fmt.Sprintf("%q is not the name of a variable", env.Text), "")
	}
	places := 0
	for _, name := range []string{"header", "basic", "query"} {
		if it, ok := p.Get(name); ok {
			if places++; places > 1 || name != "basic" && (it.Text == "" || strings.ContainsFunc(it.Text, notToken)) {
				bad(it, name, fmt.Sprintf("%q is not one place in a request", it.Text), "header, basic or query, and the name of it")
			}
		}
	}
	for _, it := range part("allow").Parts {
		if method, path, _ := strings.Cut(it.Text, " "); method == "" || !strings.HasPrefix(path, "/") && path != "*" {
			bad(it, "allow", fmt.Sprintf("%q is not a method and a path", it.Text), `"GET *" or "POST /repos/me/app/pulls"`)
		}
	}
}

// signs reports whether a variable, or the key of a file, is of those that sign requests to AWS.
func signs(name string) bool {
	return slices.ContainsFunc([]string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}, func(key string) bool { return strings.HasSuffix(strings.ToUpper(name), key) })
}

// notToken reports whether a character does not stand in a name of a header or a query.
func notToken(c rune) bool { return !strings.ContainsRune(alphanumeric+"-_.~!$'*", c) }

func (r *resolver) credentials() {
	for _, p := range r.s.Value("credentials").Items {
		list := []Credential{entry(p)}
		if _, said := p.Get("known"); said {
			if c, known := knownCredentials()[p.Key]; known {
				list[0] = c
			}
			if agent := agentLogins()[p.Key]; agent != nil && p.Text == "clone" {
				list = []Credential{{Name: p.Key, Clone: true}}
			} else if agent != nil {
				list = agent
			}
		}
		for _, c := range list {
			if r.rc.Scope != Remote || c.Agent != "" { // whose variables are not a downloaded profile's to take
				r.credential(p, c)
			}
		}
	}
}

// entry is a credential as a profile writes it out.
func entry(p strict.Item) (c Credential) {
	part := func(name string) strict.Item { it, _ := p.Get(name); return it }
	list := func(name string) (out []string) {
		for _, it := range part(name).Parts {
			out = append(out, it.Text)
		}
		return out
	}
	for _, text := range list("hosts") {
		e, err := hosts.Parse(text)
		if err != nil {
			continue // the profile was checked
		}
		host := e.String()
		if p.Key != SSHKeys {
			host = strings.TrimSuffix(host, ":443")
		} else if !e.Stated() {
			host += ":22"
		}
		c.Hosts = append(c.Hosts, host)
	}
	if p.Key == SSHKeys {
		c.From, c.Env = []string{"agent:SSH_AUTH_SOCK"}, "SSH_AUTH_SOCK"
		return c
	}
	c.Allow = list("allow")
	c.From, c.Env, c.Filter = []string{part("from").Text}, part("env").Text, part("filter").Text == "true"
	c.In = []string{"authorization"}
	for _, name := range []string{"header", "basic", "query"} {
		if it, ok := p.Get(name); ok {
			c.In = []string{name + ":" + it.Text}
		}
	}
	return c
}

func (r *resolver) credential(p strict.Item, c Credential) {
	c.Name, c.File = cmp.Or(c.Name, p.Key), p.At.File
	c.Builtin = r.c.Builtin != nil && slices.ContainsFunc(r.files, func(f File) bool { return f.Path == c.File && r.c.Builtin(f) })
	for i, from := range c.From {
		if name, ok := strings.CutPrefix(from, "env:"); ok && i == 0 {
			c.Env = cmp.Or(c.Env, name)
		}
		if path, ok := strings.CutPrefix(from, "file:~/"); ok {
			c.From[i] = "file:" + r.c.Home + "/" + path // not cleaned: a key follows
		}
	}
	list := r.rc.Credentials
	if i := slices.IndexFunc(list, func(o Credential) bool { return c.Env != "" && o.Env == c.Env }); i < 0 {
	} else if c.Of != "" {
		return // a variable that has an entry of its own is none of the agent's
	} else if list[i].Of != "" {
		r.rc.Credentials = slices.Delete(slices.Clone(list), i, i+1)
	} else {
		r.add(p.At, strict.Join("credentials", p.Key), fmt.Sprintf("the variable %s is that of %s", c.Env, list[i].Name), `env = "NAME"`)
	}
	r.rc.Credentials = append(r.rc.Credentials, c)
}

// copies has the box have copies of agents' logins that a built-in profile wants used, where they cannot be. What
// goes with an agent that a profile took out goes, too.
func (r *resolver) copies() {
	rc := &r.rc
	why := map[string]string{}
	rc.Credentials = slices.DeleteFunc(slices.Clone(rc.Credentials), func(c Credential) bool {
		return c.Builtin && c.Of != "" && !slices.Contains(rc.Capabilities, c.Of)
	})
	for _, c := range rc.Credentials {
		set := slices.IndexFunc(rc.Env.Set, func(kv KV) bool { return slices.Contains(c.Servers, kv.Key) })
		switch {
		case !c.Builtin || c.Agent == "":
		case rc.Network == NetFull:
			why[c.Of] = "with the whole network"
		case set >= 0: // a server that the profile chose gets what the profile gives
			why[c.Of] = rc.Env.Set[set].Key + " is set:"
		}
	}
	for agent, text := range why {
		rc.Copy(agent, text)
	}
}

// Copy has the box have a copy of an agent's login.
func (rc *RunConfig) Copy(agent, why string) {
	rc.Credentials = slices.DeleteFunc(slices.Clone(rc.Credentials), func(c Credential) bool { return c.Of == agent && c.Agent == "" })
	i := slices.IndexFunc(rc.Credentials, func(c Credential) bool { return c.Agent == agent })
	rc.Credentials[i] = Credential{Name: agent, Clone: true, Why: why, File: rc.Credentials[i].File}
}

// Use has the box use the login of an agent of which the profile says nothing, and of its variables none; false where
// it cannot.
func (rc *RunConfig) Use(agent string) bool {
	if rc.Network == NetFull || slices.ContainsFunc(rc.Credentials, func(c Credential) bool { return c.Name == agent }) {
		return false
	}
	list := slices.DeleteFunc(agentLogins()[agent], func(c Credential) bool { return c.Agent == "" && strings.HasPrefix(c.From[0], "env:") })
	for i := range list {
		list[i].Builtin = true
	}
	rc.Credentials = slices.Concat(rc.Credentials, list)
	return true
}

// Uses reports whether a box uses the login of an agent, and cannot read it. With the whole
// network none does.
func (rc *RunConfig) Uses(agent string) bool {
	return rc.Network != NetFull && slices.ContainsFunc(rc.Credentials, func(c Credential) bool { return c.Agent == agent })
}

// agents are those of whose login a box has a copy, or those whose login it uses.
func (rc *RunConfig) agents(used bool) []string {
	return slices.DeleteFunc(slices.Clone(rc.Capabilities), func(name string) bool { return rc.Uses(name) != used })
}

func (g *granter) credentials(rc *RunConfig) {
	var programs, copied []string
	var items []Item
	for _, c := range rc.Credentials {
		from := cmp.Or(strings.Join(c.From, " or "), "what "+c.Agent+" keeps")
		text := c.Name + " at " + strings.Join(c.Hosts, ", ")
		if len(c.Allow) > 0 {
			text += " for " + strings.Join(c.Allow, ", ")
		}
		it := Item{Text: text + " (from " + from + ")", ID: strings.Join([]string{
			c.Name, strings.Join(c.Hosts, " "), from, strings.Join(c.In, " "), c.Env, strings.Join(c.Allow, "\n"),
		}, "\x00")}
		switch last := len(items) - 1; {
		case c.Why != "": // as capabilities say
		case c.Clone || c.Agent != "" && !rc.Uses(c.Agent):
			copied = append(copied, c.Name)
		case c.Agent != "": // at its service; inner why credential:NAME says from where
			items = append(items, Item{Text: c.Name, ID: it.ID})
		case c.Of == "":
			items = append(items, it)
		case rc.Uses(c.Of): // goes with what the agent keeps
			items[last].ID += "\x00" + it.ID
		}
		for _, from := range c.From {
			if kind, arg, _ := strings.Cut(from, ":"); kind == "cmd" {
				programs = append(programs, arg)
			}
		}
	}
	g.list("credential", "credentials programs", "runs on this computer, outside of the sandbox, for a login", texts(programs))
	g.list("credential", "credentials clone", "has a copy, which its programs can read, of the login of", texts(copied))
	g.list("credential", "credentials", "reaches hosts with logins of yours, which it cannot read", items)
}
