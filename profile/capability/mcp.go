package capability

// MCP servers in the user's settings of agents: a clone has those that the profile names.

import (
	"cmp"
	"maps"
	"slices"

	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/profile"
)

// MCP are the servers that the user's settings of an agent name, for all folders or for the working folder.
func (c Capability) MCP(o Origin) (out []profile.MCPServer) {
	c.documents(o, func(file File) bool { return len(file.MCP) > 0 }, func(_ Folder, file File, src string, doc map[string]any) {
		file.apply(doc, o.Workdir, func(name string, entry any) bool {
			out = append(out, mcpServer(name, src, entry))
			return true
		})
	})
	slices.SortStableFunc(out, func(a, b profile.MCPServer) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// keepMCP takes the servers out of a document that are not granted.
func (e Edit) keepMCP(doc map[string]any, granted func(name string, entry any) bool) {
	for _, path := range e.MCP {
		visit(doc, path, "", func(parent map[string]any, key, _ string) {
			servers, _ := parent[key].(map[string]any)
			maps.DeleteFunc(servers, func(name string, entry any) bool { return !granted(name, entry) })
			if len(servers) == 0 {
				delete(parent, key)
			}
		})
	}
}

// variable is how entries name a variable of the caller: ${NAME}, $NAME, ${env:NAME} and {env:NAME}, by agent.
var variable = lazy.Regexp(`(?:\$\{(?:env:)?|\$|\{env:)([A-Za-z_]\w*)`)

// mcpServer reads an entry, in the words of any agent.
func mcpServer(name, file string, entry any) profile.MCPServer {
	table, _ := entry.(map[string]any)
	s := profile.MCPServer{Name: name, File: file, Command: append(texts(table["command"]), texts(table["args"])...)}
	for _, key := range []string{"url", "httpUrl"} {
		url, _ := table[key].(string)
		s.URL = cmp.Or(s.URL, url)
	}
	named := texts(entry)
	for _, key := range []string{"env_vars", "bearer_token_env_var", "env_http_headers"} { // Codex: names alone
		for _, name := range texts(table[key]) {
			named = append(named, "$"+name)
		}
	}
	for _, text := range named {
		for _, found := range variable().FindAllStringSubmatch(text, -1) {
			s.Vars = append(s.Vars, found[1])
		}
	}
	s.Vars = slices.Compact(slices.Sorted(slices.Values(s.Vars)))
	return s
}

// texts are all texts in a value, in their order; those of a table by its keys.
func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = []string{v}
	case []any:
		for _, x := range v {
			out = append(out, texts(x)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, texts(v[key])...)
		}
	}
	return out
}
