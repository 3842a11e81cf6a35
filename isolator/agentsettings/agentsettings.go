// Package agentsettings edits the settings of agents, which are JSON: a hook before each
// tool, and the one setting that says with what commands are run. Everything else stays as
// it is, in its order; only white space changes.
//
//	text, err := agentsettings.Install(old, agentsettings.Entry{Event: "PreToolUse", Agent: "claude", Hook: line})
//
// A file that is not strict JSON, one with comments for instance, is an error.
package agentsettings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Entry is what is written for one agent.
type Entry struct {
	Agent string
	Event string   // of the hook; "" for no hook
	Hook  string   // the command line of the hook
	Key   []string // where the setting is, as "env", "NAME"; nil for none
	Value string   // of the setting
	Tools string   // the folder of shells: a value below it is ours
}

// State is what a file of settings has.
type State struct {
	Hook  string // the command line of our hook, "" without one
	At    string // its place: the group in the list of the event, and the hook in the group, as "0:0"
	Value string // of the setting, ours or not
}

// member is one key of a JSON object and its value as written.
type member struct {
	key string
	raw json.RawMessage
}

// members reads an object; nothing at all is an empty one.
func members(raw []byte) ([]member, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("is not a JSON object")
	}
	var out []member
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		var m member
		if err != nil || !ok || d.Decode(&m.raw) != nil {
			return nil, errors.New("is not strict JSON")
		}
		if m.key = key; slices.ContainsFunc(out, func(o member) bool { return o.key == key }) {
			return nil, fmt.Errorf("has the key %q twice", key)
		}
		out = append(out, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("is not strict JSON")
	}
	if len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		return nil, errors.New("has something behind its end")
	}
	return out, nil
}

