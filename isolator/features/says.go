package features

// What an agent is told of its box, where it reads its user's instructions: in the words of the grants, and of
// what refuses something in the box.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// says is what a box says of itself to its agents. What the profile hides by name is not in it: a role need not
// know what it is kept from.
func says(run *Run) string {
	lines := []string{
		"# Your sandbox",
		fmt.Sprintf("You work in a sandbox of inner, with the profile %q. What runs in it, as your user was told (\"you\" is the user):", run.Spec.Name),
	}
	grants := slices.DeleteFunc(profile.Grants(run.Spec), func(g profile.Grant) bool {
		group := g.Verb().Group
		return group == "" || group == "settings" || group == "variables" || g.Kind == "hides" ||
			g.Key == "env.inherit" || g.Key == "git"
	})
	for _, line := range profile.Lines(grants) {
		lines = append(lines, "- "+strings.ReplaceAll(line, " @", ` \@`)) // @NAME is a file to read, to Gemini CLI and Claude Code
	}
	lines = append(
		lines,
		fmt.Sprintf("Secrets are hidden. A file that is empty, or says %q, is one: do not fill, replace or remove it.", profile.HiddenSays),
		"Files that tools outside obey (.envrc, .vscode/, hooks of git and their kind) cannot be changed, or are moved aside at the end.",
	)
	if run.Spec.Network != profile.NetFull {
		lines = append(lines, "Your user reaches a server that you start only at a port that is published: "+
			"`publish = [\"3000\"]` under [sandbox] of the profile, from the next start on.")
	}
	asked := profile.Asked()
	if wider := run.Profile.Wider(asked[0]); wider != "" {
		wider = profile.Outside("`" + wider + "`, or with " + strings.Join(asked[1:], ", "))
		lines = append(lines, "What is refused or missing, your user alone can add: a host, a port or a folder to be read is there at once, the rest from the next start on. Say what to do: "+wider)
	}
	if run.Spec.Network == profile.NetAsk {
		lines = append(lines, "`inner ask FOLDER` asks your user to let you read a folder, where inner is on PATH.")
	}
	return capability.Says(lines)
}
