package native

import (
	"context"
	_ "embed"
	"os/exec"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/fault"
)

//go:embed fence.nft
var fenceRules string

// Enclose sets the rules of this network namespace with nft, which needs root and the capability
// NET_ADMIN: only these users can send packets, and only the answers to them come in.
func Enclose(ctx context.Context, users ...int) error {
	var texts []string
	for _, u := range users {
		texts = append(texts, strconv.Itoa(u))
	}
	cmd := exec.CommandContext(ctx, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(fenceRules, "@USERS@", strings.Join(texts, ", ")))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fault.Refuse(125, "nft has to be in the image, and the container has to have NET_ADMIN", "there is no fence: nft: %v: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
