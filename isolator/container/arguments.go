package container

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
)

// Sources: podman-run(1) of podman 4.3, docker run of Docker 20.10. Measured with podman 4.3.1
// and runc 1.1.5.

// known are the words about the box as a whole that the arguments below say.
func known() []plan.Flag {
	list := []plan.Flag{
		plan.UnsharePID, plan.UnshareIPC, plan.UnshareUTS, plan.UnshareCgroup,
		plan.UnshareNet, plan.UnshareUser, plan.DisableUserns, plan.DieWithParent,
	}
	return append(list, plan.DropCaps()...)
}

// arguments writes the command of the engine.
//
//   - what dies with the parent: inner is the first process of the container, and ends when its
//     connection to the launcher does
//   - user namespaces in the box are kept out by inner's filter of system calls
//   - nothing is fetched: --pull never
func (t *translator) arguments() {
	name := "inner-" + t.Run
	user := fmt.Sprintf("%d:%d", t.UID, t.GID)
	a := []string{
		"run", "--rm", "--name", name, "--label", "inner.run=" + t.Run, "--pull", "never",
		"--network", map[bool]string{true: "none", false: "host"}[t.c.NoNet],
		"--ipc", "private", "--cgroupns", "private",
		"--user", user, "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only",
		"--log-driver", "none", "--no-healthcheck", "--workdir", "/", "--stop-timeout", "0",
	}
	podman := t.Engine.Name == "podman"
	if podman {
		// Without these it passes the proxies of this environment, writes into /etc/passwd and
		// /etc/hosts, mounts folders in memory over a read-only root, and looks for systemd.
		a = append(a, "--userns", "keep-id", "--passwd=false", "--no-hosts", "--http-proxy=false", "--env-host=false",
			"--read-only-tmpfs=false", "--image-volume", "ignore", "--systemd", "false", "--sdnotify", "ignore")
	}
	a = append(a, t.limits()...)
	for _, m := range t.mounts {
		a = append(a, m.words(podman, t.UID, t.GID)...)
	}
	t.c.Args = append(a, "--entrypoint", paths.BoxSelf, t.Spec.Image, wire.ContainerWord)
	t.c.Remove = []string{"rm", "--force", name}
	if podman {
		t.c.Remove = []string{"rm", "--force", "--ignore", "--time", "0", name}
	}
}

// limits are those that a control group holds; the others are the program's own (setrlimit).
func (t *translator) limits() []string {
	if t.plan.Limits == nil {
		return nil
	}
	v, out := t.plan.Limits.Group, []string(nil)
	if v.Memory > 0 {
		n := strconv.FormatUint(v.Memory, 10)
		out = append(out, "--memory", n, "--memory-swap", n) // memory and swap together: no swap
	}
	if v.CPU > 0 {
		out = append(out, "--cpus", strconv.FormatFloat(float64(v.CPU)/1000, 'f', -1, 64))
	}
	if v.Pids > 0 {
		out = append(out, "--pids-limit", strconv.FormatUint(v.Pids+limits.Own, 10))
	}
	return out
}

// words are the arguments of one mount.
func (m mount) words(podman bool, uid, gid int) []string {
	switch {
	case m.source != "":
		return m.bind(podman)
	case podman:
		return m.podmanTmpfs()
	}
	return m.dockerTmpfs(uid, gid)
}

func (m mount) bind(podman bool) []string {
	w := []string{"type=bind", "src=" + m.source, "dst=" + m.Path, "bind-propagation=rprivate"}
	if !m.Write {
		w = append(w, "readonly")
	}
	if podman {
		w = append(w, "nosuid", "nodev")
	}
	return []string{"--mount", strings.Join(w, ",")}
}

// plainMode is the mode of a folder in memory for which the plan says none.
const plainMode = 0o755

// podmanTmpfs is a folder in memory. One that the box can write belongs to the root of the
// container, who is nobody in it, so that everybody may write it.
func (m mount) podmanTmpfs() []string {
	mode := cmp.Or(m.perms, plainMode)
	if m.Write {
		mode = 0o1777
	}
	w := []string{"type=tmpfs", "dst=" + m.Path, fmt.Sprintf("tmpfs-mode=%04o", mode), "notmpcopyup"}
	if m.size > 0 {
		w = append(w, "tmpfs-size="+strconv.FormatUint(m.size, 10))
	}
	if !m.Write {
		w = append(w, "ro")
	}
	return []string{"--mount", strings.Join(w, ",")}
}

// dockerTmpfs is a folder in memory. --mount of docker knows neither the owner nor that programs
// run from there.
func (m mount) dockerTmpfs(uid, gid int) []string {
	w := []string{"nosuid", "nodev", "exec", fmt.Sprintf("mode=%04o", cmp.Or(m.perms, plainMode))}
	if m.Write {
		w = append(w, fmt.Sprintf("uid=%d,gid=%d", uid, gid))
	} else {
		w = append(w, "ro")
	}
	if m.size > 0 {
		w = append(w, "size="+strconv.FormatUint(m.size, 10))
	}
	return []string{"--tmpfs", m.Path + ":" + strings.Join(w, ",")}
}
