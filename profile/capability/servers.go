package capability

import (
	"fmt"
	"strings"

	"github.com/enr/inner/internal/files"
)

// Server is an address that the user's own settings of an agent name.
type Server struct {
	From string // the file, as people write it, and the entry
	URL  string
}

// Servers are those that an agent works with in the place of its usual one.
func (c Capability) Servers(o Origin) (out []Server) {
	for _, f := range c.Folders {
		for _, file := range f.Files {
			if len(file.Servers) == 0 {
				continue
			}
			data, err := files.Read(o.behind(f.file(o, file)), files.NoLinks, maxFile)
			if err != nil {
				continue // nor will the box have it
			}
			doc := variables(data)
			if file.Name != ".env" {
				doc, _ = document(file.Name, data)
			}
			for _, path := range file.Servers {
				visit(doc, path, "", func(parent map[string]any, key, path string) {
					if url, ok := parent[key].(string); ok && url != "" {
						out = append(out, Server{From: fmt.Sprintf("%s of %s/%s", path, f.Path, file.Name), URL: url})
					}
				})
			}
		}
	}
	return out
}

// variables reads a file of NAME=VALUE lines.
func variables(data []byte) map[string]any {
	doc := map[string]any{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if name, value, ok := strings.Cut(line, "="); ok {
			doc[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return doc
}
