// Package usershell knows the shells of a person: what kind of shell started this process and
// what it has in the place of shims, and what their start-up files do.
package usershell

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/enr/inner/hooks"
)

// Shadows are the aliases and functions of the shell that started this process
// which go around the shims, as its hook tells in a variable. One that another shell
// set, further up, is not believed: aliases are not inherited.
func Shadows() []hooks.Shadow {
	pid, list := hooks.ParseShellValue(os.Getenv(hooks.ShellVar))
	if pid == 0 || !startedBy(pid) {
		return nil
	}
	return list
}

// startedBy reports whether the shell pid started this process: as its parent, or by
// way of subshells, which are copies of it ($(inner which x), inner status | less).
func startedBy(pid int) bool {
	for at, hops := os.Getppid(), 0; at > 1 && hops < 8; hops++ {
		if at == pid {
			return true
		}
		mine, err1 := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", at))
		shell, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err1 != nil || err2 != nil || !bytes.Equal(mine, shell) {
			return false
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", at))
		if err != nil {
			return false
		}
		var state string
		rest := stat[bytes.LastIndexByte(stat, ')')+1:]
		if _, err := fmt.Sscan(string(rest), &state, &at); err != nil {
			return false
		}
	}
	return false
}

// ShadowOf is what goes around the shim of that name in this shell, or nil.
func ShadowOf(name string) *hooks.Shadow {
	list := Shadows()
	if i := slices.IndexFunc(list, func(s hooks.Shadow) bool { return s.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// Login is the name of the user's shell.
func Login() string {
	shell := os.Getenv("SHELL")
	if shell == "" {
		if u, err := user.Current(); err == nil {
			data, _ := os.ReadFile("/etc/passwd")
			for line := range strings.Lines(string(data)) {
				if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[0] == u.Username {
					shell = f[6]
				}
			}
		}
	}
	return filepath.Base(shell)
}

// TypedIn is the name of the shell that a person types this in, else the user's: they need not be
// the same. Only a shell with a prompt starts programs in a process group of their own.
func TypedIn() string {
	if group, err := syscall.Getpgid(os.Getppid()); err == nil && group != syscall.Getpgrp() {
		return Starting()
	}
	return Login()
}

// Starting is the name of the shell that started this process, else the user's.
func Starting() string {
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getppid())); err == nil {
		// A script of sh is no shell that a person has.
		kind := ShellOf(filepath.Base(exe))
		if kind != "" && (kind != "sh" || ShellOf(Login()) == "sh") {
			return filepath.Base(exe)
		}
	}
	return Login()
}

// ShellOf is the shell whose hook a program of that name reads, or "".
func ShellOf(program string) string {
	switch program {
	case "dash", "ash", "busybox", "ksh", "ksh93", "mksh":
		return "sh"
	}
	if slices.Contains(hooks.Shells(), program) {
		return program
	}
	return ""
}
