// Package export writes a profile as objects of Kubernetes or podman. It uses neither the network
// nor the engine.
//
//	refused, said := export.Judge(request)   // what does not translate, and what only in part
//	text, err := export.Objects(request)     // for stdout; the same request gives the same bytes
//
// One table (Table) says how each key of the profile language is translated. Judge uses it, and
// docs/fleet.md shows it. A profile with a key that is refused is not exported at all.
//
// For every target, the objects contain the text of the profile, and its digest as an annotation;
// in the container, `inner run --approved` compares the two. The pod has no token of a service
// account, none of the node's namespaces and folders, a read-only root, and an image that is named
// by its digest. It has no capability.
// Values of secrets are never read here.
package export

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/listing"
	"github.com/enr/inner/profile/strict"
)

// Target is the engine that the objects are for.
type Target string

// The targets.
const (
	Kube   Target = "kube"
	Podman Target = "podman"

	AgentSandbox Target = "agent-sandbox" // pods of Kubernetes, which live long
)

// Targets returns all targets, in the order of the manual.
func Targets() []Target { return []Target{Kube, AgentSandbox, Podman} }

// Request is what is to be exported.
type Request struct {
	Profile *profile.Profile
	Target  Target
	Name    string // of the objects, and of the branches of results; "" is the profile's
	Image   string // REF@sha256:HEX
	Args    []string
	Tasks   []Task // at least one; those of a run without a repository have none

	Secrets   []Secret
	Variables []Variable
	Volumes   []Volume
}

// Task is one run.
type Task struct {
	Repo, Commit string // "" without a repository; Commit is 40 or 64 hexadecimal digits
	Prompt       string // one argument more of the program; "" for none
}

// Secret is a Secret of the engine that has the login of a capability, or with the name
// publish the token that results are pushed with, or with checkout that for reading.
type Secret struct{ For, Name string }

// Names of secrets that are no capability.
const (
	forPublish  = "publish"
	forCheckout = "checkout"
)

// Variable is a variable of the box that is one key of a Secret.
type Variable struct {
	Var, Name, Key string
	Optional       bool // the Secret need not have the key
}

// Volume is a claim that stands for a folder of the profile's [mounts], or for the home (~).
type Volume struct{ Path, Claim string }

// homeDir is the home in the container; objects.yaml.tmpl has it, too.
const homeDir = "/home/agent"

var (
	digested = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9./:_-]*@sha256:[0-9a-f]{64}$`) })
	objectID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$`) })
	secretID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?$`) })
	keyID    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`) })
	variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
	commitID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })
)

// maxTasks is how many tasks one request may have, and maxText the most bytes that they and
// the profile may be: a ConfigMap holds 1 MiB.
const (
	maxTasks = 1000
	maxText  = 900 << 10
)

// Check says what is wrong with the request itself, as a use of inner export.
func (r *Request) Check() error {
	if !slices.Contains(Targets(), r.Target) {
		return fmt.Errorf("--to %q is not one of kube, agent-sandbox, podman", r.Target)
	}
	if !objectID().MatchString(r.objectName()) {
		return fmt.Errorf("%q is not the name of an object: letters, digits and - in lower case, at most 52; name one with --name",
			r.objectName())
	}
	if err := r.checkEngine(); err != nil {
		return err
	}
	if r.Target == Podman && slices.ContainsFunc(r.Args, func(arg string) bool { return strings.Contains(arg, "$") }) {
		return fmt.Errorf("--to podman takes no $ in the arguments: one podman puts a variable in its place, another does not; write them into [entrypoint] args")
	}
	return r.checkTasks()
}

