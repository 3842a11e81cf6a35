package attack

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile"
)

// victim holds its secret in memory, at an address that it prints, until its
// input ends.
func victim() int {
	secret := []byte(os.Getenv("VICTIM"))
	if name := os.Getenv("SERVE"); name != "" {
		l, err := net.Listen("unix", name)
		if err != nil {
			return 1
		}
		go answer(l, secret)
	}
	// Who is allowed to trace it at all may: Yama (kernel, Documentation/admin-guide/LSM/Yama).
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	if len(secret) == 0 {
		return 2
	}
	text := fmt.Sprintf("%d\n", uintptr(unsafe.Pointer(&secret[0])))
	if _, err := os.Stdout.WriteString(text); err != nil {
		return 1
	}
	var buf [1]byte
	_, _ = os.Stdin.Read(buf[:])
	runtime.KeepAlive(secret)
	return 0
}

// onVictim returns the attack on a process of the host that holds a secret.
func onVictim(name, what string, try func(Trial) (string, error)) Attack {
	return Attack{Name: name, Class: "processes", What: what, Stage: (*Fixture).startVictim, Try: try}
}

func processes() []Attack {
	list := []Attack{
		killProcess(),
		onVictim("process-environ", "read the environment of a process of the host", func(t Trial) (string, error) {
			return readAll(Trial{Paths: []string{fmt.Sprintf("/proc/%d/environ", t.Number["pid"])}})
		}),
		processCmdline(),
		onVictim("process-descriptor", "open a file of another process through /proc", func(t Trial) (string, error) {
			return readAll(Trial{Paths: []string{fmt.Sprintf("/proc/%d/fd/3", t.Number["pid"])}})
		}),
		onVictim("process-memory", "read memory of another process (process_vm_readv)", processMemory),
		onVictim("process-ptrace", "trace another process", processPtrace),
		onVictim("process-pidfd", "take a descriptor of another process (pidfd_getfd)", processPidfd),
		inheritedDescriptor(),
		nested("nested-inner", "start inner inside, with a profile that allows more", "", func() error { return nil }),
		nested("nested-inner-clean", "the same without any variable that says where it is", "allow = [\"no-seccomp\"]\n", forget),
		innerBypass(),
	}
	return append(list, ipc()...)
}

func processMemory(t Trial) (string, error) {
	buf := make([]byte, t.Number["length"])
	_, err := unix.ProcessVMReadv(t.Number["pid"], []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}, []unix.RemoteIovec{{Base: uintptr(t.Number["address"]), Len: len(buf)}}, 0)
	return string(buf), err
}

func processPtrace(t Trial) (string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid := t.Number["pid"]
	if err := unix.PtraceAttach(pid); err != nil {
		return "", err
	}
	var st unix.WaitStatus
	_, _ = unix.Wait4(pid, &st, unix.WALL, nil)
	buf := make([]byte, t.Number["length"])
	_, err := unix.PtracePeekData(pid, uintptr(t.Number["address"]), buf)
	_ = unix.PtraceDetach(pid)
	return string(buf), err
}

func processPidfd(t Trial) (string, error) {
	p, err := unix.PidfdOpen(t.Number["pid"], 0)
	if err != nil {
		return "", err
	}
	fd, err := unix.PidfdGetfd(p, 3, 0)
	if err != nil {
		return "", err
	}
	buf := make([]byte, 256)
	n, err := unix.Pread(fd, buf, 0)
	return string(buf[:max(n, 0)]), err
}

func inheritedDescriptor() Attack {
	return Attack{
		Name: "inherited-descriptor", Class: "processes", What: "read a descriptor that the caller left open",
		Stage: func(s *Fixture) error {
			if err := s.plant("outside/open"); err != nil {
				return err
			}
			for _, p := range []string{s.path("outside/open"), s.path("outside")} {
				fd, err := unix.Open(p, unix.O_RDONLY, 0) // for whoever comes after
				if err != nil {
					return err
				}
				s.Files = append(s.Files, os.NewFile(uintptr(fd), p))
			}
			return nil
		},
		Try: func(Trial) (string, error) {
			var b bytes.Buffer
			buf := make([]byte, 256)
			for fd := 3; fd < 256; fd++ {
				if n, err := unix.Pread(fd, buf, 0); err == nil && n > 0 {
					b.Write(buf[:n])
				}
				if in, err := unix.Openat(fd, "open", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
					if n, err := unix.Read(in, buf); err == nil && n > 0 {
						b.Write(buf[:n])
					}
					unix.Close(in)
				}
			}
			return b.String(), nil
		},
	}
}

