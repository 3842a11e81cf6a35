package export

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/profile"
)

// Labels and annotations of the objects.
const (
	labelBox   = "inner.dev/box"     // the name of the profile
	labelFleet = "inner.dev/fleet"   // of the objects
	labelRole  = "inner.dev/role"    // box
	noteHash   = "inner.dev/profile" // sha256:HEX of the profile
)

// Users of the containers. The box and the checkout share theirs: git refuses to work in a
// folder of another user.
const (
	userBox     = 1000
	userPublish = 65533
)

// startup is how long a pod may take besides the time limit of its run: to fetch the
// repository, and to hand over what came of it.
const startup = 10 * time.Minute

// Objects writes the objects. It refuses what Judge refuses.
func Objects(r *Request) ([]byte, error) {
	if refused, _ := Judge(r); len(refused) > 0 {
		return nil, refusal(r, len(refused))
	}
	switch r.Target {
	case Slurm:
		return slurm(r), nil
	case Podman:
		return documents(r.pods()), nil
	case AgentSandbox:
		return documents(r.sandboxes()), nil
	}
	return documents([]fields{r.configMap(r.data()), r.networkPolicy(), r.job()}), nil
}

func (r *Request) metadata() fields { return r.named(r.objectName()) }

func (r *Request) named(name string) fields {
	return fields{
		{"name", name},
		{"labels", r.labels()},
		{"annotations", fields{{noteHash, "sha256:" + r.Digest()}}},
	}
}

func (r *Request) labels() fields {
	return fields{
		{"app.kubernetes.io/managed-by", "inner"},
		{labelBox, labelValue(r.Profile.Name)},
		{labelFleet, r.objectName()},
	}
}

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// labelValue makes a value of a label of any name: what else a name may hold becomes a dash.
func labelValue(s string) string {
	out := []byte(s)
	for i, c := range out {
		if strings.IndexByte(alphanumeric, c) < 0 {
			out[i] = '-'
		}
	}
	return strings.Trim(string(out[:min(len(out), 63)]), "-")
}

// data returns the files for the pods: the profile, and the repository and prompt of each task.
func (r *Request) data() fields {
	data := fields{{profileFile, r.text()}}
	for i, t := range r.Tasks {
		if t.Repo != "" {
			data = append(data, field{repoFile + "-" + strconv.Itoa(i), t.Repo + " " + t.Commit + "\n"})
		}
		if t.Prompt != "" {
			data = append(data, field{promptFile + "-" + strconv.Itoa(i), t.Prompt})
		}
	}
	return data
}

