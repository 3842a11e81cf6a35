package config

import (
	"fmt"
	"strings"

	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/strict"
)

// groups reads [groups]: the hosts of a group, in the place of those it has by itself. As one of
// them the name of the group stands for these. A text is a list of words, as inner config set writes it.
//
//	[groups]
//	npm  = ["npm.corp.example"]
//	pypi = "@pypi pypi.corp.example:8443"
func groups(t strict.Value) map[string][]string {
	if !t.Set {
		return nil
	}
	out := map[string][]string{}
	for _, e := range t.Items {
		out[e.Key] = strings.Fields(e.Text)
	}
	return out
}

func checkGroups(t strict.Value, problems *strict.Problems) {
	members := groups(t)
	for _, e := range t.Items {
		key := strict.Join("groups", e.Key)
		if _, err := hosts.Parse("@" + e.Key); err != nil {
			problems.Judge(e.At, key, err)
			continue
		}
		for _, text := range members[e.Key] {
			host, err := hosts.Parse(text)
			if err == nil && host.Group != "" && host.Group != e.Key {
				err = fmt.Errorf("%q is another group: write its hosts", text)
			}
			problems.Judge(e.At, key, err)
		}
	}
}
