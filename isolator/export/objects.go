package export

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/profile"
)

//go:embed objects.yaml.tmpl
var objectsText string // allowed: embed writes only to a variable

// userBox is the user of the box, and of the checkout: git refuses to work in a folder of another user.
const userBox = 1000

// startup is how long a pod may take besides the time limit of its run: to fetch the
// repository, and to hand over what came of it.
const startup = 10 * time.Minute

// Objects writes the objects. It refuses what Judge refuses.
func Objects(r *Request) ([]byte, error) {
	if refused, _ := Judge(r); len(refused) > 0 {
		return nil, refusal(r, len(refused))
	}
	if r.Target == Podman {
		return r.pods()
	}
	return r.document(string(r.Target), r.page())
}

// pods returns a ConfigMap and a pod for each task. Tasks can be the same.
func (r *Request) pods() ([]byte, error) {
	known := map[string]bool{}
	var all [][]byte
	for i, task := range r.Tasks {
		one := *r
		one.Tasks = []Task{task}
		page := one.page()
		if len(r.Tasks) > 1 {
			page.Index = strconv.Itoa(i)
		}
		for _, name := range []string{"config", "podman"} {
			text, err := one.document(name, page)
			if err != nil {
				return nil, err
			}
			if name == "podman" || !known[string(text)] {
				all = append(all, text)
			}
			known[string(text)] = true
		}
	}
	return bytes.Join(all, []byte("---\n")), nil
}

// page is what the templates of the objects are about.
type page struct {
	*Request
	Podman bool
	Repo   string // of the first task: all have one, or none has
	Index  string // of a pod for podman, where there are several
}

func (r *Request) page() page {
	return page{Request: r, Podman: r.Target == Podman, Repo: r.Tasks[0].Repo}
}

// document writes one of the templates as YAML.
func (r *Request) document(name string, about page) ([]byte, error) {
	var write func(name string, about any) (string, error)
	config := func() (string, error) { // with the digest of the data
		text, err := write("data", about)
		if err != nil {
			return "", err
		}
		data, err := yamlOf(text)
		sum := sha256.Sum256(data)
		return r.objectName() + "-" + hex.EncodeToString(sum[:5]), err
	}
	all, err := template.New("").Funcs(template.FuncMap{
		"part": func(indent int, name string, about any) (string, error) {
			text, err := write(name, about)
			return strings.ReplaceAll("\n"+text, "\n", "\n"+strings.Repeat(" ", indent)), err
		},
		"text": strconv.QuoteToASCII, "name": r.objectName, "label": r.label, "digest": r.Digest, "profile": r.text, "config": config,
		"box": func() int { return userBox }, "offline": r.offline, "deadline": r.deadline, "limits": r.limits, "disk": r.disk,
		"command": r.command, "variables": r.variables, "token": r.secret, "home": func() string { return r.claim("~") }, "inPod": inPod,
		"private4": netproxy.NotPublic4, "private6": func() []netip.Prefix { return append(netproxy.NotPublic6(), netproxy.SixTo4()) },
		"networks": r.networks, "addresses": r.addresses,
	}).Parse(objectsText)
	if err != nil {
		return nil, err
	}
	write = func(name string, about any) (string, error) {
		var b strings.Builder
		err := all.ExecuteTemplate(&b, name, about)
		return b.String(), err
	}
	text, err := write(name, about)
	if err != nil {
		return nil, err
	}
	return yamlOf(text)
}

// yamlOf returns documents of YAML as the library writes them: it quotes what a reader of YAML 1.1 would take for
// something else than a text.
func yamlOf(text string) ([]byte, error) {
	var b bytes.Buffer
	in, out := yaml.NewDecoder(strings.NewReader(text)), yaml.NewEncoder(&b)
	out.SetIndent(2)
	for {
		var n yaml.Node
		if err := in.Decode(&n); errors.Is(err, io.EOF) {
			return b.Bytes(), out.Close()
		} else if err != nil {
			return nil, err
		}
		tidy(&n)
		if err := out.Encode(&n); err != nil {
			return nil, err
		}
	}
}

// tidy takes the form of what was read from it.
func tidy(n *yaml.Node) {
	n.Style, n.HeadComment, n.LineComment, n.FootComment = 0, "", "", ""
	if text := n.Value; n.Tag == "!!str" && n.Encode(text) != nil { // a text of lines that the library does not read back
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}
	}
	for _, part := range n.Content {
		tidy(part)
	}
}

// label makes a value of a label of any name: what else a name may hold becomes a dash.
func (r *Request) label() string {
	out := []byte(r.Profile.Name)
	for i, c := range out {
		if strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", c) < 0 {
			out[i] = '-'
		}
	}
	return strings.Trim(string(out[:min(len(out), 63)]), "-")
}

// offline reports whether nothing in a pod reaches a host.
func (r *Request) offline() bool {
	mode := r.value("sandbox.network_mode")
	return (mode == string(profile.NetOff) || mode == "" && r.value("sandbox.network") != "true") && r.Tasks[0].Repo == ""
}

// timeout is [output] timeout_seconds; zero is no limit.
func (r *Request) timeout() time.Duration {
	n, _ := strconv.Atoi(r.value("output.timeout_seconds"))
	return time.Duration(n) * time.Second
}

// deadline is how many seconds a pod has, or zero.
func (r *Request) deadline() int {
	if r.timeout() <= 0 {
		return 0
	}
	return int((r.timeout() + startup) / time.Second)
}

// value returns the value of a key of the profile, "" when it has none.
func (r *Request) value(key string) string { return strings.Join(r.written(key), "") }

// written returns the values of a key as the profile has it, of a table its keys.
func (r *Request) written(key string) (list []string) {
	for _, w := range r.Profile.Written() {
		for _, p := range w.Parts() {
			if w.Name == key {
				list = append(list, cmp.Or(p.Key, p.Text))
			}
		}
	}
	return list
}

// command starts the program. The box has no terminal.
func (r *Request) command() []string {
	c := []string{"inner", "run", "--approved", "sha256:" + r.Digest(), "-p", "/inner/profile.toml", "--no-interactive"}
	if r.Tasks[0].Repo != "" {
		c = append(c, "--bundle", "/out/changes.bundle")
	}
	if r.Prompted() {
		c = append(c, "--args-file", "/inner/prompt")
	}
	if len(r.Args) > 0 {
		c = append(c, "--")
	}
	for _, arg := range r.Args { // an engine reads $(NAME) in an argument
		c = append(c, strings.ReplaceAll(arg, "$", "$$"))
	}
	return c
}

// Prompted reports whether the tasks have a prompt each.
func (r *Request) Prompted() bool { return r.Tasks[0].Prompt != "" }

// limits returns the limits of the container, each NAME: VALUE.
func (r *Request) limits() (list []string) {
	if n, ok := profile.Bytes(r.value("sandbox.limits.memory")); ok {
		list = append(list, fmt.Sprintf("memory: %q", strconv.FormatUint(n, 10)))
	}
	if n, ok := profile.Processors(r.value("sandbox.limits.cpu")); ok {
		list = append(list, fmt.Sprintf("cpu: %dm", n))
	}
	return list
}

// disk is the size of what a pod has in memory.
func (r *Request) disk() string {
	if n, ok := profile.Bytes(r.value("sandbox.limits.disk")); ok {
		return strconv.FormatUint(n, 10)
	}
	return "256Mi"
}
