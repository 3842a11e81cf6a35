package gate

import (
	"strings"

	"github.com/enr/inner/internal/lazy"
)

// badRef is what git would not take as the name of a ref (git-check-ref-format(1)).
var badRef = lazy.Regexp(`[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^\.|/\.|//|\.$|\./|^-|/-|^@$`)

// GoodRef reports whether git takes a name as that of a ref.
func GoodRef(name string) bool {
	ref, is := strings.CutPrefix(name, "refs/")
	return is && ref != "" && !badRef().MatchString(ref) && !strings.HasSuffix(ref, ".lock") && !strings.Contains(ref, ".lock/")
}
