package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/isolator/logins"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/strict"
)

// Credential answers for a login that the box uses and cannot read: where it goes, where its value is, and what is
// refused.
func (t *Table) Credential(name string) Answer {
	a := Answer{Asked: "credential:" + name, Real: name, Access: Outside, How: "the profile does not name it", Key: "credentials", From: "the default"}
	line := Line{Table: "credentials", Key: name, Value: "true"}
	var has, lost []string
	copied := false
	for _, k := range t.Box.Spec.Credentials {
		if t.names(k) != name {
			continue
		}
		a.Key, a.From = t.credential(k)
		if why := t.Box.LostLogins[k.Name]; why != "" {
			lost = append(lost, why)
			if c, ok := capability.Find(k.Agent); ok && why == logins.Nobody {
				a.Type = "inner bypass " + c.Program // which asks to log in
			}
			continue
		}
		has, copied = append(has, says(k)), copied || k.Clone
	}
	switch {
	case copied:
		a.Access, a.Box, a.How = ReadWrite, name, strings.Join(has, "; and ")
	case len(has) > 0:
		a.Access, a.Box, a.How, a.Type = ReadOnly, name, strings.Join(has, "; and "), ""
	case len(lost) > 0:
		a.How = strings.Join(lost, "; ")
	case name == profile.SSHKeys:
		a.Widen = profile.CredentialLine(name) + " under [credentials]"
	case t.Box.Spec.Network == profile.NetFull:
		a.How, a.Widen = "with the whole network nothing leads to inner's proxy", `network_mode = "allowlist"`
	case !profile.KnowsCredential(name):
		a.How, a.Widen = "inner knows no login of that name", profile.CredentialLine(name)+" under [credentials]"
	case slices.Contains(profile.Capabilities(), name) && !slices.Contains(t.Box.Spec.Capabilities, name):
		a.How, a.Widen = "the login is in what the agent's capability brings", fmt.Sprintf("capabilities = [%q] at the top, not under [sandbox]", name)
	case t.Box.Spec.Network == profile.NetOff:
		a.propose(Line{Table: sandbox, Key: "network_mode", Value: "allowlist"}, line)
	default:
		a.propose(line)
	}
	return a
}

func says(k profile.Credential) string {
	if k.Name == profile.SSHKeys {
		return "keys of your agent log in to " + strings.Join(k.Hosts, ", ") + ", by the socket that the box has as " + k.Env
	}
	if k.Clone {
		return strings.TrimSpace(k.Why + " the box has a copy of it, which its programs can read")
	}
	text := "put in at " + strings.Join(k.Hosts, ", ") + ", from " + cmp.Or(strings.Join(k.From, " or "), "what "+k.Agent+" keeps, which is renewed outside")
	if k.Env != "" {
		text += "; the box has a placeholder in " + k.Env
	}
	if len(k.Allow) > 0 {
		text += "; only for " + strings.Join(k.Allow, ", ")
	}
	if len(k.Deny) > 0 {
		text += "; refused: " + strings.Join(k.Deny, ", ")
	}
	return text
}

// names is the name by which the profile has a login; "" for one of several that the host does not have.
func (t *Table) names(k profile.Credential) string {
	name, variable := strings.CutPrefix(cmp.Or(k.From...), "env:")
	if k.Of != "" && variable && t.Box.Facts.Env[name] == "" {
		return ""
	}
	return cmp.Or(k.Of, k.Name)
}

// credential is the key of a login, and where it was written.
func (t *Table) credential(k profile.Credential) (key, from string) {
	key = strict.Join("credentials", cmp.Or(k.Of, k.Name))
	return key, cmp.Or(t.written(key, nil), t.at("credentials"))
}

// putIn says which logins are put into what is said to a host.
func (t *Table) putIn(host string, port uint16) (text string) {
	for _, k := range t.Box.Spec.Credentials {
		name := t.names(k)
		if name != "" && !strings.HasSuffix(text, name) && (logins.Credential{Hosts: k.Hosts, In: k.In}).Takes(host, port) && t.Box.LostLogins[k.Name] == "" {
			text += "; its TLS is ended there for credential " + name
		}
	}
	return text
}

// source completes the answer about a file of which the value of a login is read.
func (t *Table) source(a *Answer) {
	for _, k := range t.Box.Spec.Credentials {
		for _, from := range k.From {
			file, is := strings.CutPrefix(from, "file:")
			file, _, _ = strings.Cut(file, "#")
			if path, _ := real(file); is && path == a.Real {
				a.Access, a.How, a.Lines, a.Widen = Hidden, "the value of credential "+k.Name+" is in it", nil, ""
				a.Key, a.From = t.credential(k)
			}
		}
	}
}

// placeholder completes the answer about a variable of a login, and reports whether it is one.
func (t *Table) placeholder(a *Answer) bool {
	for _, k := range t.Box.Spec.Credentials {
		switch {
		case t.names(k) == "":
			continue
		case k.Env == a.Real && t.Box.LostLogins[k.Name] == "":
			a.Access, a.Box, a.How = ReadOnly, a.Real, "a placeholder of credential "+k.Name
		case k.Env == a.Real || slices.Contains(k.From, "env:"+a.Real):
			a.Access, a.How = Hidden, "it is of credential "+k.Name
		default:
			continue
		}
		a.Widen = ""
		a.Key, a.From = t.credential(k)
		return true
	}
	return false
}
