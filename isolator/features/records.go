package features

// records is how long a run may last, and what is kept of it. The launcher and the record of the
// run see to it.
func records() Feature {
	return Feature{Name: "records", Keys: []string{"output"}, Holds: func(run *Run) (list []Held) {
		out := run.Spec.Output
		if out.Timeout > 0 {
			list = append(list, held("timeout", "%s, then SIGTERM, then the sandbox is killed", out.Timeout))
		}
		switch {
		case out.Audit:
			list = append(list, held("output", "one line in the audit log"))
		case out.Folder != "":
			list = append(list, held("output", "recorded in %s", run.Short(out.Folder)))
		}
		return list
	}}
}
