// Package agenthook judges calls of tools for the hooks of agents: the JSON that an agent
// gives its hook goes in, and a decision comes out.
//
//	c, err := agenthook.Parse("claude", text)
//	d, err := c.Judge(box, agenthook.Options{Dir: c.Dir, Home: "/home/u", Command: command})
//	answer, err := c.Answer(d)
//
// The command of a tool that runs commands is replaced with one that runs it in the box. Any
// other tool works outside of the box, so each of its arguments that looks like a path is looked
// up, and the call is denied when the box does not have that path. The package only judges: it
// does not notice changes between the decision and the call of the tool, nor a tool that
// finds its files in another way.
//
// An error means that a call could not be judged, and the caller blocks the call.
package agenthook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/isolator/jsonlines"
)

// MaxInput is how long the JSON of a hook may be, in bytes.
const MaxInput = 16 << 20

type object = jsonlines.Object

// Agents returns the agents whose hooks are understood.
func Agents() []string { return []string{"claude", "codex", "gemini", "opencode"} }

// Use is what a tool does with a path.
type Use struct {
	Read, Write bool
	Tree        bool   // it reads everything below
	Only        string // with Tree: only what this pattern of paths matches there; "" for everything
}

// Box answers questions about what the box has.
type Box interface {
	// Path says why a tool must not use a path, which is absolute and clean; "" when it may.
	Path(path string, use Use) (reason string)
	// Host says why a tool must not reach NAME:PORT; "" when it may.
	Host(host string) (reason string)
}

// Options say where a call is judged.
type Options struct {
	Dir  string // the working folder of the agent, absolute
	Home string // of the user

	// Command is the command line that runs a command line in the box.
	Command func(line string) string
	// Boxed says that commands get into the box another way, and are left alone.
	Boxed bool
	// Tmp is the host folder that is /tmp of the session, "" without one.
	Tmp func() (string, error)
}

// Call is one call of a tool.
type Call struct {
	Tool    string
	Dir     string // the working folder as the agent says it; "" when it does not
	Session string // the agent's own name of its session; may be ""

	agent string
	input object
}

// Decision says whether a call may be made, and with which input.
type Decision struct {
	Deny  string // the reason; "" when it is not denied
	input object // in the place of the old one; nil for no change
}

// Parse reads the JSON that an agent gives its hook.
func Parse(agent string, text []byte) (Call, error) {
	c := Call{agent: agent}
	if !slices.Contains(Agents(), agent) {
		return c, fmt.Errorf("%q is not an agent whose hooks are known", agent)
	}
	o, err := jsonlines.Read(text)
	if err != nil {
		return c, err
	}
	keys := map[string]string{"tool": "tool_name", "input": "tool_input", "session": "session_id", "dir": "cwd"}
	if agent == "opencode" {
		keys = map[string]string{"tool": "tool", "input": "args", "session": "sessionID", "dir": "directory"}
	}
	if err := readTexts(o, map[string]*string{keys["tool"]: &c.Tool, keys["session"]: &c.Session, keys["dir"]: &c.Dir}); err != nil {
		return c, err
	}
	if event, there := o["hook_event_name"]; there && !beforeTool(agent, event) {
		return c, errors.New("hook_event_name: this hook is for the event before a tool is used")
	}
	var ok bool
	if c.input, ok = o[keys["input"]].(object); !ok {
		return c, fmt.Errorf("%s is missing, or not an object", keys["input"])
	}
	if c.Tool == "" {
		return c, fmt.Errorf("%s is missing", keys["tool"])
	}
	return c, nil
}

// readTexts reads the values of keys, each a text or missing.
func readTexts(o object, into map[string]*string) error {
	for key, to := range into {
		v, there := o[key]
		s, ok := v.(string)
		if there && !ok {
			return fmt.Errorf("%s is not a text", key)
		}
		*to = s
	}
	return nil
}

// beforeTool reports whether an event is the one before a tool is used.
func beforeTool(agent string, event any) bool {
	return event == "PreToolUse" || agent == "gemini" && event == "BeforeTool"
}

// Answer returns the JSON that the agent reads as the answer of its hook.
func (c Call) Answer(d Decision) ([]byte, error) {
	if d.Deny == "" && d.input == nil {
		return encode(object{}) // the agent goes on as without a hook
	}
	switch c.agent {
	case "opencode":
		return encode(d.forOpencode())
	case "gemini":
		return encode(d.forGemini())
	}
	return encode(d.forClaude())
}

func (d Decision) forOpencode() object {
	if d.Deny != "" {
		return object{"deny": d.Deny}
	}
	return object{"args": d.input}
}

func (d Decision) forGemini() object {
	if d.Deny != "" {
		return object{"decision": "deny", "reason": d.Deny}
	}
	return object{"hookSpecificOutput": object{"hookEventName": "BeforeTool", "tool_input": d.input}}
}

