package profile

import (
	"strings"

	"github.com/enr/inner/hooks/quote"
)

// Words that a program in a box and the person outside are told alike: what a profile grants, line by
// line, what stands in a file that is hidden, and where what is missing can be typed.

// HiddenSays is how a file of a project begins that is hidden and says so.
const HiddenSays = "# hidden by inner"

// Outside says of a command, unless it is "", that a person can type it, and no program in a box.
func Outside(command string) string {
	if command == "" {
		return ""
	}
	return "outside type: " + command
}

// Asked are the grants that `inner allow` adds one of, as they are typed.
func Asked() []string {
	return []string{"host:NAME", "port:N", "file:PATH", "folder:PATH", "mcp:NAME", "credential:NAME"}
}

// Question is what a person types to be told about one thing of the box of the profile, a path or
// host:NAME; "" for a profile that was downloaded for one run, which nobody can ask about.
func (p *Profile) Question(about string) string { return p.typed("why", about) }

// Wider is what a person types to add grants to the profile, as host:NAME and port:N; "" likewise.
func (p *Profile) Wider(grants ...string) string { return p.typed("allow", grants...) }

func (p *Profile) typed(command string, words ...string) string {
	name := p.Name
	switch p.Scope {
	case Remote:
		return ""
	case Direct:
		name = p.Path
	}
	for _, w := range words {
		command += " " + quote.POSIX(w)
	}
	return "inner " + command + " -p " + quote.POSIX(name)
}

// Lines writes a line for each sort of grants, last what makes the box narrower.
func Lines(grants []Grant) (lines []string) {
	last := -1
	for _, g := range ordered(grants) {
		if g.Verb().Line != last {
			lines, last = append(lines, g.Text), g.Verb().Line
			continue
		}
		more := g.Text
		if rest, reads := strings.CutPrefix(more, "can read"); reads {
			more = strings.TrimLeft(rest, ": ")
		}
		lines[len(lines)-1] += "; " + more
	}
	return lines
}
