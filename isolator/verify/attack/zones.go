package attack

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/profile"
)

// Parts are what a profile makes writable of a working folder that is read-only otherwise.
// In a fixture they exist: of keep, names with an extension are files, and others folders.
type Parts struct {
	Zones []string // of sandbox.writable
	Keep  []string // of sandbox.keep
}

// folder, kept and file are one zone, one folder and one file of keep; for profiles without
// them, one of the name that such a thing often has.
func (p Parts) folder() string { return cmp.Or(append(slices.Clone(p.Zones), "public")...) }
func (p Parts) kept() string   { return p.named("node_modules", false) }
func (p Parts) file() string   { return p.named("package.json", true) }

func (p Parts) named(otherwise string, file bool) string {
	i := slices.IndexFunc(p.Keep, func(name string) bool { return strings.Contains(strings.TrimLeft(name, "."), ".") == file })
	if i < 0 {
		return otherwise
	}
	return p.Keep[i]
}

// zones attack what lies beside the zones of a working folder, and calls that share a
// profile, a session or a table of roles. In the scripts %z is a zone, %k a kept folder, %f
// a kept file, %a the project and %m the mark.
func zones() []Attack {
	each := func(script string) string {
		return "for d in %z %k; do { " + script + "; } 2>&1; done"
	}
	return []Attack{
		beside("zone-beside", "write, make, rename and change the mode of files that are in no zone", "echo %m >>src/file; echo %m >src/new; mv src/file src/old; chmod 0777 src; echo %m >new; mv src old", func(s *Fixture) string {
			if fi, err := os.Stat(s.path("app/src")); err != nil || fi.Mode().Perm() != 0o700 {
				return "src was changed"
			}
			return s.marked()
		}),
		beside("zone-replace", "rename a zone away, and put a link in its place", each("mv $d $d.old; ln -s ../outside $d"), (*Fixture).folderReplaced),
		beside("zone-rename", "move files across the edge of a zone, and swap the two by mounts in namespaces of its own",
			each("mv src/file $d/file; echo %m >$d/new; mv $d/new src/new; unshare -Urm sh -c \"mount --bind $d src; echo %m >src/new; umount src; mount --bind src $d; mount -o remount,rw,bind $d; echo %m >$d/new\""), (*Fixture).sourceChanged),
		beside("zone-hard-link", "write through a hard link in a zone to a file that is in none", each("ln src/file $d/hard; echo %m >>$d/hard"), nil),
		given(beside("zone-link-out", "write through a link that it left in a zone, to a file of the home", each("ln -s ../../outside/file $d/out; echo %m >>$d/out"), nil), homeWritable),
		given(beside("zone-link-hidden", "read a hidden file through links that it left in a zone", each("ln -s ../.env $d/near; ln -s %a/.env $d/far; ln .env $d/hard; cat $d/near $d/far $d/hard /proc/self/cwd/$d/near"), nil), allows("env-files")),
		beside("keep-new", "leave a new file at the root of the working folder", "echo %m >new; mkdir -p x; mv x newer", func(s *Fixture) string {
			if _, err := os.Lstat(s.path("app/newer")); err == nil {
				return "newer was made"
			}
			return s.marked()
		}),
		beside("keep-link", "have a link put back in the place of a kept file", "rm -f %f; ln -s ../outside/file %f", (*Fixture).fileReplaced),
		beside("keep-fifo", "have a FIFO put back in the place of a kept file", "rm -f %f; mkfifo %f", (*Fixture).fileReplaced),
		setUserID(),
		roleTable(),
		inSession("session-tmp", "read what a call of another session left in /tmp", func(*Fixture, string) string {
			return "cat /tmp/%m /var/tmp/%m /proc/1/root/tmp/%m /proc/[0-9]*/root/tmp/%m"
		}),
		inSession("session-folder", "read the /tmp of another session by its folder, also through the note of the last folder", func(s *Fixture, note string) string {
			folders, _ := filepath.Glob(s.path(".inner/sessions/one.*")) // the pattern is well-formed
			return "for d in " + quoted(strings.Join(folders, "")) + " " + quoted(s.path(".inner/sessions/one")) + ".*; do cat $d/tmp/%m; ln -s $d/tmp/%m " + note + "; cd $d/tmp && cat %m; done"
		}),
	}
}

