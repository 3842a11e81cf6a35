package main

import (
	"os"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/limits"
)

// limitFindings says what holds which limit of [sandbox.limits] here.
func limitFindings() []finding {
	h := host.ProbeLimits(os.Getuid(), map[string]string{"XDG_RUNTIME_DIR": os.Getenv("XDG_RUNTIME_DIR"), "PATH": os.Getenv("PATH")})
	var list []finding
	plan, missing := limits.Choose(limits.Values{Memory: 1 << 40, CPU: 1000, Pids: 1000}, h)
	for _, held := range plan.Held {
		list = append(list, ok("limits", "%s: held by %s", held.Key, features.EngineText(held, plan)))
	}
	for i, m := range missing {
		if i+1 < len(missing) && missing[i+1].Why == m.Why {
			missing[i+1].Key = m.Key + ", " + missing[i+1].Key // one reason for both
			continue
		}
		// Nobody has asked for it yet: whoever does is told in the same words.
		list = append(list, absent("limits", "", "%s: a profile that asks for it does not start: %s", m.Key, m.Why))
	}
	return append(list, ok("limits", "files and file_size: held by resource limits of the program (setrlimit); disk: by the size of each tmpfs, and of the box's git directories and home by a look at them"))
}
