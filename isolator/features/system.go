package features

// Files of the system that programs in the box read, and that are no good to them as they are.

import (
	"bytes"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// system makes the file that masks are bound from, says who the user is, and gives ssh settings that it takes.
func system() Feature {
	make := func(run *Run) (err error) {
		if run.Assets.Empty, err = run.Folder.File("empty", nil, 0o444); err != nil || run.Facts.Engine != nil {
			return err
		}
		if run.Facts.UID != 0 {
			run.Assets.Parts = append(run.Assets.Parts, included("/etc/ssh/ssh_config", nil)...)
		}
		return whoIAm(run)
	}
	return Feature{Name: "files of the system", Keys: []string{"sandbox.etc", "sandbox.allow", "sandbox.hide"}, Make: make}
}

// whoIAm puts the user's own line into passwd and group where it is missing: in a minimal /etc, and
// where a service of the host knows the user (nscd, sssd, systemd-homed), which no box can ask.
func whoIAm(run *Run) error {
	f, minimal := run.Facts, run.Spec.Etc == "minimal"
	group := f.User
	if minimal { // else a group that has a line is not named here
		if g, err := user.LookupGroupId(strconv.Itoa(f.GID)); err == nil {
			group = g.Name
		}
	}
	if f.User == "" || strings.ContainsAny(f.User+group+f.Home, ":\n") {
		if minimal {
			return fault.Refuse(125, "etc = \"host\" under [sandbox]",
				"profile %q: etc = \"minimal\": your name or home cannot stand in a password file", run.Spec.Name)
		}
		return nil
	}
	add := func(path, reason string, id int, line string) {
		var text []byte
		if path = files.Real(path); !minimal {
			var err error
			text, err = files.Read(path, files.NoLinks, 8<<20)
			if err != nil || listed(string(text), strconv.Itoa(id)) {
				return // without the file there is nothing to mount on
			}
			text = append(bytes.TrimRight(text, "\n"), '\n')
		}
		run.Assets.Parts = append(run.Assets.Parts, systemFile(path, append(text, line...), reason))
	}
	add("/etc/passwd", "who you are", f.UID, fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", f.User, f.UID, f.GID, f.Home))
	add("/etc/group", "what your group is", f.GID, fmt.Sprintf("%s:x:%d:\n", group, f.GID))
	return nil
}

// systemFile is a file of the system that the box has its own text of. It belongs to the user there.
func systemFile(path string, text []byte, reason string) plan.Part {
	return plan.Part{System: true, Op: plan.Op{Kind: plan.OpData, Perms: 0o444, Dest: path, Reason: reason}, Data: text}
}

// boxFile gives the box a read-only file below paths.BoxDir, and variables that lead to it. It returns where it is.
func boxFile(run *Run, dest string, text []byte, reason string, env ...profile.KV) string {
	op := plan.Op{Kind: plan.OpFile, Perms: 0o444, Dest: dest, Reason: reason}
	run.Assets.Parts = append(run.Assets.Parts, plan.Part{Op: op, Data: text, Env: env})
	return dest
}

// listed reports whether a password or group file has a number. Package user does not say so: it
// takes the name of this process's user from the environment.
func listed(text, id string) bool {
	for line := range strings.Lines(text) {
		if f := strings.Split(line, ":"); len(f) > 2 && f[2] == id {
			return true
		}
	}
	return false
}

// included are the files that settings of ssh include. ssh takes such a file only from root or from
// the user (readconf.c), and in the box root's files are nobody's.
func included(settings string, seen []string) (out []plan.Part) {
	text, err := files.Read(files.Real(settings), files.NoLinks, 1<<20)
	if err != nil || len(seen) > 16 { // as deep as ssh reads
		return nil
	}
	for line := range strings.Lines(strings.ReplaceAll(strings.ReplaceAll(string(text), "=", " "), `"`, "")) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.EqualFold(words[0], "include") {
			continue
		}
		for _, pattern := range words[1:] {
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join("/etc/ssh", pattern)
			}
			found, _ := filepath.Glob(pattern) // ssh finds nothing in a broken one either
			for _, p := range found {
				real := files.Real(p)
				text, err := files.Read(real, files.NoLinks, 1<<20)
				var st unix.Stat_t
				if errors.Join(err, unix.Stat(real, &st)) != nil || st.Uid != 0 || st.Mode&0o022 != 0 || slices.Contains(seen, real) {
					continue
				}
				out = append(out, systemFile(real, text, "ssh takes it from nobody but you or root"))
				out = append(out, included(real, append(seen, real))...)
			}
		}
	}
	return out
}
