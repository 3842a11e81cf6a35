package gate

import (
	"errors"
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

// PackedRef is a line of packed-refs, with the line after it that says what a tag is of.
var PackedRef = lazy.Regexp(`([0-9a-f]{40}) (refs/.+)\n(\^[0-9a-f]{40}\n)?`)

// Packed returns these lines of a text by the name of the ref, and an error where it has others.
func Packed(text string) (refs map[string]string, err error) {
	refs = map[string]string{}
	if strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	read := 0
	for _, m := range PackedRef().FindAllStringSubmatch(text, -1) {
		refs[m[2]], read = m[0], read+len(m[0])
	}
	if read < len(text) {
		err = errors.New("packed-refs is not what git writes")
	}
	return refs, err
}