// nested returns the attack that starts inner inside, with a profile that allows more.
func nested(name, what, more string, before func() error) Attack {
	return Attack{
		Name: name, Class: "processes", What: what, Declared: sshAllowed,
		Stage: func(s *Fixture) error {
			return errors.Join(s.plant(".ssh/id_ed25519"), s.put("app/loose.toml",
				"schema_version = \"1\"\n[sandbox]\nallow = [\"ssh-keys\"]\n"+more+"[entrypoint]\ncmd = \"/bin/cat\"\ninteractive = false\n"))
		},
		Try: func(t Trial) (string, error) {
			if err := before(); err != nil {
				return "", err
			}
			return self(t, "run", "-p", "./loose.toml", "--", filepath.Join(t.Home, ".ssh/id_ed25519"))
		},
	}
}

// forget takes every variable away but those that say where the user's folders are.
func forget() error {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); name != "HOME" && name != "XDG_RUNTIME_DIR" {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func innerBypass() Attack {
	return Attack{
		Name: "inner-bypass", Class: "processes", What: "call inner bypass inside", Declared: sshAllowed,
		Stage: planted(".ssh/id_ed25519"),
		Try: func(t Trial) (string, error) {
			return self(t, "bypass", "cat", t.Paths[0])
		},
	}
}

func killProcess() Attack {
	a := onVictim("kill-process", "kill a process of the host", func(t Trial) (string, error) {
		return "", unix.Kill(t.Number["pid"], unix.SIGKILL)
	})
	a.Effect = (*Fixture).victimDied
	return a
}

func processCmdline() Attack {
	a := onVictim("process-cmdline", "read the command lines of all processes", func(Trial) (string, error) {
		paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return "", err
		}
		return readAll(Trial{Paths: paths})
	})
	a.Declared = func(rc profile.RunConfig) string {
		if rc.Proc == "bind" {
			return `allow = ["host-proc"]`
		}
		return ""
	}
	return a
}

// ipc attacks System V memory and queues, and the kernel's keyrings.
func ipc() []Attack {
	return []Attack{
		{
			Name: "sysv-memory", Class: "processes", What: "attach shared memory of the host",
			Stage: func(s *Fixture) error {
				id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
				if err != nil {
					return err
				}
				s.undo = append(s.undo, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
				mem, err := unix.SysvShmAttach(id, 0, 0)
				if err != nil {
					return err
				}
				copy(mem, s.Secret)
				s.Trial.Number["id"] = id
				return unix.SysvShmDetach(mem)
			},
			Try: func(t Trial) (string, error) {
				mem, err := unix.SysvShmAttach(t.Number["id"], 0, unix.SHM_RDONLY)
				if err != nil {
					return "", err
				}
				return string(mem[:128]), nil
			},
		},
		{
			Name: "sysv-queue", Class: "processes", What: "take a message of a queue of the host",
			Stage: func(s *Fixture) error {
				id, _, errno := unix.Syscall(unix.SYS_MSGGET, 0, unix.IPC_CREAT|0o600, 0) // IPC_PRIVATE
				if errno != 0 {
					return errno
				}
				s.undo = append(s.undo, func() { _, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0) })
				msg := message{kind: 1}
				n := copy(msg.text[:], s.Secret)
				s.Trial.Number["id"] = int(id)
				if _, _, errno = unix.Syscall6(unix.SYS_MSGSND, id, uintptr(unsafe.Pointer(&msg)), uintptr(n), 0, 0, 0); errno != 0 {
					return errno
				}
				return nil
			},
			Try: func(t Trial) (string, error) {
				var msg message
				const noWait = 0o4000 // IPC_NOWAIT
				n, _, errno := unix.Syscall6(unix.SYS_MSGRCV, uintptr(t.Number["id"]), uintptr(unsafe.Pointer(&msg)), uintptr(len(msg.text)), 0, noWait, 0)
				if errno != 0 {
					return "", errno
				}
				return string(msg.text[:n]), nil
			},
		},
		posixQueue(),
		keyList(),
		keyring("session-keyring", "read a key of the session keyring", unix.KEY_SPEC_SESSION_KEYRING),
		keyring("user-keyring", "read a key of the user's keyring", unix.KEY_SPEC_USER_KEYRING),
		keyring("user-session-keyring", "read a key of the keyring of all sessions", unix.KEY_SPEC_USER_SESSION_KEYRING),
	}
}

