package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// app is the process: what is set, and where it prints.
type app struct {
	*settings.Settings

	stdin          *os.File
	stdout, stderr io.Writer
}

// newApp finds the folders. On error the app can still report it.
func newApp() (*app, error) {
	home, err := homeFolder()
	if err != nil {
		return appOf("", ""), err
	}
	inner := filepath.Join(home, ".inner")
	if p := os.Getenv("INNER_HOME"); p != "" {
		if !filepath.IsAbs(p) {
			return appOf(home, inner), fmt.Errorf("INNER_HOME %q is not an absolute path", p)
		}
		inner = filepath.Clean(p)
		if rest, err := filepath.Rel(inner, home); err == nil && rest != ".." && !strings.HasPrefix(rest, "../") {
			return appOf(home, inner), fmt.Errorf("INNER_HOME %q holds your home folder: it is to be a folder of its own", p)
		}
	}
	return appOf(home, inner), nil
}

// appOf is the app of this process for a home and an INNER_HOME.
func appOf(home, inner string) *app {
	a := &app{stdin: os.Stdin, stdout: outputTo(os.Stdout), stderr: outputTo(os.Stderr)}
	a.Settings = settings.Of(&caller.Caller{
		Home: home, InnerHome: inner, Environ: os.Environ(), Version: version,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Teller: teller{a},
	})
	return a
}

// homeFolder is $HOME, or the one of the password file.
func homeFolder() (string, error) {
	if h := os.Getenv("HOME"); filepath.IsAbs(h) {
		return filepath.Clean(h), nil
	}
	if h := profile.PasswordHome(); h != "" {
		return h, nil
	}
	return "", errors.New("HOME is not set, and the password file names no home")
}
