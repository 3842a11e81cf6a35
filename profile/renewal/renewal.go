// Package renewal has the words for how an agent keeps a login that it renews while it runs (OAuth), and where. Package
// capability has them of each agent; inner-proxy, which reads no TOML, is told.
package renewal

// Store is a file with such a login. What leads into it are dotted paths of JSON.
type Store struct {
	File                string   // in the agent's folder
	Access, Refresh, ID string   // the tokens; ID is a JWT about the user, or ""
	Expires             string   // when Access ends, in milliseconds; "" where that is a JWT, which says so itself
	Scope               string   // what it is for: a list, or text
	Renewed             string   // the time of the last renewal, or ""
	Shown               []string // what else of the file a box has
	Key                 string   // of the file, that logs in without the tokens, or ""
	Absent              []string // other files of the agent's folder that log in: no box has them, but .env without a key
	Strip               []string // what logs in, of its other files: dotted paths
	Parts               []string // and what may have some of that in it
	Elsewhere           []string // variables by which the agent logs in at another service, or PATH=VALUE of its settings
	Settings            []string // further ones of the agent, of the system or, relative, of a project

	Token  string // where it is renewed: HOST/PATH
	Form   bool   // the request is a form, and not JSON
	Scoped bool   // and has the scope
	Client string // as whom the agent asks
	Secret string // of a client that has one, and not a secret: it is in the agent's published source
	Of     string // in the file: the client of this login, or ""
	Lock   string // what the agent locks: "folder", by the folder beside its own; else a file in its own, by flock(2)
}
