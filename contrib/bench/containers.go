package main

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// containers times a call in a container of rootless podman, beside podman itself with the
// same image. contrib/bench.sh says where that is, when there is podman.
func (b *bench) containers() error {
	tar := os.Getenv("INNER_BENCH_IMAGE")
	if tar == "" {
		return nil
	}
	me, err := user.Current()
	if err != nil {
		return err
	}
	conf := filepath.Join(b.home, ".config/containers/containers.conf")
	// crun refuses computers that mount both kinds of control groups.
	if err := errors.Join(os.MkdirAll(filepath.Dir(conf), 0o700), os.WriteFile(conf, []byte("[engine]\nruntime = \"runc\"\n"), 0o600)); err != nil {
		return err
	}
	podman := []string{"env", "USER=" + me.Username, "podman"} // which looks up its user by that name
	defer func() {
		for _, args := range [][]string{{"unshare", "rm", "-rf", filepath.Join(b.home, ".local/share/containers")}, {"system", "migrate"}} {
			_, _ = b.output(b.app, append(podman[:3:3], args...)...) // close removes the rest
		}
	}()
	if _, err := b.output(b.app, append(podman[:3:3], "import", "-q", tar, "localhost/bench")...); err != nil {
		return err
	}
	id, err := b.output(b.app, append(podman[:3:3], "images", "--no-trunc", "-q", "localhost/bench")...)
	if err != nil {
		return err
	}
	id = strings.TrimSpace(id)
	text := "schema_version = \"1\"\n[shim]\ncommands = []\n[sandbox]\nhome = \"isolated\"\nbase = \"minimal\"\nbackend = \"podman\"\nimage = \"" + id + "\"\n[output]\nrecord = \"audit\"\n[entrypoint]\ncmd = \"true\"\ninteractive = false\n"
	if err := b.allowed(b.app, map[string]string{"boxed": text}); err != nil {
		return err
	}
	t, err := b.hyperfine(b.app, 5, "", append(podman[:3:3], "run", "--rm", "--network", "none", id, "true"),
		[]string{"env", "USER=" + me.Username, b.inner, "exec", "-p", "boxed", "--", "true"})
	if err != nil {
		return err
	}
	b.rows = append(b.rows,
		row{"`podman run` of the same image", ms(median(t[0])), "", "", ""},
		row{"`inner exec`, `backend = \"podman\"`", ms(median(t[1])), "that podman", more(t[1], t[0]), ""})
	return nil
}
