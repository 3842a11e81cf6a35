package host

import "github.com/enr/inner/isolator/limits"

// ProbeLimits looks for what can hold a run of this user to limits; env is the
// environment of the call.
func ProbeLimits(uid int, env map[string]string) limits.Host {
	return limits.Probe(limits.Request{
		UID: uid, Runtime: env["XDG_RUNTIME_DIR"],
		Find: func(name string) (path, why string) { return FindHelper(name, env["PATH"]) },
	})
}
