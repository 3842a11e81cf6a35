package learn

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// TellDenied says which of the places that are hidden from the box were asked for.
func (o *Observer) TellDenied(run *features.Run, _ *features.Outcome) error {
	list, unseen := o.Accesses()
	asked := Suggest(list, SettingOf(run))
	hidden := asked.Hidden
	var parts []string
	for _, h := range hidden {
		more := ""
		if n := len(h.Paths); n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		parts = append(parts, fmt.Sprintf("%s%s (allow = [%q])", visible.Text(run.Short(h.Paths[0])), more, h.Key))
	}
	switch {
	case len(parts) > 0:
		run.Say("hidden, and asked for: %s", strings.Join(parts, ", "))
		run.Hint("allow = [...] under [sandbox] of the profile shows them; they are secrets, so allow only what the program needs")
		if ask := features.Question(run.Profile, hidden[0].Paths[0]); ask != "" {
			run.Hint("%s", ask)
		}
	case len(asked.HomeAllow) == 0:
		run.Say("the program asked for nothing that the table of resources hides")
	}
	if n := len(asked.HomeAllow); n > 0 {
		run.Say("not shown of your home, and asked for: %s", visible.Text(strings.Join(eachShort(run, asked.HomeAllow[:min(n, 8)]), ", ")))
		run.Hint("home_allow = [...] under [sandbox] of the profile shows them")
	}
	if unseen > 0 {
		run.Say("%d calls could not be inspected", unseen)
	}
	return nil
}

func eachShort(run *features.Run, list []string) (out []string) {
	for _, p := range list {
		out = append(out, run.Short(p))
	}
	return out
}

// SettingOf is what the box of a run was given.
func SettingOf(run *features.Run) Setting {
	rc := run.Spec
	granted := map[string]bool{rc.Workdir: rc.WorkdirMode == profile.RW}
	for _, m := range rc.Mounts {
		granted[m.Dest] = m.Mode != profile.RO
	}
	for _, p := range run.Assets.Places() {
		granted[p] = true
	}
	own := []string{run.InnerHome, filepath.Join(run.Home, ".inner"), run.StageBase(), "/run"}
	if h := run.Facts.Hide; h != nil {
		own = append(own, h.Paths...)
	}
	var masked []string
	for _, o := range run.Plan.Ops {
		if o.Key == "sandbox.home" && slices.Contains(run.Plan.Masked, o.Dest) {
			masked = append(masked, o.Dest)
		}
	}
	return Setting{
		Home: run.Home, Granted: granted, Own: own, Masked: masked,
		Secret: func(p string) string {
			key := plan.ResourceAt(p, rc, run.Facts)
			if slices.Contains(rc.Allow, key) {
				return ""
			}
			return key
		},
		Exists: func(p string) bool {
			_, err := os.Stat(p)
			return err == nil
		},
	}
}
