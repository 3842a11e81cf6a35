package host

// Engine is a program that makes boxes as containers. Package container finds it.
type Engine struct {
	Name  string   `json:"name"`            // "podman" or "docker"
	Path  string   `json:"path"`            // absolute
	Env   []string `json:"-"`               // its whole environment, KEY=VALUE
	Holds []string `json:"holds,omitempty"` // the limits it holds: "memory", "cpu", "pids"
	Why   string   `json:"why,omitempty"`   // why it holds no others

	// Users says that a container has users of its own, so that processes are counted for
	// each of them (RLIMIT_NPROC).
	Users bool `json:"users,omitempty"`
}
