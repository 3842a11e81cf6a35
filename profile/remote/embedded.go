//go:build carries

package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// fetcher is cmd/inner-fetch, compressed by gzip and put here by `make build`. What is embedded is
// mapped, not read: it costs nothing until it is asked for.
//
//go:embed fetcher.gz
var fetcher string

func get(ctx context.Context, raw string) (Page, error) {
	if err := Check(raw); err != nil {
		return Page{}, err
	}
	program, err := memory("inner-fetch", fetcher)
	if err != nil {
		return Page{}, fmt.Errorf("%q cannot be fetched: %w", raw, err)
	}
	defer program.Close()
	// The fetcher stops by itself; this is for one that does not.
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, fmt.Sprintf("/proc/self/fd/%d", program.Fd()), raw)
	cmd.Args[0] = "inner-fetch"
	cmd.Env = environment(os.Environ())
	cmd.Dir = "/"
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	var a Answer
	if json.Unmarshal(out.Bytes(), &a) != nil || a.Error == "" && err != nil {
		first, _, _ := strings.Cut(complaint.String(), "\n")
		return Page{}, fmt.Errorf("%q cannot be fetched: %w: %s", raw, errors.Join(err, ctx.Err()), first)
	}
	if a.Error != "" {
		return Page{}, errors.New(a.Error)
	}
	return a.Page, nil
}

// environment is what a fetch depends on, and nothing else.
func environment(all []string) []string {
	var out []string
	for _, kv := range all {
		name, _, _ := strings.Cut(kv, "=")
		switch strings.ToUpper(name) {
		case "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "RES_OPTIONS", "LOCALDOMAIN":
			out = append(out, kv)
		}
	}
	return out
}

// memory is a program that gzip has compressed, in no file: memfd_create(2). MFD_EXEC is asked for where
// the kernel (6.3) knows it, since vm.memfd_noexec may make it necessary.
func memory(name, zip string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	text, err := gzip.NewReader(strings.NewReader(zip))
	if err == nil {
		_, err = io.Copy(f, text)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
