package export

import (
	"fmt"
	"path"
	"strconv"
	"time"

	"github.com/enr/inner/profile"
)

// Labels and annotations of the objects.
const (
	labelBox   = "inner.dev/box"     // the name of the profile
	labelFleet = "inner.dev/fleet"   // of the objects
	labelRole  = "inner.dev/role"    // box or egress
	noteHash   = "inner.dev/profile" // sha256:HEX of the profile
)

// Users of the containers. The box and the checkout share theirs: git refuses to work in a
// folder of another user.
const (
	userBox     = 1000
	userEgress  = 65532
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
	if r.Target == Slurm {
		return slurm(r), nil
	}
	return documents([]fields{r.configMap(), r.networkPolicy(), r.job()}), nil
}

func (r *Request) metadata() fields {
	return fields{
		{"name", r.objectName()},
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

// labelValue makes a value of a label of any name: what else a name may hold becomes a dash.
func labelValue(s string) string {
	out := []byte(s)
	for i, c := range out {
		if !letter(c) && (c < '0' || c > '9') {
			out[i] = '-'
		}
	}
	if len(out) > 63 {
		out = out[:63]
	}
	for len(out) > 0 && out[0] == '-' {
		out = out[1:]
	}
	for len(out) > 0 && out[len(out)-1] == '-' {
		out = out[:len(out)-1]
	}
	return string(out)
}

// configMap is the profile and what the tasks are, a file each.
func (r *Request) configMap() fields {
	data := fields{{profileFile, r.text()}}
	for i, t := range r.Tasks {
		if t.Repo != "" {
			data = append(data, field{repoFile + "-" + strconv.Itoa(i), t.Repo + " " + t.Commit + "\n"})
		}
		if t.Prompt != "" {
			data = append(data, field{promptFile + "-" + strconv.Itoa(i), t.Prompt})
		}
	}
	return fields{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", r.metadata()}, {"immutable", true}, {"data", data}}
}

// job is the fleet: a pod for each task, each with its index.
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
			// 125 and 126 are said by inner alone: the box cannot be made here, or is not the
			// approved one. Another try would say the same.
			{"podFailurePolicy", fields{{"rules", list{fields{
				{"action", "FailJob"},
				{"onExitCodes", fields{{"containerName", "box"}, {"operator", "In"}, {"values", list{125, 126}}}},
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

// podSpec is the pod of a run. What is said of the node is the same for every form.
func (r *Request) podSpec() fields {
	spec := fields{
		{"restartPolicy", "Never"},
		{"terminationGracePeriodSeconds", 60},
		{"automountServiceAccountToken", false},
		{"enableServiceLinks", false},
		{"hostNetwork", false},
		{"hostPID", false},
		{"hostIPC", false},
	}
	spec = append(spec, field{"hostUsers", false}) // root in the box is nobody on the node
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

// dns is how names are looked up in the pod: by nobody, where nothing in it reaches a host.
// Otherwise by the proxy alone, with what the node uses, so that names of the cluster are none.
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

// value is the value of a key of the profile, "" when it has none.
func (r *Request) value(key string) string {
	for _, w := range r.Profile.Written() {
		if w.Key == key {
			return w.Value()
		}
	}
	return ""
}

// values are the items of a key of the profile.
func (r *Request) values(key string) []string {
	for _, w := range r.Profile.Written() {
		if w.Key == key {
			return w.Values
		}
	}
	return nil
}

// low is what every container of a pod has and does not have.
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
	return append(f, field{"securityContext", security}, field{"volumeMounts", mounts})
}

// file mounts one file of the ConfigMap at its name without the number of the task, so that a
// container sees its own task alone. By subPath it is a file; in the volume itself it would be
// a link, which inner does not read a profile through.
func (r *Request) file(name string, ofTask bool) fields {
	f := mount("inner", profileDir+"/"+name)
	switch {
	case !ofTask:
		f = append(f, field{"subPath", name})
	case r.Target == Kube:
		f = append(f, field{"subPathExpr", name + "-$(JOB_COMPLETION_INDEX)"})
	default:
		f = append(f, field{"subPath", name + "-0"})
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

// box is the container that the program runs in.
func (r *Request) box() fields {
	env := list{variableOf("HOME", homeDir)}
	for _, v := range r.variables() {
		env = append(env, fromSecret(v.Var, v.Name, v.Key, v.optional))
	}
	mounts := list{r.file(profileFile, false)}
	if r.prompted() {
		mounts = append(mounts, r.file(promptFile, true))
	}
	mounts = append(mounts, mount("work", "/work"), mount("home", homeDir), mount("tmp", "/tmp"))
	if r.Tasks[0].Repo != "" {
		mounts = append(mounts, mount("out", outDir))
	}
	for i, v := range r.Volumes {
		if v.Path != "~" {
			mounts = append(mounts, mount("volume-"+strconv.Itoa(i), inPod(v.Path)))
		}
	}
	more := fields{{"workingDir", r.workdir()}}
	security := low(userBox)
	security = append(security, field{"seccompProfile", fields{{"type", "Localhost"}, {"localhostProfile", seccompFile}}})
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
func escaped(arg string) string {
	var b []byte
	for i := range len(arg) {
		if b = append(b, arg[i]); arg[i] == '$' {
			b = append(b, '$')
		}
	}
	return string(b)
}

// limits are those of the container, nil for none.
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

// volumes are the folders of the pod. Each that it writes has a size.
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
	claimed := func(name, claim string) fields {
		return fields{{"name", name}, {"persistentVolumeClaim", fields{{"claimName", claim}}}}
	}
	home := disked("home", "4Gi")
	if claim := r.claim("~"); claim != "" {
		home = claimed("home", claim)
	}
	out := list{
		fields{{"name", "inner"}, {"configMap", fields{{"name", r.objectName()}}}},
		disked("work", "8Gi"),
		home,
		memory("tmp", disk),
	}
	if r.Tasks[0].Repo != "" {
		out = append(out, disked("out", "1Gi"), memory("checkout-tmp", "64Mi"), disked("publish-tmp", "8Gi"))
	}
	for i, v := range r.Volumes {
		if v.Path != "~" {
			out = append(out, claimed("volume-"+strconv.Itoa(i), v.Claim))
		}
	}
	return out
}

// initContainers come before the box: the one that fetches the repository, and the one that
// pushes what comes of the run, which stays until the box has ended. A pod without them has
// none.
func (r *Request) initContainers() any {
	if r.Tasks[0].Repo == "" {
		return nil
	}
	token := func(what string) list {
		env := list{variableOf("HOME", "/tmp")}
		if name := r.secret(what); name != "" {
			env = append(env, fromSecret("INNER_GIT_TOKEN", name, "token", false))
		}
		return env
	}
	task, from := r.file(repoFile, true), profileDir+"/"+repoFile
	checkout := r.container("checkout", words("inner", "checkout", "--task", from, sourceDir), token(forCheckout), low(userBox),
		list{task, mount("work", "/work"), mount("checkout-tmp", "/tmp")})
	ref := path.Join("refs/heads/inner", r.objectName(), "$(JOB_COMPLETION_INDEX)")
	publish := r.container("publish", words("inner", "publish", "--wait", "--task", from, "--ref", ref, bundle), token(forPublish), low(userPublish),
		list{task, mount("out", outDir, field{"readOnly", true}), mount("publish-tmp", "/tmp")}, field{"restartPolicy", "Always"})
	return list{checkout, publish}
}
