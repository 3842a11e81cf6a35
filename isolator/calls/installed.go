package calls

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/enr/inner/isolator/caller"
)

// pathFolders is what is known of the programs on PATH, until a folder of it changes. A link in
// one of them may lead elsewhere meanwhile: so it is looked again after a minute anyway.
type pathFolders struct {
	installed *caller.Installed
	stamps    []stamp
	looked    time.Time
}

const lookAgain = time.Minute

// installed is what calls remember together of the programs on PATH.
func (r *Runner) installed() *caller.Installed {
	var now []stamp
	at := time.Now()
	young := false
	for _, dir := range filepath.SplitList(r.caller.Getenv("PATH")) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			s := stampOf(real)
			now, young = append(now, s), young || at.Sub(time.Unix(s.c.Unix())) < tooYoung
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.path
	if p.installed == nil || young || at.Sub(p.looked) > lookAgain || !slices.Equal(now, p.stamps) {
		*p = pathFolders{installed: new(caller.Installed), stamps: now, looked: at}
	}
	return p.installed
}
