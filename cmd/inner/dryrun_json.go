package main

import (
	"bytes"
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/registry"
	"github.com/enr/inner/shims"
)

// What `run --dry-run --json` prints is everything that the launcher of a run gets, and what
// is made on the host for it. contrib/frozen.sh compares it between two versions of inner, so
// a field of a plan that is missing here is a field that nobody compares.

// names replaces in words of a plan what has no path before the run.
var names = strings.NewReplacer(features.DryEmpty, "<empty file>", features.DryStage, "<staged> ") // allowed: never changed

func dryJSON(b *isolator.Prepared) (map[string]any, error) {
	rc, p := b.Spec, b.Plan
	var args []any
	for _, op := range p.Ops {
		words := []string{}
		for _, w := range op.Words() {
			words = append(words, names.Replace(w))
		}
		entry := map[string]any{"args": words, "reason": op.Reason}
		if op.Outside {
			entry["outside"] = op.Dest // covered by the launcher, see launch.masks
		}
		args = append(args, entry)
	}
	env := map[string]string{}
	for _, kv := range p.Env {
		k, v, _ := strings.Cut(kv, "=")
		if rc.Env.Hidden(k, v) {
			v = "<hidden>"
		}
		env[k] = v
	}
	staged, err := stagedJSON(b)
	out := map[string]any{
		"profile": rc.Name, "path": rc.Path, "workdir": rc.Workdir, "cwd": rc.Cwd, "bwrap": p.Bwrap, "args": args,
		"program": p.Program, "argv": p.Argv, "env": env, "grants": profile.Grants(rc), "ports": features.PortLines(p), "limits": features.LimitLines(p),
		"launch": launchJSON(b), "reach": reachJSON(b.Reach), "staged": staged,
	}
	if len(p.Caches) > 0 {
		out["caches"], out["cache_env"] = p.Caches, p.CacheEnv
	}
	if c := p.Container; c != nil {
		out["container"] = containerJSON(c)
	}
	return out, err
}

// containerJSON is what an engine of containers gets in place of bwrap.
func containerJSON(c *plan.Container) map[string]any {
	var files []any
	for _, f := range c.Files {
		files = append(files, map[string]any{"name": f.Name, "content": string(f.Content)})
	}
	var mounts []any
	for _, m := range c.Mounts {
		mounts = append(mounts, map[string]any{"path": m.Path, "write": m.Write, "tmpfs": m.Tmpfs})
	}
	return map[string]any{
		"engine": c.Engine, "path": c.Path, "args": c.Args, "remove": c.Remove, "env": c.Env, "socket": c.Socket,
		"files": files, "mounts": mounts, "filter": string(c.Filter), "uid": c.UID, "nonet": c.NoNet,
	}
}