func workdirWritable(rc profile.RunConfig) string {
	if rc.WorkdirMode == profile.RW {
		return `workdir_mode = "rw"`
	}
	return ""
}

func given(a Attack, declared reason) Attack {
	a.Declared = declared
	return a
}

// beside returns a script that attacks what lies beside the zones of the project. What counts is
// what is there when the run has ended.
func beside(name, what, script string, effect func(*Fixture) string) Attack {
	return Attack{
		Name: name, Class: "files", What: what, Effect: effect, Declared: workdirWritable,
		Stage: func(s *Fixture) error {
			p := s.Parts
			for _, f := range []string{"app/src/file", "app/src/new", "app/new", "outside/file"} {
				s.watched = append(s.watched, s.path(f))
			}
			return errors.Join(s.plant("app/.env"), s.put("app/src/file", "mine\n"), s.put("app/"+p.folder()+"/there", ""), s.put("app/"+p.kept()+"/there", ""), s.put("app/"+p.file(), "{}\n"))
		},
		Launcher: func(s *Fixture, run Run) (string, error) {
			return s.script(run, s.filled(script))
		},
	}
}

// filled puts the names of a fixture into a script.
func (s *Fixture) filled(script string) string {
	p := s.Parts
	return strings.NewReplacer("%z", quoted(p.folder()), "%k", quoted(p.kept()), "%f", quoted(p.file()), "%a", quoted(s.App), "%m", s.Trial.Mark).Replace(script)
}

// setUserID leaves programs that run with the rights of the user, whoever starts them.
func setUserID() Attack {
	a := beside("set-user-id", "leave a program with the set-user-id bit in a zone", "", func(s *Fixture) (found string) {
		for _, dir := range s.Trial.Paths {
			_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
				if fi, err := os.Lstat(p); err == nil && fi.Mode()&os.ModeSetuid != 0 && fi.Size() > 0 {
					found = p + " has the bit"
				}
				return err
			})
		}
		return found
	})
	a = a.first(func(s *Fixture) error {
		s.target("app/" + s.Parts.folder())
		s.target("app/" + s.Parts.kept())
		return nil
	})
	a.Class, a.Launcher = "kernel", nil
	a.Try = func(t Trial) (string, error) {
		const mode = 0o4755
		var errs []error
		for _, dir := range t.Paths {
			for i, set := range []func(p string, fd int) error{
				func(p string, _ int) error { return unix.Chmod(p, mode) },
				func(_ string, fd int) error { return unix.Fchmod(fd, mode) },
				func(p string, _ int) error { return unix.Fchmodat(unix.AT_FDCWD, p, mode, unix.AT_SYMLINK_NOFOLLOW) },
				func(string, int) error { return nil }, // made with it
			} {
				p := filepath.Join(dir, strconv.Itoa(i))
				fd, err := unix.Open(p, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, mode)
				if err == nil {
					_, err = unix.Write(fd, []byte("#!/bin/sh\n"))
					err = errors.Join(err, set(p, fd), unix.Close(fd))
				}
				errs = append(errs, err)
			}
		}
		return "", errors.Join(errs...)
	}
	a.Declared = seccompOffOrContainers
	return a
}

// sourceChanged says what has become of a folder that is no zone.
func (s *Fixture) sourceChanged() string {
	if data, err := os.ReadFile(s.path("app/src/file")); err != nil || string(data) != "mine\n" {
		return "src/file was changed"
	}
	return s.marked()
}

// folderReplaced says what has come in the place of a zone or of a kept folder.
func (s *Fixture) folderReplaced() string {
	for _, name := range []string{s.Parts.folder(), s.Parts.kept()} {
		at := filepath.Join(s.App, name)
		if fi, err := os.Lstat(at); err != nil || !fi.IsDir() {
			return at + " is no folder any more"
		}
	}
	return s.marked()
}