// checkEngine looks at what is said for the engine: image, secrets, volumes.
func (r *Request) checkEngine() error {
	switch {
	case r.Image == "":
		return fmt.Errorf("--image is missing: REF@sha256:DIGEST")
	case !digested().MatchString(r.Image):
		return fmt.Errorf("--image %q has no digest: REF@sha256:DIGEST (a tag can be moved to another image)",
			r.Image)
	}
	for _, s := range r.Secrets {
		if err := r.checkSecret(s); err != nil {
			return err
		}
	}
	for _, v := range r.Variables {
		if !variable().MatchString(v.Var) || !secretID().MatchString(v.Name) || !keyID().MatchString(v.Key) {
			return fmt.Errorf("--secret-env %s=%s/%s: it is VARIABLE=NAME/KEY", v.Var, v.Name, v.Key)
		}
	}
	for _, v := range r.Volumes {
		if !secretID().MatchString(v.Claim) || !r.mounted(v.Path) {
			return fmt.Errorf("--volume %s=pvc:%s: it is the path of a mount as the profile has it, or ~ for the home",
				v.Path, v.Claim)
		}
	}
	return nil
}

func (r *Request) checkSecret(s Secret) error {
	ofRepository := s.For == forPublish || s.For == forCheckout
	switch {
	case !ofRepository && !slices.Contains(profile.Capabilities(), s.For), !secretID().MatchString(s.Name):
		return fmt.Errorf("--secret %s=%s: it is CAPABILITY=NAME, publish=NAME or checkout=NAME", s.For, s.Name)
	case ofRepository && (r.Target != Kube || r.Tasks[0].Repo == ""):
		return fmt.Errorf("--secret %s=%s goes with --to kube and a repository", s.For, s.Name)
	}
	return nil
}

func (r *Request) checkTasks() error {
	size := len(r.text())
	if len(r.Tasks) == 0 || len(r.Tasks) > maxTasks {
		return fmt.Errorf("there are %d tasks; it can be 1 to %d", len(r.Tasks), maxTasks)
	}
	if r.Target == AgentSandbox && len(r.Tasks) > 1 {
		return fmt.Errorf("--to agent-sandbox takes one task: it is one pod")
	}
	for i, t := range r.Tasks {
		size += len(t.Prompt) + len(t.Repo) + 100
		if t.Repo == "" && t.Commit == "" {
			continue
		}
		if err := CheckRepo(t.Repo, t.Commit); err != nil {
			return fmt.Errorf("task %d: %w", i, err)
		}
		if r.Target != Kube {
			return fmt.Errorf("--to %s takes no repository: the pod that pushes is one of --to kube", r.Target)
		}
	}
	if size > maxText {
		return fmt.Errorf("the profile and the tasks are %d bytes; a ConfigMap holds %d", size, maxText)
	}
	return nil
}

// CheckRepo says what is wrong with a repository and the commit that a task begins at. A
// login in the address would stand in the exported text.
func CheckRepo(repo, commit string) error {
	u, err := url.Parse(repo)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "file" ||
		u.Scheme != "file" && u.Host == "":
		return fmt.Errorf("repository %q is not an https, http or file URL", repo)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("repository %q: a login, a query or a fragment does not belong into it; name a Secret with --secret publish=NAME",
			u.Redacted())
	case strings.ContainsFunc(repo, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return fmt.Errorf("repository %q has a blank or a control character in it", repo)
	case !commitID().MatchString(commit):
		return fmt.Errorf("commit %q is not a whole commit: 40 hexadecimal digits in lower case", commit)
	}
	return nil
}

// mounted reports whether a path is one that a volume can stand for.
func (r *Request) mounted(p string) bool {
	return p == "~" || slices.Contains(r.written("mounts"), p)
}

// objectName returns the name of the objects.
func (r *Request) objectName() string {
	if r.Name != "" {
		return r.Name
	}
	return strings.ToLower(strings.ReplaceAll(r.Profile.Name, "_", "-"))
}

// secret returns the name of the Secret for a capability, publish or checkout; "" for none.
func (r *Request) secret(what string) string {
	for _, s := range r.Secrets {
		if s.For == what {
			return s.Name
		}
	}
	return ""
}

// claim returns the claim of a mount's path, "" for none.
func (r *Request) claim(p string) string {
	for _, v := range r.Volumes {
		if v.Path == p {
			return v.Claim
		}
	}
	return ""
}

