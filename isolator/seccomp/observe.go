package seccomp

import "fmt"

// retNotify has the kernel tell whoever holds the filter's listener, and wait
// for the answer (SECCOMP_RET_USER_NOTIF, seccomp_unotify(2)).
const retNotify = 0x7fc00000

// Call is a system call that names a file: which of its arguments is what.
// Indexes are -1 where there is no such argument.
type Call struct {
	Name  string
	Dir   int // descriptor the path starts from
	Path  int
	Dir2  int // of a second path, which is made
	Path2 int
	Flags int // of open
	How   int // address of a struct open_how, whose first 8 bytes are the flags
	Kind  Kind
}

// Kind is what a call does with the file it names.
type Kind int

// The kinds.
const (
	Look  Kind = iota // asks about it, or reads a link
	Open              // opens it, as the flags say
	Exec              // runs it
	Write             // makes, changes or removes it
)

// observed is a call with its numbers, in the columns of the table of rules.
type observed struct {
	Call
	nr [4]int32
}

// observedCalls returns the calls that a notifying filter reports, numbered as in
// numbers.go.
func observedCalls() []observed {
	at := func(kind Kind, name string, nr [4]int32) observed {
		return observed{Call{Name: name, Dir: 0, Path: 1, Dir2: -1, Path2: -1, Flags: -1, How: -1, Kind: kind}, nr}
	}
	here := func(kind Kind, name string, nr [4]int32) observed {
		c := at(kind, name, nr)
		c.Dir, c.Path = -1, 0
		return c
	}
	open, openat, openat2, creat := here(Open, "open", [4]int32{2, 5, -1, 5}), at(Open,
		"openat", [4]int32{257, 295, 56, 322}),
		at(Open, "openat2", [4]int32{437, 437, 437, 437}), here(Write, "creat", [4]int32{85, 8, -1, 8})
	open.Flags, openat.Flags, openat2.How = 1, 2, 2
	rename, link, symlink := here(Write, "rename", [4]int32{82, 38, -1, 38}), here(Look, "link",
		[4]int32{86, 9, -1, 9}), here(Write, "symlink", [4]int32{88, 83, -1, 83})
	rename.Path2, link.Path2, symlink.Path = 1, 1, 1
	renameat, renameat2, linkat, symlinkat := at(Write, "renameat",
		[4]int32{264, 302, 38, 329}), at(Write, "renameat2", [4]int32{316, 353, 276, 382}),
		at(Look, "linkat", [4]int32{265, 303, 37, 330}), at(Write, "symlinkat", [4]int32{266, 304, 36, 331})
	for _, c := range []*observed{&renameat, &renameat2, &linkat} {
		c.Dir2, c.Path2 = 2, 3
	}
	symlinkat.Dir, symlinkat.Path = 1, 2
	return []observed{
		open, openat, openat2, creat, rename, renameat, renameat2, link, linkat, symlink, symlinkat,
		here(Exec, "execve", [4]int32{59, 11, 221, 11}),
		at(Exec, "execveat", [4]int32{322, 358, 281, 387}),
		here(Look, "stat", [4]int32{4, 106, -1, 106}),
		here(Look, "lstat", [4]int32{6, 107, -1, 107}),
		here(Look, "stat64", [4]int32{-1, 195, -1, 195}),
		here(Look, "lstat64", [4]int32{-1, 196, -1, 196}),
		at(Look, "newfstatat", [4]int32{262, 300, 79, 327}), // fstatat64 in 32 bits
		at(Look, "statx", [4]int32{332, 383, 291, 397}),
		here(Look, "access", [4]int32{21, 33, -1, 33}),
		at(Look, "faccessat", [4]int32{269, 307, 48, 334}),
		at(Look, "faccessat2", [4]int32{439, 439, 439, 439}),
		here(Look, "readlink", [4]int32{89, 85, -1, 85}),
		at(Look, "readlinkat", [4]int32{267, 305, 78, 332}),
		here(Write, "mkdir", [4]int32{83, 39, -1, 39}),
		at(Write, "mkdirat", [4]int32{258, 296, 34, 323}),
		here(Write, "rmdir", [4]int32{84, 40, -1, 40}),
		here(Write, "unlink", [4]int32{87, 10, -1, 10}),
		at(Write, "unlinkat", [4]int32{263, 301, 35, 328}),
		here(Write, "truncate", [4]int32{76, 92, 45, 92}),
	}
}

// Notify returns a filter that refuses nothing, and tells the holder of its
// listener of every call that names a file.
func Notify(goarch string) ([]byte, error) {
	all := machines(goarch)
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no system call filter for %s", goarch)
	}
	code := []instruction{load(offArch)}
	for _, m := range all {
		var steps []step
		for _, c := range observedCalls() {
			if nr := c.nr[m.column]; nr >= 0 {
				steps = append(steps, step{uint32(nr), []instruction{{op: 0x06, k: retNotify}}})
			}
		}
		code = append(code, m.only(append([]instruction{load(offNr)}, sorted(steps)...))...)
	}
	return assemble(append(code, allow())), nil
}

// Notified returns what a call of a machine does, by the numbers of
// a notification.
func Notified(goarch string, arch uint32, nr int32) (Call, bool) {
	for _, m := range machines(goarch) {
		if m.audit != arch {
			continue
		}
		for _, c := range observedCalls() {
			if c.nr[m.column] == nr && nr >= 0 {
				return c.Call, true
			}
		}
	}
	return Call{}, false
}