// fileReplaced says what has come in the place of a kept file.
func (s *Fixture) fileReplaced() string {
	at := filepath.Join(s.App, s.Parts.file())
	fi, err := os.Lstat(at)
	if err != nil || !fi.Mode().IsRegular() {
		return at + " is no file any more"
	}
	if data, err := os.ReadFile(at); err != nil || bytes.Contains(data, []byte("mine")) {
		return at + " is what a link led to"
	}
	return ""
}

// roleTable has a box change which profile guests have: by the user's table of roles, by the
// profile itself, and by a table of the project's.
func roleTable() Attack {
	const profileText = "schema_version = \"1\"\n[entrypoint]\ncmd = \"/bin/sh\"\ninteractive = false\n[sandbox]\nhome = \"isolated\"\n"
	return Attack{
		Name: "role-table", Class: "secrets", What: "change [roles] of the user's and the project's config.toml, or a role's profile, and have a guest's call follow",
		Stage: func(s *Fixture) error {
			s.watched = append(s.watched, s.path("app/.inner/config.toml"))
			return errors.Join(s.put(".inner/config.toml", "[roles]\n\"*\" = \"closed\"\n"), s.put(".inner/profiles/open.toml", profileText),
				s.put(".inner/profiles/closed.toml", profileText+"hide = [\"mine.txt\"]\n"), s.plant("app/mine.txt"))
		},
		Launcher: func(s *Fixture, run Run) (string, error) {
			own := quoted(s.path(".inner"))
			said, err := s.script(run, "{ printf '[roles]\\n\"*\" = \"open\"\\n' >"+own+"/config.toml; cp "+own+"/profiles/open.toml "+own+"/profiles/closed.toml; } 2>&1")
			if err != nil {
				return said, err
			}
			guest := exec.Command(s.Trial.Inner, "exec", "--as", "guest", "-c", "cat mine.txt; echo was run")
			guest.Dir = s.App
			said, err = ran(guest.CombinedOutput())
			if err != nil {
				return said, err
			}
			more, err := s.script(run, "mkdir -p .inner; echo '# "+s.Trial.Mark+"' >>.inner/config.toml")
			return said + more, err
		},
	}
}

// call makes a run of inner a call in a session: inner run -p NAME … -- ARGS becomes inner
// exec.
func call(s *Fixture, run Run, id, script string) *exec.Cmd {
	cmd := sh(run, s.filled(script)+"; echo was run")
	if run != nil {
		name := cmd.Args[slices.Index(cmd.Args, "-p")+1]
		cmd = exec.Command(s.Trial.Inner, "exec", "-p", name, "--session", id, "--", "/bin/sh", "-c", s.filled(script)+"; echo was run")
	}
	cmd.Dir = s.App
	return cmd
}

// inSession leaves the secret in the /tmp of one session, and has calls of another look for
// it. A script is told where a call notes its last folder.
func inSession(name, what string, script func(s *Fixture, note string) string) Attack {
	return Attack{
		Name: name, Class: "secrets", What: what,
		Launcher: func(s *Fixture, run Run) (string, error) {
			at, note := "/tmp/"+s.Trial.Mark, session.LastFile
			if run == nil {
				note = quoted(s.path("note"))
				at = s.path(".inner/sessions/one.x/tmp/" + s.Trial.Mark)
				s.undo = append(s.undo, func() { _ = os.Remove("/tmp/" + s.Trial.Mark) })
				if err := errors.Join(s.put(at, s.Secret), os.WriteFile("/tmp/"+s.Trial.Mark, []byte(s.Secret), 0o600)); err != nil {
					return "", err
				}
			}
			out, err := call(s, run, "one", "echo "+s.Secret+" >"+quoted(at)).CombinedOutput()
			if bytes.Contains(out, []byte("without a session")) {
				return "", nil // refused for just this
			}
			if said, err := ran(out, err); err != nil {
				return said, err
			}
			var all strings.Builder
			for range 2 { // the second starts where the first has ended
				said, err := ran(call(s, run, "two", "{ "+script(s, note)+"; } 2>&1").CombinedOutput())
				if err != nil {
					return said, err
				}
				all.WriteString(said)
			}
			return all.String(), nil
		},
	}
}
