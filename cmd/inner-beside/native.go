package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/export"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/native"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// The commands of a pod that is the box itself. Nobody types them, so help does not list them.

// fencePatience is how long the way out beside a box may take to answer, and a policy to come into
// force; podPatience how long a way out in a pod of its own may take.
const (
	fencePatience = 30 * time.Second
	podPatience   = 2 * time.Minute
)

// nativeFlags are the flags of inner box-entry and inner egress.
type nativeFlags struct {
	profile, approved string
	argsFile, bundle  string
	fence             string
	egress            string
	canaries          []string
	listen            string
}

func (f *nativeFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.approved, "approved", "", "exactly the profile with this digest, `sha256:HEX`")
	c.Flags().StringVarP(&f.profile, "profile", "p", "", "the path of the profile")
	for _, name := range []string{"approved", "profile"} {
		_ = c.MarkFlagRequired(name)
	}
}

func (a *app) cmdBoxEntry() *cobra.Command {
	var f nativeFlags
	c := &cobra.Command{
		Use:  shim.BoxEntry + " --approved sha256:HEX -p FILE --fence nft|policy [flags] [-- args]",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error { return a.boxEntry(f, args) }),
	}
	f.add(c)
	c.Flags().StringVar(&f.fence, "fence", string(native.Rules), "what keeps the network from the box: `nft` or policy")
	c.Flags().StringVar(&f.egress, "egress", "", "`ADDRESS:PORT` of the way out, when that is in another pod")
	c.Flags().StringArrayVar(&f.canaries, "canary", nil, "`ADDRESS:PORT` that must not be reached (repeatable)")
	c.Flags().StringVar(&f.argsFile, "args-file", "", "a file whose content is one argument")
	c.Flags().StringVar(&f.bundle, "bundle", "", "leave the commits of the run as a git bundle in this `FILE`")
	return c
}

// boxEntry makes the box of this container, tries out its fence, and runs the program.
func (a *app) boxEntry(f nativeFlags, extra []string) error {
	// What this process has in its environment and its memory is not the box's.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fault.Refuse(125, "", "the program could read this process: %v", err)
	}
	// What an earlier box has left in a home that stays is no setting of inner's.
	a = &app{cli.Of(a.Home, filepath.Join(filepath.Dir(f.profile), ".inner"), version)}
	p, c, spec, err := a.inPod(f, extra, func(p *profile.Profile) *profile.Profile { return p })
	if err != nil {
		return err
	}
	fence, err := f.fenceOf(spec)
	if err != nil {
		return err
	}
	spec = isolator.Named(a.Caller, spec)
	agents, err := features.Capabilities(a.Settings, &spec)
	if err != nil {
		return err
	}
	name, _ := os.Hostname()
	box := native.Box{Spec: spec, Agents: agents, Home: c.Home, Env: a.Environ, RunID: name, Volume: export.WorkDir, Kept: []string{p.Path}}
	for _, file := range []string{f.argsFile, filepath.Dir(f.bundle)} {
		if filepath.IsAbs(file) {
			box.Kept = append(box.Kept, file)
		}
	}
	plan, err := native.Plan(box)
	if err != nil {
		return err
	}
	if err := fence.Check(context.Background()); err != nil {
		return err
	}
	if err := forward(fence); err != nil {
		return err
	}
	mask := syscall.Umask(0o077) // see internal/helper; not for the program
	left, err := cli.BeginBundle(c.Cwd, f.bundle)
	if err != nil {
		return err
	}
	syscall.Umask(mask)
	if left != nil {
		if err := left.Ready(); err != nil {
			return err
		}
	}
	out := launch.Run(plan, launch.Options{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Timeout: spec.Output.Timeout})
	syscall.Umask(0o077)
	if !out.Started {
		return isolator.StartFailure(out)
	}
	return cli.Exit(a.EndBundle(left, out.Code))
}

