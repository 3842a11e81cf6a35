package shims

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linkText is what every shim is a symbolic link to. By it inner knows its own
// entries in the shim folder.
const linkText = "../inner"

// Call says which shim was called. InnerHome is the INNER_HOME the shim belongs to,
// by its physical path: a variable in the environment of the call must not be able
// to lead the decision to another, emptier one.
type Call struct {
	Name      string
	InnerHome string
}

// Invoked reports whether this process was started as a shim, and which. execfn is
// the path the kernel was given (see ExecFn): unlike argv[0] it is right for
// "exec -a other claude", for a login shell's "-bash" and for an empty argument
// list. argv[0] is the second choice, and only with a slash in it, for a script
// whose first line names a shim.
//
// Both may be a link to a link to a shim. The chain is walked one link at a time,
// and the command is the name of the link that lies in a folder shims/bin and says
// "../inner".
func Invoked(execfn, argv0 string) (Call, bool) {
	if c, ok := follow(execfn); ok {
		return c, true
	}
	if strings.Contains(argv0, "/") && argv0 != execfn {
		return follow(argv0)
	}
	return Call{}, false
}

func follow(path string) (Call, bool) {
	for range 40 { // the kernel's own limit for links in a path
		text, err := os.Readlink(path)
		if err != nil {
			return Call{}, false
		}
		dir, name := filepath.Split(path)
		if text == linkText {
			if home, ok := homeOf(dir); ok {
				return Call{name, home}, true
			}
		}
		if filepath.IsAbs(text) {
			path = text
		} else {
			path = dir + text // not cleaned: ".." after a link is not what it looks like
		}
	}
	return Call{}, false
}

// homeOf returns the INNER_HOME whose shim folder dir is, whatever dir is called
// here.
func homeOf(dir string) (string, bool) {
	physical, err := filepath.EvalSymlinks(cmp.Or(dir, "."))
	if err == nil {
		physical, err = filepath.Abs(physical)
	}
	if err != nil {
		return "", false
	}
	shims := filepath.Dir(physical)
	if filepath.Base(physical) != "bin" || filepath.Base(shims) != "shims" {
		return "", false
	}
	return filepath.Dir(shims), true
}

// ExecFn returns the path this process was executed by, from the auxiliary vector
// the kernel hands over (AT_EXECFN in getauxval(3)), or "" when there is none.
func ExecFn() string {
	const atExecFn = 31 // include/uapi/linux/auxvec.h
	vector, err := unix.Auxv()
	if err != nil {
		return ""
	}
	for _, entry := range vector {
		if entry[0] == atExecFn && entry[1] != 0 {
			// The kernel keeps the string at the top of the stack for the life of
			// the process.
			return unix.BytePtrToString((*byte)(pointer(entry[1])))
		}
	}
	return ""
}

// pointer turns an address the kernel gave into a pointer. Reading it through its
// own address keeps vet's unsafeptr check meaningful elsewhere: the memory is not
// Go's, so the collector never moves it.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}
