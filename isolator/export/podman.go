package export

import "strconv"

// What podman kube play does with an object it does not know, or a field: nothing, and it says
// nothing. So a pod for podman has only what was seen to be done, and what a profile asks for
// besides is held by inner itself in the container, or refused (Table): the filter of system
// calls, the sizes of what is kept in memory, the time limit.

// pods returns a ConfigMap and a pod for each task. podman mounts a ConfigMap as a folder, and all of
// it: each task has its own.
func (r *Request) pods() []fields {
	var out []fields
	known := map[string]bool{}
	for i, t := range r.Tasks {
		one := *r
		one.Tasks = []Task{t}
		data := fields{{profileFile, r.text()}}
		if t.Prompt != "" {
			data = append(data, field{promptFile, t.Prompt})
		}
		config := one.configName(data)
		if !known[config] { // tasks can be the same
			known[config] = true
			out = append(out, one.configMap(data))
		}
		name := r.objectName()
		if len(r.Tasks) > 1 {
			name += "-" + strconv.Itoa(i)
		}
		meta := fields{{"name", name}, {"labels", append(r.labels(), field{labelRole, "box"})}} // podman takes no annotation as long as a digest
		out = append(out, fields{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", meta}, {"spec", one.podmanSpec(config)}})
	}
	return out
}

// podmanSpec returns the pod of one task.
func (r *Request) podmanSpec(config string) fields {
	return fields{
		{"restartPolicy", "Never"},
		{"automountServiceAccountToken", false},
		{"hostNetwork", false},
		{"hostPID", false},
		{"hostIPC", false},
		{"securityContext", fields{{"runAsUser", userBox}, {"runAsGroup", userBox}}},
		{"containers", list{r.box()}},
		{"volumes", r.podmanVolumes(config)},
	}
}

func (r *Request) podmanVolumes(config string) list {
	out := list{fields{{"name", "inner"}, {"configMap", fields{{"name", config}}}}}
	for _, name := range []string{"work", "home", "tmp"} {
		if name == "home" && r.claim("~") != "" {
			out = append(out, claimed(name, r.claim("~")))
			continue
		}
		out = append(out, fields{{"name", name}, {"emptyDir", fields{}}})
	}
	return append(out, r.claims()...)
}
