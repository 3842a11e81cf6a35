package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/calls"
)

// tools returns the tools as tools/list lists them.
func tools() []any {
	text := func(what string) any { return map[string]any{"type": "string", "description": what} }
	tool := func(name, what string, properties map[string]any, required ...string) any {
		properties["timeout_ms"] = map[string]any{"type": "integer", "minimum": 1, "description": "the longest it may take"}
		schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
		if len(required) > 0 {
			schema["required"] = required
		}
		return map[string]any{"name": name, "description": what, "inputSchema": schema}
	}
	file := text("a path of the sandbox; relative to the working folder")
	return []any{
		tool("bash", "Run a command line in the sandbox", map[string]any{"command": text("the command line")}, "command"),
		tool("read", "Read a file in the sandbox", map[string]any{"path": file}, "path"),
		tool("write", "Write a file in the sandbox; what it held is gone",
			map[string]any{"path": file, "content": text("all that the file is to hold")}, "path", "content"),
		tool("list", "List a folder in the sandbox", map[string]any{"path": file}),
	}
}

// arguments are those of all tools together; nil is one that was not given.
type arguments struct {
	Command *string `json:"command"`
	Path    *string `json:"path"`
	Content *string `json:"content"`
	Timeout int64   `json:"timeout_ms"` // of every tool
}

// given names the texts that were given.
func (a arguments) given() string {
	var names []string
	for _, arg := range []struct {
		name  string
		value *string
	}{{"command", a.Command}, {"path", a.Path}, {"content", a.Content}} {
		if arg.value != nil {
			names = append(names, arg.name)
		}
	}
	return strings.Join(names, " ")
}

// request translates the call of a tool into one of isolator/calls.
func request(params json.RawMessage) (q calls.Request, err error) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(params, &p) != nil {
		return q, errors.New("tools/call wants a name and arguments")
	}
	var in arguments
	if len(p.Arguments) > 0 {
		d := json.NewDecoder(bytes.NewReader(p.Arguments))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return q, errors.New("the arguments are not those of the tool")
		}
	}
	switch p.Name + ": " + in.given() {
	case "bash: command":
		q.Line = *in.Command
	case "read: path":
		q.Argv = []string{"cat", "--", *in.Path}
	case "write: path content":
		q.Argv, q.Stdin = []string{"sh", "-c", `cat >"$1"`, "sh", *in.Path}, *in.Content
	case "list: ":
		q.Argv = []string{"ls", "-la", "--", "."}
	case "list: path":
		q.Argv = []string{"ls", "-la", "--", *in.Path}
	default:
		if slices.Contains([]string{"bash", "read", "write", "list"}, p.Name) {
			return q, fmt.Errorf("the arguments are not those of %s", p.Name)
		}
		return q, errors.New("there is no such tool")
	}
	q.Timeout = in.Timeout
	return q, q.Check()
}

// paragraphs is a text to which paragraphs are added, each on a line of its own.
type paragraphs struct{ strings.Builder }

func (p *paragraphs) add(format string, args ...any) {
	if p.Len() > 0 && !strings.HasSuffix(p.String(), "\n") {
		p.WriteByte('\n')
	}
	fmt.Fprintf(p, format, args...)
}

// result translates an answer of isolator/calls into the result of tools/call.
func result(a calls.Answer) any {
	var out paragraphs
	out.Write(a.Stdout)
	if len(a.Stderr) > 0 {
		out.add("%s", a.Stderr)
	}
	if a.Err != nil {
		out.add("[inner: %s]", visible.Text(a.Err.Error()))
		if r := fault.AsRefusal(a.Err); r != nil && r.Hint != "" {
			out.add("[to type: %s]", visible.Text(r.Hint))
		}
	}
	if a.Started && a.Code != 0 {
		out.add("[exit code %d]", a.Code)
	}
	for _, name := range a.Truncated {
		out.add("[only the beginning of %s was kept]", name)
	}
	return map[string]any{
		"content": []any{map[string]any{"type": "text", "text": strings.ToValidUTF8(out.String(), "\ufffd")}},
		"isError": !a.Started || a.Code != 0 || a.Err != nil,
	}
}