// text returns the profile as it travels.
func (r *Request) text() string {
	without := []string{
		"credentials", "sync_credentials", "sandbox.limits.memory", "sandbox.limits.cpu",
		"shim.commands", "shim.when", "verify.custom.checks",
	}
	doc := r.Profile.Source()
	if proc := doc.Value("sandbox.proc"); !proc.Set || proc.V == "auto" {
		proc.V, proc.Set = podProc, true
	}
	list := doc.Value("env.inherit")
	list.Items = slices.Clone(list.Items)
	for _, v := range r.variables() {
		if !slices.Contains(list.Texts(), v.Var) {
			list.Items, list.Set = append(list.Items, strict.Item{Text: v.Var}), true
		}
	}
	return listing.Plain(doc, append(without, "extends")...)
}

// podProc is what /proc is in the box of a pod. Engines cover parts of a container's, and the
// kernel lets nobody mount a fresh one there; in the container's own are inner's processes alone.
const podProc = "bind"

// Digest returns the sha256 of the profile as it travels, in lower-case hexadecimal digits.
func (r *Request) Digest() string {
	sum := sha256.Sum256([]byte(r.text()))
	return hex.EncodeToString(sum[:])
}

// inPod returns the place of a path of a profile in the container.
func inPod(p string) string {
	if p == "~" {
		return homeDir
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return path.Join(homeDir, rest)
	}
	return path.Clean(p)
}

// taskKeys are those of the file of --tasks.
func taskKeys() []strict.Key {
	return []strict.Key{{Name: "task", Kind: strict.Rows, Of: []strict.Key{
		{Name: "repo"},
		{Name: "commit"},
		{Name: "prompt"},
	}}}
}

// ReadTasks reads a file of tasks: one [[task]] for each run of the fleet, with the
// repository, the commit to begin at, and a prompt, which is the last argument of the program.
// Either all of them have a repository or none, and the same with the prompt.
func ReadTasks(path string, data []byte) ([]Task, error) {
	doc, problems := strict.Decode(path, data, taskKeys())
	if len(problems) > 0 {
		return nil, problems
	}
	refuse := func(format string, args ...any) error {
		return fault.Refuse(2, "", "--tasks %q: not a list of tasks: %s", path, fmt.Sprintf(format, args...))
	}
	var out []Task
	for _, row := range doc.Value("task").Items {
		commit, _ := row.Get("commit")
		prompt, _ := row.Get("prompt")
		repo, _ := row.Get("repo")
		out = append(out, Task{Repo: repo.Text, Commit: commit.Text, Prompt: prompt.Text})
	}
	if len(out) == 0 {
		return nil, refuse("there is no [[task]]")
	}
	for i, t := range out {
		if (t.Repo == "") != (out[0].Repo == "") || (t.Repo == "") != (t.Commit == "") {
			return nil, refuse("task %d: all tasks have repo and commit, or none has", i)
		}
		if (t.Prompt == "") != (out[0].Prompt == "") {
			return nil, refuse("task %d: all tasks have a prompt, or none has", i)
		}
	}
	return out, nil
}

// networks returns the ranges of private addresses that listed hosts may be in.
func (r *Request) networks() (out []string) {
	for _, text := range r.written("sandbox.network_allow") {
		if e, err := hosts.ParseAllow(text); err == nil && e.Range.IsValid() {
			out = append(out, e.String())
		}
	}
	return out
}

// addresses returns the private addresses that are named as such, each once.
func (r *Request) addresses() []netip.AddrPort {
	var out []netip.AddrPort
	seen := map[netip.AddrPort]bool{}
	add := func(addr netip.Addr, port uint16) {
		if a := netip.AddrPortFrom(addr, port); addr.IsPrivate() && !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	for _, text := range r.written("sandbox.network_allow") {
		e, err := hosts.Parse(text)
		if err != nil || !e.Addr.IsValid() {
			continue
		}
		for _, port := range e.Ports {
			add(e.Addr, port)
		}
	}
	for _, t := range r.Tasks {
		u, err := url.Parse(t.Repo)
		if err != nil {
			continue
		}
		addr, err := netip.ParseAddr(u.Hostname())
		if err != nil {
			continue
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		if n, err := strconv.ParseUint(port, 10, 16); err == nil {
			add(addr, uint16(n))
		}
	}
	return out
}
