package features

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
)

// busTime is how long the filter of the bus may take to be ready.
const busTime = 10 * time.Second

// bus puts a filter between the session bus and the box. It lives as
// long as inner: its end of a pipe closes with inner, however that ends.
func bus() Feature {
	return Feature{Name: "session bus", Keys: []string{"sandbox.allow"}, Make: filteredBus}
}

func filteredBus(run *Run) error {
	rules := plan.BusRules(run.Spec)
	if len(rules) == 0 {
		return nil
	}
	socket := run.Folder.At("bus")
	run.Assets.ShowBus(socket)
	if !run.Mode.Made() {
		return nil
	}
	bus := host.FindBus(run.Facts.Env)
	if bus.Why != "" {
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q allows a part of the session bus: %s", run.Spec.Name, bus.Why), Hint: bus.Fix}
	}
	stop, err := startFilter(bus, socket, rules)
	if err != nil {
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q: the session bus cannot be filtered: %v", run.Spec.Name, err), Hint: "inner doctor"}
	}
	run.Undo(stop)
	return nil
}

// startFilter returns when the socket is there. The filter knows it by its name
// in its working folder: the name of a socket holds 107 bytes (unix(7)). Its
// environment is empty, its session its own: what is typed does not reach it.
func startFilter(bus host.Bus, socket string, rules []string) (stop func(), err error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	cmd := &exec.Cmd{
		Path: bus.Proxy, Args: append([]string{bus.Proxy, "--fd=3", bus.Address, filepath.Base(socket), "--filter"}, rules...),
		Env: []string{}, Dir: filepath.Dir(socket), Stderr: &said, ExtraFiles: []*os.File{theirs}, WaitDelay: time.Second,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, err
	}
	stop = func() {
		ours.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	_ = ours.SetReadDeadline(time.Now().Add(busTime))
	if _, err := ours.Read(make([]byte, 1)); err != nil {
		stop()
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("%s did not become ready: %s", bus.Proxy, cmp.Or(line, err.Error()))
	}
	return stop, nil
}
