package plan

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/fault"
)

// program checks that what is to run can be seen.
func (b *builder) program() error {
	p := b.s.Program
	b.plan.Program, b.plan.Argv = p, b.s.Argv
	if b.f.Engine != nil { // whether it is in the image is found out there
		return nil
	}
	for _, at := range []string{b.linkFree(p), b.canon(p)} {
		l, hostPath := b.at(at)
		if !l.bound() || hostPath == "" {
			return fault.Refuse(127, fmt.Sprintf("home_allow = [%q] under [sandbox] shows it", filepath.Dir(at)),
				"profile %q: the program %q cannot be seen in the box", b.rc.Name, at)
		}
	}
	return nil
}

// packageOf is the node_modules folder a program lies in, or the program.
func packageOf(real string) string {
	if i := strings.Index(real, "/node_modules/"); i >= 0 {
		return real[:i] + "/node_modules"
	}
	return real
}
