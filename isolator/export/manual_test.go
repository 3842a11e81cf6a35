package export

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var updateManual = flag.Bool("update-manual", false, "write the table of docs/fleet.md")

const (
	manual = "../../docs/fleet.md"
	marker = "| key | Kubernetes and agent-sandbox | podman |\n|---|---|---|\n"
)

// TestManual compares the table of docs/fleet.md with the one that the export goes by.
func TestManual(t *testing.T) {
	var b strings.Builder
	for _, row := range Table() {
		pod := cell(row.cases(Kube))
		b.WriteString("| `" + row.Key + "` | " + pod)
		podman := cell(row.cases(Podman))
		if podman == pod && pod != "exact" {
			podman = "as Kubernetes"
		}
		b.WriteString(" | " + podman + " |\n")
	}
	data, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), marker)
	if !ok {
		t.Fatal("docs/fleet.md has no table of keys")
	}
	table, after, _ := strings.Cut(rest, "\n\n")
	if *updateManual {
		if err := os.WriteFile(manual, []byte(before+marker+b.String()+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table+"\n" != b.String() {
		t.Error("the table of docs/fleet.md is not the one that the export goes by: go test ./isolator/export -run TestManual -update-manual")
	}
}

func cell(cases []Case) string {
	if len(cases) == 0 {
		return "exact"
	}
	var words []string
	for _, c := range cases {
		w := string(c.Verdict) + ": " + c.Words
		if c.When != "" {
			w = c.When + " " + w
		}
		words = append(words, strings.ReplaceAll(w, "|", "\\|"))
	}
	return strings.Join(words, "; ")
}
