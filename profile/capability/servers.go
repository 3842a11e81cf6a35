package capability

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
)

// Server is an address that the user's own settings of an agent name.
type Server struct {
	From  string // the file, as people write it, and the entry
	URL   string
	Path  string // the file
	Usual bool   // it takes the place of the usual one, and is not one of several
}

// Servers are those that an agent works with in the place of its usual one.
func (c Capability) Servers(o Origin) (out []Server) {
	c.documents(o, func(file File) bool { return len(file.Servers) > 0 }, func(f Folder, file File, src string, doc map[string]any) {
		for _, written := range file.Servers {
			visit(doc, written, "", func(parent map[string]any, key, path string) {
				if url, ok := parent[key].(string); ok && url != "" {
					out = append(out, Server{From: fmt.Sprintf("%s of %s/%s", path, f.Path, file.Name), Path: src, URL: url, Usual: !strings.Contains(written, "*")})
				}
			})
		}
	})
	return out
}

// Other is what another login of an agent, or another server, is named by in one of its settings.
type Other struct{ Path, Entry string } // Entry is "" for the whole file

// Others are those of an agent that renews a login, beside that login; project are servers that settings of the folder
// name in which it works.
func (c Capability) Others(o Origin) (list, project []Other) {
	f := c.Folders[0]
	paths, servers := c.OAuth.Strip, []string{}
	for _, name := range slices.Concat(c.Keys, c.OAuth.Elsewhere, certificates) {
		if !strings.Contains(name, "=") {
			name = "env." + name
		}
		paths = append(slices.Clip(paths), name)
	}
	for _, name := range c.Endpoints {
		servers = append(servers, "env."+name)
	}
	for _, file := range f.Files {
		servers = append(servers, file.Servers...)
	}
	for _, file := range f.Files {
		if file.IsDocument() || file.Name == DotEnv {
			list = append(list, c.named(o, f.At(o, file), slices.Concat(paths, servers))...)
		}
	}
	for _, name := range c.OAuth.Absent {
		if src := f.At(o, File{Name: name}); name != DotEnv && files.Exists(src) {
			list = append(list, Other{Path: src})
		}
	}
	for _, name := range c.OAuth.Settings {
		if filepath.IsAbs(name) {
			list = append(list, c.named(o, name, slices.Concat(paths, servers))...)
		} else {
			project = append(project, c.named(o, filepath.Join(o.Workdir, name), servers)...)
		}
	}
	return list, project
}

// Serves reports whether an address is of the agent's own service, as where settings write out what is usual.
func (c Capability) Serves(address string) bool {
	rest, ok := strings.CutPrefix(address, "https://")
	host, _, _ := strings.Cut(rest, "/")
	return ok && slices.Contains(c.Hosts, host)
}

// certificates are variables that name some of a company, by which the agent alone may know its service.
var certificates = []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// named is what stands in a file of settings at some of the dotted paths, or only with the value behind "=". Most files
// have no word of them; a file of variables that has one counts as a whole.
func (c Capability) named(o Origin, src string, paths []string) (list []Other) {
	data, _ := files.Read(o.behind(src), files.NoLinks, maxFile) // what cannot be read the box has not either
	word := func(path string) bool {
		path, _, _ = strings.Cut(path, "=")
		return bytes.Contains(data, []byte(path[strings.LastIndex(path, ".")+1:]))
	}
	if !slices.ContainsFunc(paths, word) {
		return nil
	}
	if filepath.Base(src) == DotEnv {
		return []Other{{Path: src}}
	}
	doc, _ := document(src, data)
	for _, path := range paths {
		path, value, only := strings.Cut(path, "=")
		visit(doc, path, "", func(parent map[string]any, key, at string) {
			text, _ := parent[key].(string)
			if parent[key] != nil && parent[key] != "" && !c.Serves(text) && (!only || text == value) {
				list = append(list, Other{Path: src, Entry: at})
			}
		})
	}
	return list
}

// DotEnv is the name of a file of variables.
const DotEnv = ".env"

// documents calls do with each of the user's settings of an agent that are meant, and where they are.
func (c Capability) documents(o Origin, meant func(File) bool, do func(f Folder, file File, src string, doc map[string]any)) {
	for _, f := range c.Folders {
		for _, file := range f.Files {
			if !meant(file) {
				continue
			}
			src := f.At(o, file)
			data, err := files.Read(o.behind(src), files.NoLinks, maxFile)
			if err != nil {
				continue // nor will the box have it
			}
			doc := variables(data)
			if file.Name != DotEnv {
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
