// Package agentsettings edits the settings of agents, which are JSON: a hook before each
// tool, and the one setting that says with what commands are run. Everything else stays as
// it is, and what is new is indented like it.
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

// member is one value of a JSON object, or of a list, as it is written.
type member struct {
	key  string
	lead string // what stands before the value: white space, and in an object the key
	raw  json.RawMessage
}

// members reads an object or a list, whichever begins like that, and what stands behind its last
// value; nothing at all is an empty one.
func members(raw []byte, begin json.Delim) (list []member, tail string, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, "", nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != begin {
		return nil, "", errors.New("is not " + map[json.Delim]string{'{': "a JSON object", '[': "a list"}[begin])
	}
	at := d.InputOffset()
	for ; d.More(); at = d.InputOffset() {
		var m member
		if begin == '{' {
			t, err := d.Token()
			key, ok := t.(string)
			if err != nil || !ok {
				return nil, "", errors.New("is not strict JSON")
			}
			if m.key = key; slices.ContainsFunc(list, func(o member) bool { return o.key == key }) {
				return nil, "", fmt.Errorf("has the key %q twice", key)
			}
		}
		if d.Decode(&m.raw) != nil {
			return nil, "", errors.New("is not strict JSON")
		}
		m.lead = string(raw[at : d.InputOffset()-int64(len(m.raw))])
		if len(list) > 0 {
			m.lead = strings.Replace(m.lead, ",", "", 1)
		}
		list = append(list, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, "", errors.New("is not strict JSON")
	}
	if len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		return nil, "", errors.New("has something behind its end")
	}
	if len(list) > 0 {
		tail = string(raw[at : d.InputOffset()-1])
	}
	return list, tail, nil
}

// write is the object or the list of the members, in their order.
func write(begin json.Delim, list []member, tail string) json.RawMessage {
	var b bytes.Buffer
	b.WriteRune(rune(begin))
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(m.lead)
		b.Write(m.raw)
	}
	b.WriteString(tail)
	b.WriteRune(rune(begin) + 2) // "}" follows "{" like that, and "]" "["
	return b.Bytes()
}

// form is what a level of a file is indented by.
type form string

// formOf is that of a file with members.
func formOf(list []member) form {
	if len(list) == 0 {
		return "  "
	}
	space := blank(list[0].lead)
	return form(space[strings.LastIndexByte(space, '\n')+1:])
}

// blank is the white space that a text begins with.
func blank(lead string) string { return lead[:len(lead)-len(strings.TrimLeft(lead, " \t\r\n"))] }

// fit indents a new value that comes behind a lead. In a file that is one line it is one, too.
func (f form) fit(value json.RawMessage, lead string) json.RawMessage {
	space := blank(lead)
	line := strings.LastIndexByte(space, '\n')
	var b bytes.Buffer
	if line < 0 || json.Indent(&b, value, space[line+1:], string(f)) != nil {
		return value
	}
	return b.Bytes()
}

// leadOf is what stands before a new value with a key, "" in a list, behind the member last.
func leadOf(key string, last member) string {
	switch {
	case key == "":
		return blank(last.lead)
	case strings.HasSuffix(last.lead, " "):
		return blank(last.lead) + string(text(key)) + ": "
	}
	return blank(last.lead) + string(text(key)) + ":"
}

// text is a string as JSON without escapes for HTML.
func text(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // both can be encoded
	return bytes.TrimSpace(b.Bytes())
}

// change gives the value at a path of keys to edit, and puts what that returns in its
// place; nil removes it, and what becomes empty.
func (f form) change(raw json.RawMessage, path []string, edit func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if len(path) == 0 {
		return edit(raw)
	}
	list, tail, err := members(raw, '{')
	if err != nil {
		return nil, fmt.Errorf("%q %w", path[0], err)
	}
	i := slices.IndexFunc(list, func(m member) bool { return m.key == path[0] })
	var old json.RawMessage
	if i >= 0 {
		old = list[i].raw
	}
	value, err := f.change(old, path[1:], edit)
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
		if len(bytes.Trim(old, "{}[] \t\r\n")) == 0 { // what came into it has no form yet
			value = f.fit(value, list[i].lead)
		}
		list[i].raw = value
	default:
		var last member
		if len(list) > 0 {
			last = list[len(list)-1]
		}
		lead := leadOf(path[0], last)
		list = append(list, member{path[0], lead, f.fit(value, lead)})
	}
	return write('{', list, tail), nil
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
func (e Entry) hooks(f form, raw json.RawMessage, add bool) (json.RawMessage, error) {
	list, tail, err := members(raw, '[')
	if err != nil {
		return nil, fmt.Errorf("hooks.%s %w", e.Event, err)
	}
	var last member
	for i, m := range list {
		last, list[i].raw = m, e.without(m.raw)
	}
	list = slices.DeleteFunc(list, func(m member) bool { return m.raw == nil })
	if add {
		own := fmt.Sprintf(`{"matcher":".*","hooks":[{"type":"command","command":%s}]}`, text(e.Hook))
		lead := leadOf("", last)
		list = append(list, member{lead: lead, raw: f.fit(json.RawMessage(own), lead)})
	}
	if len(list) == 0 {
		return nil, nil
	}
	return write('[', list, tail), nil
}

// without takes our hook out of a group of hooks; nil when there is no other in it. What has
// another form stays as it is.
func (e Entry) without(group json.RawMessage) json.RawMessage {
	had, left := 0, 0
	changed, err := form("").change(group, []string{"hooks"}, func(raw json.RawMessage) (json.RawMessage, error) {
		list, tail, err := members(raw, '[')
		had = len(list)
		list = slices.DeleteFunc(list, func(one member) bool {
			var h handler
			return json.Unmarshal(one.raw, &h) == nil && e.ours(h.Command)
		})
		left = len(list)
		return write('[', list, tail), err
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
	raw := json.RawMessage(bytes.TrimSpace(old))
	before, after, _ := bytes.Cut(old, raw)
	list, _, err := members(raw, '{')
	if err != nil {
		return nil, fmt.Errorf("the file %w", err)
	}
	f := formOf(list)
	if e.Event != "" {
		if raw, err = f.change(raw, []string{"hooks", e.Event},
			func(v json.RawMessage) (json.RawMessage, error) { return e.hooks(f, v, add) }); err != nil {
			return nil, err
		}
	}
	if e.Key != nil {
		if raw, err = f.change(raw, e.Key, func(v json.RawMessage) (json.RawMessage, error) { return e.setting(v, add) }); err != nil {
			return nil, err
		}
	}
	switch {
	case len(raw) == 0:
		raw = json.RawMessage("{}")
		fallthrough
	case len(list) == 0:
		raw, before, after = f.fit(raw, "\n"), nil, []byte("\n")
	}
	return slices.Concat(before, raw, after), nil
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
	if _, _, err := members(raw, '{'); err != nil {
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
	_, err = form("").change(raw, path, func(v json.RawMessage) (json.RawMessage, error) {
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
