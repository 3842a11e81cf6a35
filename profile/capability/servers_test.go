package capability

import "testing"

// TestServes: an address that settings write out is the agent's own service only by https, at its usual port and by
// its exact name.
func TestServes(t *testing.T) {
	c, _ := Find("codex")
	for address, want := range map[string]bool{
		"https://api.openai.com/v1":          true,
		"https://chatgpt.com":                true,
		"http://api.openai.com/v1":           false,
		"https://api.openai.com:8443/v1":     false,
		"https://api.openai.com@evil.test/":  false,
		"https://api.openai.com.evil.test/":  false,
		"https://api.openai.com?x@evil.test": false,
		"https://gw.example/api.openai.com":  false,
		"":                                   false,
	} {
		if c.Serves(address) != want {
			t.Errorf("%q: not %v", address, want)
		}
	}
}
