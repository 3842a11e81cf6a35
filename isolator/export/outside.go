package export

import (
	"strconv"
	"strings"

	"github.com/enr/inner/profile"
)

// A NetworkPolicy is about a whole pod. So with --fence policy the way out is a pod of its own,
// with a Service, and the pods of the boxes reach that one port and nothing else. Beside the way
// out, of the same process, is the canary: a port that the policy of the boxes forbids, and that
// of the way out does not. A box that reaches it does not start.

// canaryPort is the port of the canary.
const canaryPort = profile.ProxyPort + 1

func (r *Request) egressName() string { return "egress-" + r.objectName() }

// egressVariable returns the address of the proxy for the arguments of a container: a pod has
// variables for the Services that existed before it.
func (r *Request) egressVariable() string {
	return "$(" + strings.ToUpper(strings.ReplaceAll(r.egressName(), "-", "_")) + "_SERVICE_HOST)"
}

// outside returns the objects around the pods of the boxes.
func (r *Request) outside() []fields {
	boxes, way := r.role("box"), r.role("egress")
	proxy, canary := port(profile.ProxyPort), port(canaryPort)
	return []fields{
		r.policy(r.objectName(), boxes, list{}, list{fields{{"to", list{fields{{"podSelector", way}}}}, {"ports", list{proxy}}}}),
		r.policy(r.egressName(), way, list{fields{{"from", list{fields{{"podSelector", boxes}}}}, {"ports", list{proxy, canary}}}}, r.world()),
		{
			{"apiVersion", "v1"},
			{"kind", "Service"},
			{"metadata", r.named(r.egressName())},
			{"spec", fields{{"selector", fields{{labelFleet, r.objectName()}, {labelRole, "egress"}}}, {"ports", list{
				append(fields{{"name", "proxy"}}, proxy...), append(fields{{"name", "canary"}}, canary...),
			}}}},
		},
		r.egressPod(),
	}
}

func port(n int) fields { return fields{{"protocol", "TCP"}, {"port", n}} }

// role selects the pods of this export that are one thing.
func (r *Request) role(of string) fields {
	return fields{{"matchLabels", fields{{labelFleet, r.objectName()}, {labelRole, of}}}}
}

// egressPod returns the pod with the proxy of all boxes. It is deleted by kubectl delete, not with
// the Job.
func (r *Request) egressPod() fields {
	meta := fields{
		{"name", r.egressName()},
		{"labels", append(r.labels(), field{labelRole, "egress"})},
		{"annotations", fields{{noteHash, "sha256:" + r.Digest()}}},
	}
	container := r.egress(words("--listen", ":"+strconv.Itoa(profile.ProxyPort), "--canary", ":"+strconv.Itoa(canaryPort)))
	return fields{
		{"apiVersion", "v1"},
		{"kind", "Pod"},
		{"metadata", meta},
		{"spec", fields{
			{"automountServiceAccountToken", false},
			{"enableServiceLinks", false},
			{"hostNetwork", false},
			{"hostPID", false},
			{"hostIPC", false},
			{"dnsPolicy", "Default"},
			{"securityContext", fields{{"runAsNonRoot", true}, {"fsGroup", UserEgress}, {"seccompProfile", fields{{"type", "RuntimeDefault"}}}}},
			{"containers", list{container}},
			{"volumes", list{
				fields{{"name", "inner"}, {"configMap", fields{{"name", r.configName(r.data())}}}},
				fields{{"name", "egress-tmp"}, {"emptyDir", fields{{"medium", "Memory"}, {"sizeLimit", "64Mi"}}}},
			}},
		}},
	}
}