// write is the JSON object of the members, in their order.
func write(list []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(text(m.key))
		b.WriteByte(':')
		b.Write(m.raw)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// text is a string, or a list of what is JSON already, as JSON without escapes for HTML.
func text(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // both can be encoded
	return bytes.TrimSpace(b.Bytes())
}

// change gives the value at a path of keys to edit, and puts what that returns in its
// place; nil removes it, and what becomes empty.
func change(raw json.RawMessage, path []string, edit func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if len(path) == 0 {
		return edit(raw)
	}
	list, err := members(raw)
	if err != nil {
		return nil, fmt.Errorf("%q %w", path[0], err)
	}
	i := slices.IndexFunc(list, func(m member) bool { return m.key == path[0] })
	var old json.RawMessage
	if i >= 0 {
		old = list[i].raw
	}
	value, err := change(old, path[1:], edit)
	switch {
	case err != nil:
		return nil, err
	case value == nil && i >= 0:
		if list = slices.Delete(list, i, i+1); len(list) == 0 {
			return nil, nil
		}
	case value == nil:
		return raw, nil
	case i >= 0:
		list[i].raw = value
	default:
		list = append(list, member{path[0], value})
	}
	return write(list), nil
}

// handler is one hook, and matcher the group of hooks for some tools, as agents write them.
type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

type matcher struct {
	Matcher string    `json:"matcher"`
	Hooks   []handler `json:"hooks"`
}

// ours reports whether a command line is that of inner's hook for the agent.
func (e Entry) ours(command string) bool {
	return strings.Contains(command, " agent hook "+e.Agent+" --")
}

// hooks takes our hook out of a list of hooks, and adds it when it is wanted.
func (e Entry) hooks(raw json.RawMessage, add bool) (json.RawMessage, error) {
	var list []json.RawMessage
	if raw != nil && json.Unmarshal(raw, &list) != nil {
		return nil, fmt.Errorf("hooks.%s is not a list", e.Event)
	}
	for i, group := range list {
		list[i] = e.without(group)
	}
	list = slices.DeleteFunc(list, func(group json.RawMessage) bool { return group == nil })
	if add {
		own := write([]member{{"matcher", text(".*")}, {"hooks", slices.Concat([]byte("["), write([]member{{"type", text("command")}, {"command", text(e.Hook)}}), []byte("]"))}})
		list = append(list, own)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return text(list), nil
}

// without takes our hook out of a group of hooks; nil when there is no other in it. What has
// another form stays as it is.
func (e Entry) without(group json.RawMessage) json.RawMessage {
	had, left := 0, 0
	changed, err := change(group, []string{"hooks"}, func(raw json.RawMessage) (json.RawMessage, error) {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		had = len(list)
		list = slices.DeleteFunc(list, func(one json.RawMessage) bool {
			var h handler
			return json.Unmarshal(one, &h) == nil && e.ours(h.Command)
		})
		left = len(list)
		return text(list), nil
	})
	switch {
	case err != nil || left == had:
		return group
	case left == 0:
		return nil
	}
	return changed
}

// Install returns the settings with the entry.
func Install(old []byte, e Entry) ([]byte, error) { return edit(old, e, true) }

// Uninstall returns the settings without it.
func Uninstall(old []byte, e Entry) ([]byte, error) { return edit(old, e, false) }

func edit(old []byte, e Entry, add bool) ([]byte, error) {
	raw := json.RawMessage(old)
	if _, err := members(raw); err != nil {
		return nil, fmt.Errorf("the file %w", err)
	}
	var err error
	if e.Event != "" {
		if raw, err = change(raw, []string{"hooks", e.Event}, func(v json.RawMessage) (json.RawMessage, error) { return e.hooks(v, add) }); err != nil {
			return nil, err
		}
	}
	if e.Key != nil {
		if raw, err = change(raw, e.Key, func(v json.RawMessage) (json.RawMessage, error) { return e.setting(v, add) }); err != nil {
			return nil, err
		}
	}
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, err
	}
	return append(bytes.TrimSpace(b.Bytes()), '\n'), nil
}

// setting returns what the setting is to be. One that is not ours stays, and cannot be set.
func (e Entry) setting(old json.RawMessage, add bool) (json.RawMessage, error) {
	var was string
	ours := old == nil || json.Unmarshal(old, &was) == nil && (was == "" || strings.HasPrefix(was, e.Tools+"/"))
	switch {
	case !ours && !add:
		return old, nil
	case !ours:
		return nil, fmt.Errorf("%s is set to something else: remove it first", strings.Join(e.Key, "."))
	case !add:
		return nil, nil
	}
	return text(e.Value), nil
}

// Read tells what a file of settings has.
func Read(raw []byte, e Entry) (State, error) {
	var s State
	if _, err := members(raw); err != nil {
		return s, err
	}
	if len(e.Key) > 0 {
		v, err := value(raw, e.Key)
		if err != nil {
			return s, err
		}
		if v != nil && json.Unmarshal(v, &s.Value) != nil {
			s.Value = string(v)
		}
	}
	if e.Event == "" {
		return s, nil
	}
	list, err := value(raw, []string{"hooks", e.Event})
	s.Hook, s.At = e.find(list)
	return s, err
}

// value returns the value at a path of keys, nil when there is none.
func value(raw json.RawMessage, path []string) (found json.RawMessage, err error) {
	_, err = change(raw, path, func(v json.RawMessage) (json.RawMessage, error) {
		found = v
		return v, nil
	})
	return found, err
}

// find returns our hook in a list of hooks that counts for every tool, and its place.
func (e Entry) find(raw json.RawMessage) (hook, at string) {
	var list []json.RawMessage
	if raw == nil || json.Unmarshal(raw, &list) != nil {
		return "", ""
	}
	for i, one := range list {
		var m matcher
		if json.Unmarshal(one, &m) != nil || !slices.Contains([]string{".*", "", "*"}, m.Matcher) {
			continue // not ours, whatever it is
		}
		for j, h := range m.Hooks {
			if e.ours(h.Command) {
				hook, at = h.Command, fmt.Sprintf("%d:%d", i, j)
			}
		}
	}
	return hook, at
}
