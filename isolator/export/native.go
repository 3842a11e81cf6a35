package export

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/enr/inner/profile"
)

// The native form: the container is the box, and inner box-entry makes it one (package native).
// Its network is fenced by rules of nftables that a container before it makes (inner fence), the
// one container that has a capability, and the way out is inner egress in a container beside it.

// Fence is what keeps the network from a native box.
type Fence string

// The fences. FenceNone is of the nested form, which needs none.
const (
	FenceNone   Fence = ""
	FenceRules  Fence = "nft"
	FencePolicy Fence = "policy" // a NetworkPolicy: see outside.go
)

// WorkDir is the volume of the working folder.
const WorkDir = "/work"

// NotNative returns what in a profile a box without mounts cannot enforce, wherever its volumes
// and logins come from.
func NotNative(p *profile.Profile) []Finding {
	r := &Request{Profile: p, Target: Kube, Form: Native, Tasks: []Task{{}}}
	for _, name := range profile.Capabilities() {
		r.Secrets = append(r.Secrets, Secret{name, "given"})
	}
	for _, path := range r.written("mounts").Values {
		r.Volumes = append(r.Volumes, Volume{path, "given"})
	}
	refused, _ := Judge(r)
	return refused
}

// checkFence looks at the flags of the native form.
func (r *Request) checkFence() error {
	if r.Form == Nested {
		if r.Fence != FenceNone || len(r.Canaries) > 0 {
			return fmt.Errorf("--fence and --canary go with --form native")
		}
		return nil
	}
	if !r.cluster() {
		return fmt.Errorf("--form native goes with --to kube and agent-sandbox")
	}
	switch {
	case r.Fence != FenceRules && r.Fence != FencePolicy:
		return fmt.Errorf("--fence %q is not nft or policy", r.Fence)
	case r.Fence == FencePolicy && r.Target != Kube:
		return fmt.Errorf("--fence policy goes with --to kube alone: its objects are those of one run")
	case r.Fence == FencePolicy && r.Tasks[0].Repo != "":
		return fmt.Errorf("--fence policy takes no repository: what fetches and pushes it would share the network of the box")
	}
	if r.claim("~") != "" && r.value("sandbox.home") != "own" {
		return fmt.Errorf("--volume ~ goes with home = \"own\" in the native form: no other home stays")
	}
	for _, c := range r.Canaries {
		if a, err := netip.ParseAddrPort(c); err != nil || a.Addr().IsLoopback() {
			return fmt.Errorf("--canary %q is not ADDRESS:PORT beyond the pod", c)
		}
	}
	return nil
}

// entry starts the box of a native pod.
func (r *Request) entry() list {
	c := words("inner", "box-entry", "--approved", "sha256:"+r.Digest(), "-p", profileDir+"/"+profileFile, "--fence", string(r.Fence))
	if r.Fence == FencePolicy {
		host := r.egressVariable()
		c = append(c, "--egress", host+":"+strconv.Itoa(profile.ProxyPort), "--canary", host+":"+strconv.Itoa(canaryPort))
	}
	for _, canary := range r.Canaries {
		c = append(c, "--canary", canary)
	}
	return c
}

// fence makes the rules of the pod's network, which are inner's own: no object has them. nft needs
// the one capability, and root.
func (r *Request) fence() fields {
	security := fields{
		{"allowPrivilegeEscalation", false},
		{"readOnlyRootFilesystem", true},
		{"capabilities", fields{{"drop", words("ALL")}, {"add", words("NET_ADMIN")}}},
		{"runAsNonRoot", false},
		{"runAsUser", 0},
		{"runAsGroup", 0},
	}
	return r.container("fence", words("inner", "fence"), list{variableOf("HOME", "/root")}, security, nil)
}

// hasEgress reports whether a pod has a way out beside its box.
func (r *Request) hasEgress() bool {
	return r.Fence == FenceRules && network(r.Profile) != profile.NetOff
}

// egress returns the container of the proxy of a box.
func (r *Request) egress(flags list, more ...field) fields {
	command := append(words("inner", "egress", "--approved", "sha256:"+r.Digest(), "-p", profileDir+"/"+profileFile), flags...)
	return r.container("egress", command, list{variableOf("HOME", "/tmp")}, low(UserEgress), list{r.file(profileFile, false), mount("egress-tmp", "/tmp")}, append(more, field{"workingDir", profileDir})...) // not in its home
}

// folders returns the empty folders in memory of a native box: the system's, and those of [mounts].
func (r *Request) folders() []string {
	out := []string{"/dev/shm"}
	for _, p := range r.written("mounts").Pairs {
		if p.Value == string(profile.Tmpfs) {
			out = append(out, inPod(p.Key))
		}
	}
	return out
}

// readOnly reports whether the box may only read a volume.
func (r *Request) readOnly(p string) bool {
	return slices.Contains(r.written("mounts").Pairs, profile.KV{Key: p, Value: string(profile.RO)})
}
