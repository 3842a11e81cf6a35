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
			data, err := files.Read(f.file(o, file), files.NoLinks, maxFile)
			if err != nil {
				continue // nor will the box have it
			}
			doc := variables(data)
			if file.Name != ".env" {
				doc, _ = document(file.Name, data)
			}
			for _, path := range file.Servers {
				each(doc, path, "", func(key, value string) {
					out = append(out, Server{From: fmt.Sprintf("%s of %s/%s", key, f.Path, file.Name), URL: value})
				})
			}
		}
	}
	return out
}

// each calls do for the texts at a dotted path, in which * is any key.
func each(doc map[string]any, path, at string, do func(key, value string)) {
	first, rest, more := strings.Cut(path, ".")
	for _, key := range names(doc) {
		if first != "*" && first != key {
			continue
		}
		text, isText := doc[key].(string)
		table, isTable := doc[key].(map[string]any)
		switch {
		case more && isTable:
			each(table, rest, at+key+".", do)
		case !more && isText && text != "":
			do(at+key, text)
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
