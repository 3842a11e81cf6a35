package export

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The policy for clusters knows each container of the pods that are exported, by its name and by
// how its command begins. Whether a cluster admits them is seen in make fleet.
func TestAdmission(t *testing.T) {
	data, err := os.ReadFile("../../contrib/fleet/admission.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "- name: commands")
	text, _, _ = strings.Cut(text, "validations:")
	known := map[string][][]string{}
	for _, row := range regexp.MustCompile(`'([a-z]+)': \[(\[.*\])\]`).FindAllStringSubmatch(text, -1) {
		for _, begin := range strings.Split(row[2], "], [") {
			known[row[1]] = append(known[row[1]], strings.Split(strings.NewReplacer("[", "", "]", "", "'", "", "variables.digest", "DIGEST").Replace(begin), ", "))
		}
	}
	if len(known) != 3 {
		t.Fatalf("the policy has the commands %v", known)
	}
	container := regexp.MustCompile(`(?m)^ *- name: ([a-z]+)\n +image: (?:.*\n)*? +command:\n((?: +- .*\n)+)`)
	for _, file := range []string{"kube.yaml", "agent-sandbox.yaml"} {
		objects, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := container.FindAllStringSubmatch(string(objects), -1)
		if len(found) == 0 {
			t.Errorf("%s: no containers", file)
		}
		for _, c := range found {
			var words []string
			for line := range strings.Lines(c[2]) {
				words = append(words, strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "- "), `"`))
			}
			for i, w := range words {
				if strings.HasPrefix(w, "sha256:") {
					words[i] = "DIGEST"
				}
			}
			if !slices.ContainsFunc(known[c[1]], func(begin []string) bool {
				return len(words) >= len(begin) && slices.Equal(begin, words[:len(begin)])
			}) {
				t.Errorf("%s: the policy does not admit the container %s with the command %q", file, c[1], words)
			}
		}
	}
}
