package plan

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
)

// program checks that what is to run can be seen.
func (b *builder) program() error {
	p := b.s.Program
	if b.f.Engine != nil { // whether it is in the image is found out there
		b.plan.Program, b.plan.Argv = p, b.s.Argv
		return nil
	}
	for _, at := range []string{b.linkFree(p), b.canon(p)} {
		l, hostPath := b.at(at)
		if !l.bound() || hostPath == "" {
			return fault.Refuse(127, fmt.Sprintf("home_allow = [%q] under [sandbox] shows it", filepath.Dir(at)),
				"profile %q: the program %q cannot be seen in the box", b.rc.Name, at)
		}
	}
	b.plan.Program = p
	b.plan.Argv = b.s.Argv
	return nil
}

// programFolders are what the program needs of the home: the folder it
// is found in, and the package it belongs to.
func (b *builder) programFolders() []string {
	if b.f.Engine != nil {
		return nil
	}
	var out []string
	add := func(p string) {
		if paths.Below(b.home, p) && p != b.home && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, p := range b.packageFolders(b.s.Program) {
		add(p)
	}
	return out
}

// packageOf is the node_modules folder a program lies in, or the program.
func packageOf(real string) string {
	if i := strings.Index(real, "/node_modules/"); i >= 0 {
		return real[:i] + "/node_modules"
	}
	return real
}
