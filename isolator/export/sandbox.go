package export

// The objects of agent-sandbox (agents.x-k8s.io, v1beta1) are for boxes that live long. A
// Sandbox is one pod. With a pool there are a template, pods that are kept ready, in which the
// program has begun, and one claim, which takes a pod out of the pool. The pod is that of a Job,
// with the annotation that is admitted by.

// sandboxes returns a Sandbox, or the objects of a pool.
func (r *Request) sandboxes() []fields {
	pod := field{"podTemplate", fields{{"metadata", r.podMetadata()}, {"spec", r.podSpec()}}}
	object := func(group, kind, name string, spec fields) fields {
		meta := r.metadata()
		meta[0].value = name
		return fields{{"apiVersion", group + "/v1beta1"}, {"kind", kind}, {"metadata", meta}, {"spec", spec}}
	}
	const core, extensions = "agents.x-k8s.io", "extensions.agents.x-k8s.io"
	name := r.objectName()
	out := []fields{r.configMap(r.data()), r.networkPolicy()}
	if r.Pool == 0 {
		return append(out, object(core, "Sandbox", name, fields{{"operatingMode", "Running"}, pod}))
	}
	return append(
		out,
		object(extensions, "SandboxTemplate", name, fields{
			{"networkPolicyManagement", "Managed"}, // by the labels of its controller, besides the one above
			{"networkPolicy", fields{{"ingress", list{}}, {"egress", r.world()}}},
			{"envVarsInjectionPolicy", "Disallowed"}, // a claim adds no variable to the box
			pod,
		}),
		object(extensions, "SandboxWarmPool", name, fields{{"replicas", r.Pool}, {"sandboxTemplateRef", fields{{"name", name}}}}),
		object(extensions, "SandboxClaim", name+"-0", fields{
			{"warmPoolRef", fields{{"name", name}}},
			{"lifecycle", fields{{"ttlSecondsAfterFinished", 600}, {"shutdownPolicy", "Retain"}}},
		}),
	)
}
