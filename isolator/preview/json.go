package preview

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/picture"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// names replaces in words of a plan what has no path before the run; dry has its pairs.
var (
	names = strings.NewReplacer(dry...) // allowed: never changed
	dry   = []string{                   // allowed: never changed
		stage.DryMark + "empty", "<empty file>", stage.DryMark + "noop", "<staged> noop shims", stage.DryMark + "start", "<staged> start-up files",
		stage.DryMark + "blocked", "<staged> pipe", stage.DryMark, "<staged> ",
	}
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
// contrib/frozen.sh compares it between two versions of inner; a plan is printed by the tags of its
// fields, and a test sees to it that none is missing.
func JSON(b *run.Prepared) (json.RawMessage, error) {
	rc, p := b.Spec, b.Plan
	args := each(p.Ops, func(op plan.Op) object {
		arg := object{"args": slices.Concat([]string{}, op.Words()), "reason": op.Reason}
		if op.Outside { // the launcher does the same, from outside
			arg["outside"] = true
		}
		return arg
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
		"program": p.Program, "argv": p.Argv, "env": env, "grants": profile.Grants(rc), "ports": picture.PortLines(p), "limits": picture.LimitLines(p),
		"launch": launched{p, data(b), options(rc)}, "reach": reachJSON(b.Reach), "staged": stagedJSON(b),
	}
	if len(p.Caches) > 0 {
		out["caches"], out["cache_env"] = p.Caches, p.CacheEnv
	}
	if len(p.Fetched) > 0 {
		out["fetched"] = p.Fetched
	}
	if p.Container != nil {
		out["container"] = p.Container
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(out)
	shown := text.Bytes()
	for i := 0; i < len(dry); i += 2 {
		written := strings.ReplaceAll(dry[i], "\x00", `\u0000`)
		shown = bytes.ReplaceAll(shown, []byte(written), []byte(dry[i+1]))
	}
	return shown, err
}

// launched is what the launcher gets beside bwrap's arguments and the program.
type launched struct {
	plan.Plan

	Data    []object `json:"data"`
	Options object   `json:"options"`
}

func options(rc profile.RunConfig) object {
	return object{
		"interactive": rc.Entrypoint.Interactive, "raw": rc.Entrypoint.TUI, "cursor_fix": rc.Entrypoint.CursorFix, "clipboard": rc.Clipboard,
		"timeout": rc.Output.Timeout.String(), "folder": rc.Output.Folder, "log": rc.Output.Log, "log_all": rc.Output.LogAll, "record": rc.Output.Record, "review": rc.Output.Review,
		"sync_login": rc.SyncLogin,
	}
}

// data are the contents of files that exist only in the box, by their descriptors. What
// opens the display of the person is a secret.
func data(b *run.Prepared) (out []object) {
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
	return object{"allow": each(r.Allow, rule), "deny": each(r.Deny, rule), "lines": append([]string{}, picture.ReachLines(r)...), "warnings": r.Warnings}
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
	copies := each(b.Assets.Copies, func(c plan.Copy) object { return object{"dest": c.Dest, "host": c.Host} })
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
