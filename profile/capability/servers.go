package capability

import (
	"fmt"
	"strings"

	"github.com/enr/inner/internal/files"
)

// Server is an address that the user's own settings of an agent name.
type Server struct {
	From  string // the file, as people write it, and the entry
	URL   string
	Usual bool // it takes the place of the usual one, and is not one of several
}

// Servers are those that an agent works with in the place of its usual one.
func (c Capability) Servers(o Origin) (out []Server) {
	c.documents(o, func(file File) bool { return len(file.Servers) > 0 }, func(f Folder, file File, _ string, doc map[string]any) {
		for _, written := range file.Servers {
			visit(doc, written, "", func(parent map[string]any, key, path string) {
				if url, ok := parent[key].(string); ok && url != "" {
					out = append(out, Server{From: fmt.Sprintf("%s of %s/%s", path, f.Path, file.Name), URL: url, Usual: !strings.Contains(written, "*")})
				}
			})
		}
	})
	return out
}

// documents calls do with each of the user's settings of an agent that are meant, and where they are.
func (c Capability) documents(o Origin, meant func(File) bool, do func(f Folder, file File, src string, doc map[string]any)) {
	for _, f := range c.Folders {
		for _, file := range f.Files {
			if !meant(file) {
				continue
			}
			src := f.file(o, file)
			data, err := files.Read(o.behind(src), files.NoLinks, maxFile)
			if err != nil {
				continue // nor will the box have it
			}
			doc := variables(data)
			if file.Name != ".env" {
				doc, _ = document(file.Name, data)
			}
			if doc != nil {
				do(f, file, src, doc)
			}
		}
	}
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
