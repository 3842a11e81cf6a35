package features

// environment is what the box has of the variables. The plan has it.
func environment() Feature {
	return Feature{Name: "environment", Keys: []string{"env"}, Holds: func(run *Run) []Held {
		return []Held{held("env", "%s pass or are set; no other one is in the sandbox", counted(len(run.Plan.Env), "variable", "variables"))}
	}}
}