// inPod loads the approved profile in a pod, and refuses what a box without mounts cannot
// enforce, by the table of inner export, whoever wrote the pod. part returns the part of the
// profile that this container needs.
func (a *app) inPod(f nativeFlags, extra []string, part func(*profile.Profile) *profile.Profile) (*profile.Profile, profile.Context, profile.RunConfig, error) {
	var c profile.Context
	var spec profile.RunConfig
	pl, err := a.Here()
	if err != nil {
		return nil, c, spec, err
	}
	o := profile.Overrides{Extra: extra}
	if f.argsFile != "" {
		text, err := cli.ReadArgsFile(f.argsFile)
		if err != nil {
			return nil, c, spec, err
		}
		o.ArgsFile = &text
	}
	p, err := a.ChooseApproved(f.profile, f.approved, pl)
	if err != nil {
		return nil, c, spec, err
	}
	if refused := export.NotNative(p); len(refused) > 0 {
		for _, finding := range refused {
			a.Say("refused: %s", finding)
		}
		return nil, c, spec, fault.Refuse(125, "export it again", "profile %q asks for what a container alone cannot hold", p.Name)
	}
	if c, err = a.Context(pl, o, false); err != nil {
		return nil, c, spec, err
	}
	if spec, err = settings.Resolve(part(p), c); err != nil {
		return nil, c, spec, err
	}
	return p, c, spec, isolator.Experimental(p)
}

// fenceOf reads the flags about the fence.
func (f nativeFlags) fenceOf(spec profile.RunConfig) (native.Fence, error) {
	fence := native.Fence{Kind: native.Kind(f.fence), Wait: fencePatience, Patience: fencePatience}
	if !slices.Contains([]native.Kind{native.Rules, native.Policy}, fence.Kind) {
		return fence, cli.Usagef("--fence %q is not nft or policy", f.fence)
	}
	var err error
	switch {
	case f.egress != "":
		fence.Wait = podPatience
		if fence.Egress, err = netip.ParseAddrPort(f.egress); err != nil {
			return fence, fault.Refuse(125, "make the Service before the pods: kubectl apply again, and delete the Job", "--egress %q is no address", f.egress)
		}
	case spec.Network.ByName():
		fence.Egress = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), profile.ProxyPort)
	}
	for _, text := range f.canaries {
		canary, err := netip.ParseAddrPort(text)
		if err != nil || canary.Addr().IsLoopback() {
			return fence, fault.Refuse(125, "--canary ADDRESS:PORT", "--canary %q is no address beyond this pod", text)
		}
		fence.Canaries = append(fence.Canaries, canary)
	}
	return fence, nil
}

// forward brings a way out that is in another pod to the place where every box has it.
func forward(fence native.Fence) error {
	if !fence.Egress.IsValid() || fence.Egress.Addr().IsLoopback() {
		return nil
	}
	l, err := net.Listen("tcp", loopbackProxy())
	if err != nil {
		return fault.Refuse(125, "", "%v", err)
	}
	go func() { _ = native.Forward(l, fence.Egress.String()) }()
	return nil
}

func loopbackProxy() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(profile.ProxyPort)) }

func (a *app) cmdFence() *cobra.Command {
	return &cobra.Command{
		Use:  "fence",
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.OnHost(func(*cobra.Command, []string) error {
			return native.Enclose(context.Background(), export.UserEgress, export.UserPublish)
		}),
	}
}

func (a *app) cmdEgress() *cobra.Command {
	var f nativeFlags
	var canary string
	c := &cobra.Command{
		Use:  "egress --approved sha256:HEX -p FILE",
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.OnHost(func(_ *cobra.Command, _ []string) error { return a.egress(f, canary) }),
	}
	f.add(c)
	c.Flags().StringVar(&f.listen, "listen", loopbackProxy(), "`ADDRESS:PORT` to listen on")
	c.Flags().StringVar(&canary, "canary", "", "`ADDRESS:PORT` that no box may reach")
	return c
}

// egress serves the hosts of a profile until this container is told to end.
func (a *app) egress(f nativeFlags, canary string) error {
	syscall.Umask(0o077) // see internal/helper
	p, c, spec, err := a.inPod(f, nil, (*profile.Profile).WithoutMounts)
	if err != nil {
		return err
	}
	reach, err := features.ReachOf(a.Settings, p, c, spec)
	if err != nil {
		return err
	}
	for _, line := range reach.Warnings {
		a.Warn("%s", line)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	way := native.Egress{Policy: reach.Policy(), Profile: p.Name, Listen: f.listen, Canary: canary, Say: a.Say, Report: tell.Raw(a.Out)}
	if err := way.Serve(ctx); err != nil {
		return &fault.Refusal{Code: 1, Msg: errors.Join(errors.New("the way out has ended"), err).Error()}
	}
	return nil
}