// configMap has the data. Its digest is in the name: what a node has kept under a name is never
// other bytes, and objects with others do not go on with these.
func (r *Request) configMap(data fields) fields {
	return fields{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", r.named(r.configName(data))}, {"immutable", true}, {"data", data}}
}

func (r *Request) configName(data fields) string {
	sum := sha256.Sum256(documents([]fields{data}))
	return r.objectName() + "-" + hex.EncodeToString(sum[:5])
}

// job returns the fleet: a pod for each task, each with its index.
func (r *Request) job() fields {
	n := len(r.Tasks)
	return fields{
		{"apiVersion", "batch/v1"},
		{"kind", "Job"},
		{"metadata", r.metadata()},
		{"spec", fields{
			{"completions", n},
			{"parallelism", n},
			{"completionMode", "Indexed"},
			{"backoffLimitPerIndex", 1},
			{"maxFailedIndexes", n},
			// The box cannot be made here, or the profile is not the approved one. Another try
			// would say the same.
			{"podFailurePolicy", fields{{"rules", list{fields{
				{"action", "FailJob"},
				{"onExitCodes", fields{{"containerName", "box"}, {"operator", "In"}, {"values", list{125}}}},
			}}}}},
			{"template", fields{{"metadata", r.podMetadata()}, {"spec", r.podSpec()}}},
		}},
	}
}

func (r *Request) podMetadata() fields {
	return fields{
		{"labels", append(r.labels(), field{labelRole, "box"})},
		{"annotations", fields{{noteHash, "sha256:" + r.Digest()}}},
	}
}

// podSpec returns the pod of a run.
func (r *Request) podSpec() fields {
	spec := fields{
		{"restartPolicy", "Never"},
		{"terminationGracePeriodSeconds", 60},
		{"automountServiceAccountToken", false},
		{"enableServiceLinks", false},
		{"hostNetwork", false},
		{"hostPID", false},
		{"hostIPC", false},
		{"hostUsers", false}, // root in the box is nobody on the node
	}
	spec = append(spec, r.dns()...)
	if limit := r.timeout(); limit > 0 {
		spec = append(spec, field{"activeDeadlineSeconds", int((limit + startup) / time.Second)})
	}
	if len(r.Tasks) > 1 {
		spec = append(spec, field{"topologySpreadConstraints", list{fields{
			{"maxSkew", 1},
			{"topologyKey", "kubernetes.io/hostname"},
			{"whenUnsatisfiable", "DoNotSchedule"},
			{"nodeTaintsPolicy", "Honor"}, // a node that takes no pod is none to wait for
			{"labelSelector", fields{{"matchLabels", fields{{labelFleet, r.objectName()}, {labelRole, "box"}}}}},
		}}})
	}
	return append(spec,
		field{"securityContext", fields{
			{"runAsNonRoot", true},
			{"runAsUser", userBox},
			{"runAsGroup", userBox},
			{"fsGroup", userBox},
			{"seccompProfile", fields{{"type", "RuntimeDefault"}}},
		}},
		field{"initContainers", r.initContainers()},
		field{"containers", list{r.box()}},
		field{"volumes", r.volumes()},
	)
}

// dns returns the DNS settings of the pod. Where nothing in it reaches a host there is no server.
// Otherwise the proxy alone looks names up, with the servers of the node, so that names of the
// cluster are not resolved.
func (r *Request) dns() fields {
	if network(r.Profile) == profile.NetOff && r.Tasks[0].Repo == "" {
		return fields{{"dnsPolicy", "None"}, {"dnsConfig", fields{{"nameservers", words("127.0.0.1")}}}}
	}
	return fields{{"dnsPolicy", "Default"}}
}

// timeout is [output] timeout_seconds; zero is no limit.
func (r *Request) timeout() time.Duration {
	n, _ := strconv.Atoi(r.value("output.timeout_seconds"))
	return time.Duration(n) * time.Second
}

// value returns the value of a key of the profile, "" when it has none.
func (r *Request) value(key string) string { return strings.Join(r.written(key), "") }

// written returns the values of a key as the profile has it, of a table its keys.
func (r *Request) written(key string) (list []string) {
	for _, w := range r.Profile.Written() {
		for _, p := range w.Value.Parts() {
			if w.Name() == key {
				list = append(list, cmp.Or(p.Key, p.Text))
			}
		}
	}
	return list
}

// low returns the security context of every container of a pod: as few privileges as possible.
func low(user int, more ...field) fields {
	f := fields{
		{"allowPrivilegeEscalation", false},
		{"readOnlyRootFilesystem", true},
		{"capabilities", fields{{"drop", words("ALL")}}},
	}
	if user != userBox {
		f = append(f, field{"runAsUser", user}, field{"runAsGroup", user})
	}
	return append(f, more...)
}

func (r *Request) container(name string, command list, env list, security fields, mounts list, more ...field) fields {
	f := fields{{"name", name}, {"image", r.Image}, {"imagePullPolicy", "IfNotPresent"}}
	f = append(f, more...)
	f = append(f, field{"command", command})
	if len(env) > 0 {
		f = append(f, field{"env", env})
	}
	if f = append(f, field{"securityContext", security}); mounts != nil {
		f = append(f, field{"volumeMounts", mounts})
	}
	return f
}

// file mounts one file of the ConfigMap at its name without the number of the task, so that a
// container sees its own task alone. By subPath it is a file; in the volume itself it would be
// a link, which inner does not read a profile through.
func (r *Request) file(name string, ofTask bool) fields {
	f := mount("inner", profileDir+"/"+name)
	if ofTask {
		f = append(f, field{"subPathExpr", name + "-$(JOB_COMPLETION_INDEX)"})
	} else {
		f = append(f, field{"subPath", name})
	}
	return append(f, field{"readOnly", true})
}

// Files of the ConfigMap in a container.
const (
	profileFile = "profile.toml"
	promptFile  = "prompt"
	repoFile    = "repo"
)

func mount(name, at string, more ...field) fields {
	return append(fields{{"name", name}, {"mountPath", at}}, more...)
}

func variableOf(name, value string) fields { return fields{{"name", name}, {"value", value}} }

func fromSecret(name, secret, key string, optional bool) fields {
	ref := fields{{"name", secret}, {"key", key}}
	if optional {
		ref = append(ref, field{"optional", true})
	}
	return fields{{"name", name}, {"valueFrom", fields{{"secretKeyRef", ref}}}}
}

// box returns the container that the program runs in.
func (r *Request) box() fields {
	env := list{variableOf("HOME", homeDir)}
	for _, v := range r.variables() {
		env = append(env, fromSecret(v.Var, v.Name, v.Key, v.optional))
	}
	mounts := list{mount("inner", profileDir, field{"readOnly", true})} // podman
	if r.cluster() {
		mounts = list{r.file(profileFile, false)}
		if r.prompted() {
			mounts = append(mounts, r.file(promptFile, true))
		}
	}
	mounts = append(mounts, mount("work", "/work"), mount("home", homeDir), mount("tmp", "/tmp"))
	if r.Tasks[0].Repo != "" {
		mounts = append(mounts, mount("out", outDir))
	}
	for i, v := range r.Volumes {
		if v.Path == "~" {
			continue
		}
		mounts = append(mounts, mount("volume-"+strconv.Itoa(i), inPod(v.Path)))
	}
	more := fields{{"workingDir", r.workdir()}}
	security := low(userBox)
	if r.cluster() { // podman ignores it; its own filter lets boxes be made
		security = append(security, field{"seccompProfile", fields{{"type", "Localhost"}, {"localhostProfile", seccompFile}}})
	}
	if limits := r.limits(); limits != nil {
		more = append(more, field{"resources", fields{{"limits", limits}}})
	}
	return r.container("box", r.command(), env, security, mounts, more...)
}

// seccompFile is the place of the filter of system calls below the folder of the node's
// kubelet, /var/lib/kubelet/seccomp.
const seccompFile = "inner.json"

func (r *Request) workdir() string {
	if r.Tasks[0].Repo != "" {
		return sourceDir
	}
	return "/work"
}

// command starts the program. The box has no terminal.
func (r *Request) command() list {
	c := words("inner", "run", "--approved", "sha256:"+r.Digest(), "-p", profileDir+"/"+profileFile, "--no-interactive")
	if r.Tasks[0].Repo != "" {
		c = append(c, "--bundle", bundle)
	}
	if r.prompted() {
		c = append(c, "--args-file", profileDir+"/"+promptFile)
	}
	if len(r.Args) > 0 {
		c = append(c, "--")
		for _, arg := range r.Args {
			c = append(c, escaped(arg))
		}
	}
	return c
}

// prompted reports whether the tasks have a prompt each.
func (r *Request) prompted() bool { return r.Tasks[0].Prompt != "" }

// escaped keeps an engine from reading $(NAME) in an argument.
func escaped(arg string) string { return strings.ReplaceAll(arg, "$", "$$") }

// limits returns the limits of the container, nil for none.
func (r *Request) limits() any {
	var f fields
	if n, ok := profile.Bytes(r.value("sandbox.limits.memory")); ok {
		f = append(f, field{"memory", strconv.FormatUint(n, 10)})
	}
	if n, ok := profile.Processors(r.value("sandbox.limits.cpu")); ok {
		f = append(f, field{"cpu", fmt.Sprintf("%dm", n)})
	}
	if f == nil {
		return nil
	}
	return f
}

// volumes returns the folders of the pod. Each that it writes has a size.
func (r *Request) volumes() list {
	disk := "256Mi"
	if n, ok := profile.Bytes(r.value("sandbox.limits.disk")); ok {
		disk = strconv.FormatUint(n, 10)
	}
	memory := func(name, size string) fields {
		return fields{{"name", name}, {"emptyDir", fields{{"medium", "Memory"}, {"sizeLimit", size}}}}
	}
	disked := func(name, size string) fields {
		return fields{{"name", name}, {"emptyDir", fields{{"sizeLimit", size}}}}
	}
	home := disked("home", "4Gi")
	if claim := r.claim("~"); claim != "" {
		home = claimed("home", claim)
	}
	out := list{
		fields{{"name", "inner"}, {"configMap", fields{{"name", r.configName(r.data())}}}},
		disked("work", "8Gi"),
		home,
		memory("tmp", disk),
	}
	if r.Tasks[0].Repo != "" {
		out = append(out, disked("out", "1Gi"), memory("checkout-tmp", "64Mi"), disked("publish-tmp", "8Gi"))
	}
	return append(out, r.claims()...)
}

// claims returns the volumes that stand for mounts of the profile.
func (r *Request) claims() list {
	var out list
	for i, v := range r.Volumes {
		if v.Path != "~" {
			out = append(out, claimed("volume-"+strconv.Itoa(i), v.Claim))
		}
	}
	return out
}

func claimed(name, claim string) fields {
	return fields{{"name", name}, {"persistentVolumeClaim", fields{{"claimName", claim}}}}
}

// initContainers come before the box: the one that fetches the repository, and the one that pushes what
// comes of the run, which stays until the box has ended. A pod without a repository has none.
func (r *Request) initContainers() any {
	if r.Tasks[0].Repo == "" {
		return nil
	}
	return list{r.checkout(), r.publish()}
}

// gitEnv returns the variables of a container that uses git.
func (r *Request) gitEnv(what string) list {
	env := list{variableOf("HOME", "/tmp")}
	if name := r.secret(what); name != "" {
		env = append(env, fromSecret("INNER_GIT_TOKEN", name, "token", false))
	}
	return env
}

func (r *Request) checkout() fields {
	return r.container("checkout", words("inner", "checkout", "--task", profileDir+"/"+repoFile, sourceDir), r.gitEnv(forCheckout), low(userBox),
		list{r.file(repoFile, true), mount("work", "/work"), mount("checkout-tmp", "/tmp")})
}

func (r *Request) publish() fields {
	ref := path.Join("refs/heads/inner", r.objectName(), "$(JOB_COMPLETION_INDEX)")
	// The Job, by what names it alone: a pod of another one does not replace a branch of this one's.
	run := fields{{"name", "INNER_RUN"}, {"valueFrom", fields{{"fieldRef", fields{{"fieldPath", "metadata.labels['batch.kubernetes.io/controller-uid']"}}}}}}
	command := words("inner", "publish", "--wait", "--task", profileDir+"/"+repoFile, "--ref", ref, "--run", "$(INNER_RUN)", bundle)
	return r.container("publish", command, append(r.gitEnv(forPublish), run), low(userPublish),
		list{r.file(repoFile, true), mount("out", outDir, field{"readOnly", true}), mount("publish-tmp", "/tmp")}, field{"restartPolicy", "Always"})
}
