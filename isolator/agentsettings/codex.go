package agentsettings

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/enr/inner/profile/strict"
)

// Trusted reports whether Codex runs the hook that Read has found in file, its hooks.json:
// it skips those that the person has not trusted. Its config.toml keeps a digest of each
// trusted hook, by its place in the file.
func Trusted(config []byte, file string, s State) bool {
	const hooks = `"hooks":[{"async":false,"command":%s,"timeout":600,"type":"command"}]`
	sum := sha256.Sum256(fmt.Appendf(nil, `{"event_name":"pre_tool_use",`+hooks+`,"matcher":".*"}`, text(s.Hook)))
	trusted := false
	_, err := strict.Rewrite(config, func(doc map[string]any) {
		at := func(from map[string]any, key string) map[string]any {
			m, _ := from[key].(map[string]any) // a nil one has nothing
			return m
		}
		features, state := at(doc, "features"), at(at(at(doc, "hooks"), "state"), file+":pre_tool_use:"+s.At)
		trusted = features["hooks"] != false && features["codex_hooks"] != false && state["enabled"] != false &&
			state["trusted_hash"] == "sha256:"+hex.EncodeToString(sum[:])
	})
	return err == nil && trusted
}
