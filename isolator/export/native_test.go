package export

import (
	"strings"
	"testing"
)

// Only the container that makes the fence has a capability, and only it is root; out of the pod
// go the users of the containers beside the box alone.
func TestNativePod(t *testing.T) {
	text, err := Objects(full(t, Kube, Native))
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]int{
		"NET_ADMIN": 1, "runAsUser: 0": 1, "runAsNonRoot: false": 1, "hostPath": 0, "hostUsers": 0, "Localhost": 0, "privileged": 0,
		"automountServiceAccountToken: false": 1, "hostNetwork: false": 1, "- ALL": 5, "allowPrivilegeEscalation: false": 5, "readOnlyRootFilesystem: true": 5,
		"nft": 1, "@sha256:": 5, "sk-hidden": 0, // the name of the fence alone
	} {
		if got := strings.Count(string(text), word); got != want {
			t.Errorf("%q stands %d times in the objects, want %d", word, got, want)
		}
	}
	off, err := Objects(request(load(t, ""), Kube, Native))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(off), "egress\n") {
		t.Error("a profile without a network has a way out")
	}
}

// With a NetworkPolicy as the fence no container has a capability or is root, the boxes reach
// the one port of the way out, and the canary beside it is one that only their policy forbids.
func TestPolicyPods(t *testing.T) {
	r := full(t, Kube, Native)
	r.Fence, r.Tasks, r.Secrets = FencePolicy, []Task{{}}, r.Secrets[:1]
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	text, err := Objects(r)
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]int{
		"NET_ADMIN": 0, "runAsNonRoot: true": 2, "runAsNonRoot: false": 0, "kind: NetworkPolicy": 2, "inner\n        - fence": 0, "port: 61080": 3, "port: 61081": 2,
		"\"$(EGRESS_AGENT_SERVICE_HOST):61081\"": 1, "dnsPolicy: None": 1, "- ALL": 2, "automountServiceAccountToken: false": 2, "hostPath": 0,
	} {
		if got := strings.Count(string(text), word); got != want {
			t.Errorf("%q stands %d times in the objects, want %d", word, got, want)
		}
	}
	compare(t, "kube-policy.yaml", text)
}

func TestCheckNative(t *testing.T) {
	p := load(t, "")
	for _, c := range []struct {
		change func(*Request)
		want   string
	}{
		{func(*Request) {}, ""},
		{func(r *Request) { r.Canaries = []string{"10.0.0.5:5432"} }, ""},
		{func(r *Request) { r.Canaries = []string{"127.0.0.1:5432"} }, "beyond the pod"},
		{func(r *Request) { r.Canaries = []string{"db.example:5432"} }, "beyond the pod"},
		{func(r *Request) { r.Volumes = []Volume{{"~", "home"}} }, "goes with home"},
		{func(r *Request) { r.Fence = FenceNone }, "is not nft or policy"},
		{func(r *Request) {
			r.Fence, r.Tasks = FencePolicy, []Task{{Repo: "https://git.example/x", Commit: strings.Repeat("b", 40)}}
		}, "takes no repository"},
		{func(r *Request) { r.Form = Nested }, "go with --form native"},
		{func(r *Request) { r.Target, r.Image = Slurm, "" }, "goes with --to kube"},
	} {
		r := request(p, Kube, Native)
		c.change(r)
		err := r.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", r, err, c.want)
		}
	}
}

// What the entry refuses of any profile is what the export refuses for lack of mounts, and not
// for lack of a volume or a login, which it looks for itself.
func TestNotNative(t *testing.T) {
	for text, want := range map[string]string{
		"capabilities = [\"claude\"]\n[mounts]\n\"~/data\" = \"ro\"": "",
		"[sandbox]\nhide = [\".env\"]":                               "sandbox.hide",
		"[noop]\nblock = [\"apt\"]":                                  "noop.block",
		"[sandbox.limits]\npids = 100":                               "sandbox.limits.pids",
		"[mounts]\n\"~/data\" = \"safe-rw\"":                         "mounts",
	} {
		found := NotNative(load(t, text))
		if (len(found) > 0) != (want != "") || len(found) > 0 && found[0].Key != want {
			t.Errorf("%q: %v, want %q", text, found, want)
		}
	}
}
