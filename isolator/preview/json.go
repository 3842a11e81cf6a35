package preview

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// names replaces in words of a plan what has no path before the run.
var names = strings.NewReplacer( // allowed: never changed
	stage.DryMark+"empty", "<empty file>", stage.DryMark+"noop", "<staged> noop shims", stage.DryMark+"start", "<staged> start-up files",
	stage.DryMark+"blocked", "<staged> pipe", stage.DryMark, "<staged> ",
)

// object is a value of JSON with keys.
type object = map[string]any

// each is the rows of a list; nil when it is empty.
func each[T any](list []T, row func(T) object) (rows []object) {
	for _, it := range list {
		rows = append(rows, row(it))
	}
	return rows
}

// JSON is everything that the launcher of a run gets, and what is made on the host for it.
// contrib/frozen.sh compares it between two versions of inner, so a field of a plan that is
// missing here is a field that nobody compares.
func JSON(b *run.Prepared) map[string]any {
	rc, p := b.Spec, b.Plan
	args := each(p.Ops, func(op plan.Op) object {
		words := []string{}
		for _, w := range op.Words() {
			words = append(words, names.Replace(w))
		}
		return object{"args": words, "reason": op.Reason}
	})
	env := map[string]string{}
	for _, kv := range p.Env {
		k, v, _ := strings.Cut(kv, "=")
		if rc.Env.Hidden(k, v) {
			v = "<hidden>"
		}
		env[k] = v
	}
	out := object{
		"profile": rc.Name, "path": rc.Path, "workdir": rc.Workdir, "cwd": rc.Cwd, "bwrap": p.Bwrap, "args": args,
		"program": p.Program, "argv": p.Argv, "env": env, "grants": profile.Grants(rc), "ports": features.PortLines(p), "limits": features.LimitLines(p),
		"launch": launchJSON(b), "reach": reachJSON(b.Reach), "staged": stagedJSON(b),
	}
	if len(p.Caches) > 0 {
		out["caches"], out["cache_env"] = p.Caches, p.CacheEnv
	}
	if c := p.Container; c != nil {
		out["container"] = containerJSON(c)
	}
	return out
}

// containerJSON is what an engine of containers gets in place of bwrap.
func containerJSON(c *plan.Container) object {
	files := each(c.Files, func(f plan.ContainerFile) object { return object{"name": f.Name, "content": string(f.Content)} })
	mounts := each(c.Mounts, func(m plan.ContainerMount) object { return object{"path": m.Path, "write": m.Write, "tmpfs": m.Tmpfs} })
	return object{
		"engine": c.Engine, "path": c.Path, "args": c.Args, "remove": c.Remove, "env": c.Env, "socket": c.Socket,
		"files": files, "mounts": mounts, "filter": string(c.Filter), "uid": c.UID, "nonet": c.NoNet,
	}
}

