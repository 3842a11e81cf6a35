package fault

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind string
		code int
	}{
		{errors.New("x.toml:1: no such key"), KindProfile, 125},
		{fmt.Errorf("write x: %w", syscall.ENOSPC), KindNoSandbox, 125},
		{fmt.Errorf("mkdir x: %w", syscall.EROFS), KindNoSandbox, 125},
		{fmt.Errorf("call: %w", Refuse(2, "", "a call has either argv or line")), KindUsage, 2},
		{Refuse(125, "inner doctor", "bwrap is missing"), KindNoSandbox, 125},
		{&Refusal{Code: 126, Kind: KindWorkdir}, KindWorkdir, 126},
	} {
		if kind, code := KindOf(c.err), Code(c.err); kind != c.kind || code != c.code {
			t.Errorf("%v: %s %d, want %s %d", c.err, kind, code, c.kind, c.code)
		}
	}
}
