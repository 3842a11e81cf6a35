package profile

import "testing"

// A minimal base in the place of the host's asks nothing again; the way back does.
func TestDiffBase(t *testing.T) {
	host, minimal := []Grant{{Kind: "reads", Key: "host home"}}, []Grant{{Kind: "reads", Key: "minimal home"}}
	if wider, narrower := DiffGrants(host, minimal); len(wider) != 0 || len(narrower) != 2 {
		t.Errorf("host to minimal: wider %v, narrower %v", wider, narrower)
	}
	if wider, _ := DiffGrants(minimal, host); len(wider) != 1 {
		t.Errorf("minimal to host: wider %v", wider)
	}
}

// What can be reached now says that a list is no longer empty.
func TestDiffNoHost(t *testing.T) {
	none, some := []Grant{{Kind: "network", Key: noHost, Tightens: true}}, []Grant{{Kind: "network", Key: "allow"}}
	if wider, narrower := DiffGrants(none, some); len(wider) != 1 || wider[0].Key != "allow" || len(narrower) != 0 {
		t.Errorf("wider %v, narrower %v", wider, narrower)
	}
}

// Nor is it less when all is reached.
func TestDiffAllHosts(t *testing.T) {
	some, all := []Grant{{Kind: "network", Key: "allow"}, {Kind: "network", Key: "host_ports"}}, []Grant{{Kind: "network", Key: "full"}}
	if wider, narrower := DiffGrants(some, all); len(wider) != 1 || len(narrower) != 0 {
		t.Errorf("wider %v, narrower %v", wider, narrower)
	}
}

// Nothing more is reached without a network, whatever was an exception; and a time, or a limit that holds everywhere,
// counts as the other limits do.
func TestDiffLess(t *testing.T) {
	limit := func(key, id string) Grant {
		return Grant{Kind: "limit", Key: key, Tightens: true, Items: []Item{{ID: id}}}
	}
	for _, c := range [][2]Grant{
		{{Kind: "network", Key: "deny", Tightens: true}, {Kind: "network", Key: noNetwork, Tightens: true}},
		{limit("limits", "time 1h"), limit("limits", "time 1m40s")},
		{limit(limitsLoose, "pids 100"), limit("limits", "pids 100")},
		{{Kind: "writes", Key: MountRW, Items: []Item{{Path: "/a"}}}, {Kind: "copies", Key: mountSafeRW, Items: []Item{{Path: "/a"}}}},
	} {
		if wider, _ := DiffGrants(c[:1], c[1:]); len(wider) > 0 {
			t.Errorf("%v, then %v: wider %v", c[0], c[1], wider)
		}
		if wider, _ := DiffGrants(c[1:], c[:1]); len(wider) == 0 && c[1].Key != noNetwork { // what is reached says it
			t.Errorf("%v, then %v: nothing is wider", c[1], c[0])
		}
	}
}