// launchJSON is what the launcher gets beside bwrap's arguments and the program.
func launchJSON(b *run.Prepared) object {
	rc, p := b.Spec, b.Plan
	shown := each(p.Shown, func(s plan.Shown) object {
		return object{"path": s.Path, "source": names.Replace(s.Source), "dev": s.Dev, "ino": s.Ino}
	})
	pins := each(p.Pins, func(pin plan.Pin) object { return object{"path": pin.Path, "target": pin.Target} })
	listen := each(p.Listen, func(l plan.Listen) object { return object{"port": l.Port, "host_port": l.HostPort, "reason": l.Reason} })
	publish := each(p.Publish, func(p plan.Publish) object {
		return object{"port": p.Port, "host_port": p.HostPort, "reason": p.Reason}
	})
	out := object{
		"data": dataJSON(b), "shown": shown, "pins": pins, "listen": listen, "publish": publish,
		"self": p.Self, "dir": p.Dir,
		"options": object{
			"interactive": rc.Entrypoint.Interactive, "raw": rc.Entrypoint.TUI, "cursor_fix": rc.Entrypoint.CursorFix, "clipboard": rc.Clipboard,
			"timeout": rc.Output.Timeout.String(), "folder": rc.Output.Folder, "log": rc.Output.Log, "log_all": rc.Output.LogAll, "record": rc.Output.Record, "review": rc.Output.Review,
			"sync_login": rc.SyncLogin,
		},
	}
	if len(p.Masked) > 0 {
		out["masked"] = p.Masked
	}
	if len(p.Protected) > 0 {
		out["protected"] = p.Protected
	}
	if len(p.Unseen) > 0 {
		out["path_unseen"] = p.Unseen
	}
	if len(p.HomePoints) > 0 {
		out["home_points"] = each(p.HomePoints, func(h plan.HomePoint) object {
			return object{"path": h.Path, "file": h.File, "source": names.Replace(h.Source)}
		})
	}
	if p.DirElse != "" {
		out["dir_else"] = p.DirElse
	}
	if m := p.Map; m != nil {
		out["user_namespace"] = object{"newuidmap": m.NewUIDMap, "newgidmap": m.NewGIDMap, "uids": m.UIDs, "gids": m.GIDs}
	}
	if l := p.Landlock; l != nil {
		out["landlock"] = landlockJSON(l)
	}
	if l := p.Limits; l != nil {
		out["limits"] = object{
			"held": l.Held, "group": l.Group, "scope": l.Scope, "scope_env": l.ScopeEnv, "parent": l.Parent, "enable": l.Enable, "rlimits": l.Rlimits, "disk": l.Disk,
		}
	}
	return out
}

// landlockJSON are the rules of Landlock.
func landlockJSON(l *plan.Landlock) object {
	out := object{"signals": l.Signals, "abstract": l.Abstract, "writes": l.Writes, "writable": l.Writable}
	if l.Files {
		out["files"], out["readable"] = l.Files, l.Readable
	}
	return out
}

// dataJSON are the contents of files that exist only in the box, by their descriptors. What
// opens the display of the person is a secret.
func dataJSON(b *run.Prepared) []any {
	var out []any
	for i, content := range b.Plan.Data {
		entry := object{"fd": plan.FirstDataFD + i}
		switch d := b.Facts.Display; {
		case d != nil && len(d.Cookie) > 0 && bytes.Equal(content, d.Cookie):
			entry["text"] = "<hidden>"
		case utf8.Valid(content) && !bytes.ContainsRune(content, 0):
			entry["text"] = string(content)
		default: // the filter of system calls
			entry["base64"] = base64.StdEncoding.EncodeToString(content)
		}
		out = append(out, entry)
	}
	return out
}

// reachJSON are the rules of the network by name.
func reachJSON(r features.Reach) object {
	rule := func(r netproxy.Rule) object {
		return object{"rule": r.String(), "ports": r.Ports, "origin": r.Origin, "private": r.Private}
	}
	lines := []string{}
	for _, l := range r.Lines {
		lines = append(lines, l.Text)
	}
	return object{"allow": each(r.Allow, rule), "deny": each(r.Deny, rule), "lines": lines, "warnings": r.Warnings}
}

// stagedJSON is what would be made on the host for the run.
func stagedJSON(b *run.Prepared) object {
	clones := each(b.Agents, func(c capability.Capability) object {
		return object{"name": c.Name, "folders": each(c.Folders, func(f capability.Folder) object {
			var files []string
			for _, file := range f.Files {
				files = append(files, file.Name)
			}
			return object{"path": f.Path, "files": files, "trees": f.Trees, "empty": f.Empty}
		})}
	})
	copies := each(b.Assets.Copies, func(c plan.Copy) object { return object{"dest": c.Dest, "host": names.Replace(c.Host)} })
	placeholders := each(slices.Concat(b.Facts.Later, b.Folder.Places), func(p host.Placeholder) object {
		return object{"path": p.Path, "folder": p.Content == nil, "content": string(p.Content)}
	})
	texts := map[string]string{}
	for name, data := range b.Folder.Files {
		if strings.Contains(name, "/") { // not what is empty
			texts[name] = string(data)
		}
	}
	return object{"copies": copies, "clones": clones, "placeholders": placeholders, "files": texts}
}
