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
		schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
		if len(required) > 0 {
			schema["required"] = required
		}
		return map[string]any{"name": name, "description": what, "inputSchema": schema}
	}
	file := text("a path of the sandbox; relative to the working folder")
	return []any{
		tool("bash", "Run a command line in the sandbox", map[string]any{
			"command": text("the command line"), "timeout_ms": map[string]any{"type": "integer", "minimum": 1, "description": "the longest it may take"},
		}, "command"),
		tool("read", "Read a file in the sandbox", map[string]any{"path": file}, "path"),
		tool("write", "Write a file in the sandbox; what it held is gone", map[string]any{"path": file, "content": text("all that the file is to hold")}, "path", "content"),
		tool("list", "List a folder in the sandbox", map[string]any{"path": file}),
	}
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
	var in struct {
		Command *string `json:"command"`
		Path    *string `json:"path"`
		Content *string `json:"content"`
		Timeout int64   `json:"timeout_ms"`
	}
	if len(p.Arguments) > 0 {
		d := json.NewDecoder(bytes.NewReader(p.Arguments))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return q, errors.New("the arguments are not those of the tool")
		}
	}
	given := ""
	for _, arg := range []struct {
		name  string
		value *string
	}{{"command", in.Command}, {"path", in.Path}, {"content", in.Content}} {
		if arg.value != nil {
			given += " " + arg.name
		}
	}
	switch p.Name + given {
	case "bash command":
		q = calls.Request{Line: *in.Command, Timeout: in.Timeout}
	case "read path":
		q = calls.Request{Argv: []string{"cat", "--", *in.Path}}
	case "write path content":
		q = calls.Request{Argv: []string{"sh", "-c", `cat >"$1"`, "sh", *in.Path}, Stdin: *in.Content}
	case "list":
		q = calls.Request{Argv: []string{"ls", "-la", "--", "."}}
	case "list path":
		q = calls.Request{Argv: []string{"ls", "-la", "--", *in.Path}}
	default:
		if slices.Contains([]string{"bash", "read", "write", "list"}, p.Name) {
			return q, fmt.Errorf("the arguments are not those of %s", p.Name)
		}
		return q, errors.New("there is no such tool")
	}
	return q, q.Check()
}

// result translates an answer of isolator/calls into the result of tools/call.
func result(a calls.Answer) any {
	var b strings.Builder
	b.Write(a.Stdout)
	if len(a.Stderr) > 0 {
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.Write(a.Stderr)
	}
	line := func(format string, args ...any) {
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, format, args...)
	}
	if a.Err != nil {
		line("[inner: %s]", visible.Text(a.Err.Error()))
		if r := fault.AsRefusal(a.Err); r != nil && r.Hint != "" {
			line("[to type: %s]", visible.Text(r.Hint))
		}
	}
	if a.Started && a.Code != 0 {
		line("[exit code %d]", a.Code)
	}
	for _, name := range a.Truncated {
		line("[only the beginning of %s was kept]", name)
	}
	return map[string]any{
		"content": []any{map[string]any{"type": "text", "text": strings.ToValidUTF8(b.String(), "\ufffd")}},
		"isError": !a.Started || a.Code != 0 || a.Err != nil,
	}
}