// forClaude is also what Codex reads.
func (d Decision) forClaude() object {
	out := object{"hookEventName": "PreToolUse"}
	if d.Deny != "" {
		out["permissionDecision"], out["permissionDecisionReason"] = "deny", d.Deny
	} else { // a changed input counts only together with "allow"
		out["permissionDecision"], out["updatedInput"] = "allow", d.input
	}
	return object{"hookSpecificOutput": out}
}

// Judge decides about a call.
func (c Call) Judge(box Box, o Options) (Decision, error) {
	t, known := tools(c.agent)[c.Tool]
	j := judge{box: box, o: o, tool: t, known: known}
	if !known {
		j.tool = tool{use: Use{Read: true, Write: true, Tree: true}}
	}
	var input object
	var err error
	switch {
	case t.command != "":
		input, err = j.command(c.input)
	case t.patch != "":
		err = j.patch(c.input)
	default:
		input, err = j.object(c.input)
	}
	var no denial
	if errors.As(err, &no) {
		return Decision{Deny: "inner: " + string(no)}, nil
	}
	if err != nil {
		return Decision{}, err
	}
	d := Decision{}
	if j.changed {
		d.input = input
	}
	return d, nil
}

// denial is an error that is the reason of a denial.
type denial string

func (d denial) Error() string { return string(d) }

func denied(format string, args ...any) error { return denial(fmt.Sprintf(format, args...)) }

// encode writes JSON as JavaScript does, without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// command returns the input of a tool that runs commands, changed so that they run in the box.
func (j *judge) command(in object) (object, error) {
	folder, err := j.commandFolder(in)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(in)
	if j.o.Boxed {
		return out, nil
	}
	line, list, err := lineOf(in[j.tool.command])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.tool.command, err)
	}
	if folder != "" { // the box decides where that is
		line = "cd -- " + quote.POSIX(folder) + " || exit\n" + line
	}
	j.changed = true
	out[j.tool.command] = j.o.Command(line)
	if list { // Codex runs a list without a shell
		out[j.tool.command] = []any{"/bin/sh", "-c", j.o.Command(line)}
	}
	return out, nil
}

// commandFolder returns the folder that a command is to run in, "" when the call names none. An
// argument that could say which program runs the command is refused.
func (j *judge) commandFolder(in object) (folder string, err error) {
	for key, v := range in {
		switch {
		case key == j.tool.command, ofCommands(key), j.o.Boxed:
		default:
			return "", denied("the argument %q of this tool is not known: it could say what runs the command", key)
		}
		if v == nil || !folderOfCommand(key) {
			continue
		}
		s, ok := v.(string)
		if !ok || strings.ContainsRune(s, 0) || folder != "" {
			return "", fmt.Errorf("%s is not one folder", key)
		}
		folder = s
	}
	return folder, nil
}

// lineOf returns a command, which is a text or a list of arguments, as a command line.
func lineOf(v any) (line string, list bool, err error) {
	words, list := v.([]any)
	if !list {
		words = []any{v}
	}
	var parts []string
	for _, w := range words {
		s, ok := w.(string)
		if !ok || strings.ContainsRune(s, 0) {
			return "", list, errors.New("is neither a text nor a list of texts")
		}
		if list {
			s = quote.POSIX(s)
		}
		parts = append(parts, s)
	}
	if line = strings.Join(parts, " "); strings.TrimSpace(line) == "" {
		return "", list, errors.New("is empty")
	}
	return line, list, nil
}

// patch checks each file that a patch of Codex names.
func (j *judge) patch(in object) error {
	text, err := j.patchText(in)
	if err != nil {
		return err
	}
	found := false
	for line := range strings.Lines(text) {
		name, is := patched(line)
		if !is {
			continue
		}
		found = true
		if strings.HasPrefix(name, "~") {
			return denied("the patch names a path that begins with ~: write the path out")
		}
		if to, err := j.path(name, writes); err != nil {
			return err
		} else if to != name {
			return denied("%s is /tmp of the session in commands alone", name)
		}
	}
	if !found {
		return denied("the patch names no file")
	}
	return nil
}

// patchText returns the one argument of a call that patches files.
func (j *judge) patchText(in object) (text string, err error) {
	ok := false
	for key, v := range in {
		if key != j.tool.patch && key != "input" {
			return "", denied("the argument %q of a patch is not known", key)
		}
		text, ok = v.(string)
	}
	if !ok || len(in) != 1 {
		return "", errors.New("the patch is not a text")
	}
	return text, nil
}

// patched returns the file that a line of a patch names, when it is one that does.
func patched(line string) (name string, is bool) {
	for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), head); is {
			return strings.TrimSpace(name), true
		}
	}
	return "", false
}
