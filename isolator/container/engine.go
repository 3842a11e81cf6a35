package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/internal/helper"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/limits"
)

// engine is one that was found here.
type engine struct{ host.Engine }

// findEngine looks for an engine that this user can make containers with, and asks it what
// it can do. It starts that program.
func findEngine(name string, env map[string]string, uid int) (e *engine, why, fix string) {
	path, why := host.FindHelper(name, env["PATH"])
	if path == "" {
		return nil, why, host.Install("/", name)
	}
	e = &engine{host.Engine{Name: name, Path: path, Env: engineEnv(name, env)}}
	if name == "podman" && uid == 0 {
		return nil, "podman run by root makes containers whose root is this computer's", "run inner as a plain user"
	}
	out, err := e.ask("info", "--format", "{{json .}}")
	if err != nil {
		return nil, fmt.Sprintf("%s does not work here: %v", path, err), name + " info"
	}
	if name == "podman" {
		err = e.podman(out)
	} else {
		err = e.docker(out)
	}
	if err != nil {
		return nil, fmt.Sprintf("%s cannot be used: %v", path, err), name + " info"
	}
	return e, "", ""
}

// engineEnv is what an engine gets of an environment. Another computer is no place for the
// mounts of a box, so no address of one passes.
func engineEnv(name string, env map[string]string) []string {
	out := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	for _, key := range []string{"HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR"} {
		if v, ok := env[key]; ok {
			out = append(out, key+"="+v)
		}
	}
	if name == "docker" {
		if v := env["DOCKER_HOST"]; strings.HasPrefix(v, "unix:///") {
			out = append(out, "DOCKER_HOST="+v)
		} else {
			out = append(out, "DOCKER_CONTEXT=default")
		}
	}
	return out
}

// ask starts the engine and returns what it prints.
func (e *engine) ask(args ...string) ([]byte, error) {
	out, complaint, err := helper.Ask(30*time.Second, e.Env, e.Path, args...)
	if err != nil {
		lines := strings.Split(strings.TrimSpace(complaint), "\n")
		return nil, fmt.Errorf("%s (%w)", strings.TrimPrefix(lines[len(lines)-1], "Error: "), err)
	}
	return []byte(out), nil
}

// hasImage says whether the engine has an image, which inner never fetches.
func (e *engine) hasImage(image string) bool {
	_, err := e.ask("image", "inspect", "--format", "{{.Id}}", "--", image)
	return err == nil
}

func (e *engine) podman(info []byte) error {
	var i struct {
		Host struct {
			CgroupsVersion    string `json:"cgroupVersion"`
			CgroupControllers []string
			ServiceIsRemote   bool
			Security          struct{ Rootless bool }
		}
	}
	if err := json.Unmarshal(info, &i); err != nil {
		return err
	}
	switch {
	case i.Host.ServiceIsRemote:
		return errors.New("it is the client of another computer")
	case !i.Host.Security.Rootless:
		return errors.New("it does not run without root")
	}
	e.Users = true
	e.Why = "control groups of version " + strings.TrimPrefix(i.Host.CgroupsVersion, "v")
	if i.Host.CgroupsVersion == "v2" {
		e.Holds = limits.Useful(i.Host.CgroupControllers)
		e.Why = "the controllers that were handed to this user: " + strings.Join(i.Host.CgroupControllers, ", ")
	}
	return nil
}

func (e *engine) docker(info []byte) error {
	var i struct {
		MemoryLimit, PidsLimit, CPUCfsQuota bool
		CgroupVersion                       string
		SecurityOptions                     []string
		ServerErrors                        []string
	}
	if err := json.Unmarshal(info, &i); err != nil {
		return err
	}
	if len(i.ServerErrors) > 0 {
		return errors.New(i.ServerErrors[0])
	}
	has := func(name string) bool {
		return slices.ContainsFunc(i.SecurityOptions, func(o string) bool { return strings.Contains(o, "name="+name) })
	}
	switch {
	case has("rootless"):
		return errors.New("without root it gives the user of a box another id than yours")
	case has("userns"):
		return errors.New("with users of its own (userns-remap) it gives the user of a box another id than yours")
	}
	e.Why = "control groups of version " + i.CgroupVersion
	if i.CgroupVersion == "2" {
		var list []string
		for name, on := range map[string]bool{"memory": i.MemoryLimit, "pids": i.PidsLimit, "cpu": i.CPUCfsQuota} {
			if on {
				list = append(list, name)
			}
		}
		e.Holds = limits.Useful(list)
	}
	return nil
}