// posixQueue takes a message of a POSIX queue (mq_overview(7)). The kernel takes
// the name without its slash.
func posixQueue() Attack {
	open := func(name string, flags int, attr unsafe.Pointer) (uintptr, error) {
		p, err := unix.BytePtrFromString(name)
		if err != nil {
			return 0, err
		}
		fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(p)), uintptr(flags), 0o600, uintptr(attr), 0, 0)
		if errno != 0 {
			return 0, errno
		}
		return fd, nil
	}
	return Attack{
		Name: "posix-queue", Class: "processes", What: "take a message of a POSIX queue of the host",
		Stage: func(s *Fixture) error {
			name := "inner-attack-" + random()
			attr := [8]int{1: 1, 2: 256} // struct mq_attr: one message of 256 bytes
			fd, err := open(name, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, unsafe.Pointer(&attr))
			if err != nil {
				return err
			}
			defer unix.Close(int(fd))
			s.undo = append(s.undo, func() {
				if p, err := unix.BytePtrFromString(name); err == nil {
					_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(p)), 0, 0)
				}
			})
			s.Trial.Text["queue"] = name
			text := []byte(s.Secret)
			if _, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDSEND, fd, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), 0, 0, 0); errno != 0 {
				return errno
			}
			return nil
		},
		Try: func(t Trial) (string, error) {
			fd, err := open(t.Text["queue"], unix.O_RDONLY|unix.O_NONBLOCK, nil)
			if err != nil {
				return "", err
			}
			defer unix.Close(int(fd))
			var text [256]byte
			n, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDRECEIVE, fd, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), 0, 0, 0)
			if errno != 0 {
				return "", errno
			}
			return string(text[:n]), nil
		},
	}
}

// message is struct msgbuf (msgop(2)).
type message struct {
	kind int
	text [256]byte
}

// keyList reads the names of the user's keys: with them anyone can ask for more.
func keyList() Attack {
	return Attack{
		Name: "key-list", Class: "processes", What: "list the user's keys in the kernel (/proc/keys)", Declared: containers,
		Stage: func(s *Fixture) error {
			id, err := unix.AddKey("user", s.Secret, []byte("x"), unix.KEY_SPEC_USER_KEYRING)
			if err != nil {
				return err
			}
			s.undo = append(s.undo, func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
			return nil
		},
		Try: func(Trial) (string, error) {
			data, err := os.ReadFile("/proc/keys")
			return string(data), err
		},
	}
}

func keyring(name, what string, ring int) Attack {
	return Attack{
		Name: name, Class: "processes", What: what,
		Stage: func(s *Fixture) error {
			// As a login makes it. An earlier box has left us with the keyring of all
			// boxes, which takes nothing.
			if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil {
				return err
			}
			for _, user := range []int{unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING} {
				if _, err := unix.KeyctlInt(unix.KEYCTL_LINK, user, unix.KEY_SPEC_SESSION_KEYRING, 0, 0); err != nil {
					return err
				}
			}
			s.Trial.Text["key"] = "inner-attack-" + random()
			id, err := unix.AddKey("user", s.Trial.Text["key"], []byte(s.Secret), ring)
			if err != nil {
				return err
			}
			s.undo = append(s.undo, func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, ring, 0, 0) })
			// Readable by everything of this user, as login keys are.
			return unix.KeyctlSetperm(id, 0x3f3f0000)
		},
		Try: func(t Trial) (string, error) {
			runtime.LockOSThread() // the session keyring is the thread's
			defer runtime.UnlockOSThread()
			// What the session keyring links to is the session's to read.
			_, err := unix.KeyctlInt(unix.KEYCTL_LINK, unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_SESSION_KEYRING, 0, 0)
			errs := []error{err}
			for _, ring := range []int{unix.KEY_SPEC_SESSION_KEYRING, unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING} {
				id, err := unix.KeyctlSearch(ring, "user", t.Text["key"], 0)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				buf := make([]byte, 256)
				n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, buf, 0)
				if err == nil {
					return string(buf[:min(n, len(buf))]), nil
				}
				errs = append(errs, err)
			}
			return "", errors.Join(errs...)
		},
	}
}

// settle gives what was killed a moment to be gone.
func settle(gone func() bool) bool {
	for range 1000 {
		if gone() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// running reports whether a process with that on its command line is there.
func running(text string) bool { return find(text) != 0 }

// find returns the process with that on its command line, or 0.
func find(text string) int {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range paths {
		if data, err := os.ReadFile(p); err == nil && strings.Contains(string(data), text) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			return pid
		}
	}
	return 0
}