// launchJSON is what the launcher gets beside bwrap's arguments and the program.
func launchJSON(b *isolator.Prepared) map[string]any {
	rc, p := b.Spec, b.Plan
	var fills, shown, pins, masks, listen, publish []any
	for _, f := range p.Fills {
		fills = append(fills, map[string]any{"source": names.Replace(f.Source), "dest": f.Dest, "room": f.Room})
	}
	for _, s := range p.Shown {
		shown = append(shown, map[string]any{"path": s.Path, "source": names.Replace(s.Source), "dev": s.Dev, "ino": s.Ino})
	}
	for _, pin := range p.Pins {
		pins = append(pins, map[string]any{"path": pin.Path, "target": pin.Target})
	}
	for _, m := range p.Masks {
		masks = append(masks, map[string]any{"path": m.Path, "dev": m.Dev, "ino": m.Ino})
	}
	for _, l := range p.Listen {
		listen = append(listen, map[string]any{"port": l.Port, "host_port": l.HostPort, "reason": l.Reason})
	}
	for _, port := range p.Publish {
		publish = append(publish, map[string]any{"port": port.Port, "host_port": port.HostPort, "reason": port.Reason})
	}
	out := map[string]any{
		"data": dataJSON(b), "fills": fills, "shown": shown, "pins": pins, "nsenter": p.Nsenter, "listen": listen, "publish": publish,
		"self": p.Self, "dir": p.Dir,
		"options": map[string]any{
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
	if len(masks) > 0 {
		out["masks"], out["cover"] = masks, map[string]any{"path": p.Cover.Path, "source": names.Replace(p.Cover.Source)}
	}
	if len(p.HomePoints) > 0 {
		var points []any
		for _, h := range p.HomePoints {
			points = append(points, map[string]any{"path": h.Path, "file": h.File, "source": names.Replace(h.Source)})
		}
		out["home_points"] = points
	}
	if p.DirElse != "" {
		out["dir_else"] = p.DirElse
	}
	if m := p.Map; m != nil {
		out["user_namespace"] = map[string]any{"newuidmap": m.NewUIDMap, "newgidmap": m.NewGIDMap, "uids": m.UIDs, "gids": m.GIDs}
	}
	if l := p.Landlock; l != nil {
		landlock := map[string]any{"signals": l.Signals, "abstract": l.Abstract, "writes": l.Writes, "writable": l.Writable}
		if l.Files {
			landlock["files"], landlock["readable"] = l.Files, l.Readable
		}
		out["landlock"] = landlock
	}
	if l := p.Limits; l != nil {
		out["limits"] = map[string]any{
			"held": l.Held, "group": l.Group, "scope": l.Scope, "scope_env": l.ScopeEnv, "parent": l.Parent, "enable": l.Enable, "rlimits": l.Rlimits, "disk": l.Disk,
		}
	}
	return out
}

// dataJSON are the contents of files that exist only in the box, by their descriptors. What
// opens the display of the person is a secret.
func dataJSON(b *isolator.Prepared) []any {
	var out []any
	for i, content := range b.Plan.Data {
		entry := map[string]any{"fd": plan.FirstDataFD + i}
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
func reachJSON(r features.Reach) map[string]any {
	rules := func(list []netproxy.Rule) (out []any) {
		for _, rule := range list {
			out = append(out, map[string]any{"rule": rule.String(), "ports": rule.Ports, "origin": rule.Origin, "private": rule.Private})
		}
		return out
	}
	lines := []string{}
	for _, l := range r.Lines {
		lines = append(lines, l.Text)
	}
	var answers []registry.Answer
	for _, a := range r.Answers {
		a.Config = "" // it may hold a login
		answers = append(answers, a)
	}
	return map[string]any{"allow": rules(r.Allow), "deny": rules(r.Deny), "answers": answers, "lines": lines, "warnings": r.Warnings}
}

// stagedJSON is what would be made on the host for the run.
func stagedJSON(b *isolator.Prepared) (map[string]any, error) {
	var copies, clones, placeholders []any
	places := b.Facts.Later
	for _, c := range b.Assets.Copies {
		copies = append(copies, map[string]any{"dest": c.Dest, "host": names.Replace(c.Host)})
	}
	for _, c := range b.Agents {
		var folders []any
		for _, f := range c.Folders {
			var files []string
			for _, file := range f.Files {
				files = append(files, file.Name)
			}
			folders = append(folders, map[string]any{"path": f.Path, "files": files, "trees": f.Trees, "empty": f.Empty})
		}
		clones = append(clones, map[string]any{"name": c.Name, "folders": folders})
		places = slices.Concat(places, features.Wanted(b.Spec, c.Wants))
	}
	for _, p := range places {
		placeholders = append(placeholders, map[string]any{"path": p.Path, "folder": p.Content == nil, "content": string(p.Content)})
	}
	texts := map[string]string{}
	if b.Assets.Noop != "" {
		for _, sc := range shims.NoopScripts(b.Spec.Noop, b.Spec.Name, paths.BoxNoop, paths.BoxBlocked) {
			texts[filepath.Join("noop", sc.Name)] = string(sc.Text)
		}
		files, err := plan.NoopStartup()
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			texts[filepath.Join("start", f.Name)] = string(f.Text)
		}
	}
	return map[string]any{"copies": copies, "clones": clones, "placeholders": placeholders, "files": texts}, nil
}
