package attack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

func fullNetwork(rc profile.RunConfig) string {
	if rc.Network == profile.NetFull {
		return "network = true"
	}
	return ""
}

// openAbstract returns plan.AbstractOpen for this host.
func openAbstract(rc profile.RunConfig) string {
	f := host.Facts{Landlock: host.LandlockABI()}
	if rc.Clipboard {
		f.Display = host.FindDisplay(map[string]string{"DISPLAY": os.Getenv("DISPLAY")})
	}
	return plan.AbstractOpen(rc, f)
}

// writesAnywhere says why a box may open for writing what is no file and lies on
// a read-only mount.
func writesAnywhere(rc profile.RunConfig) string {
	switch {
	case rc.Landlock == "off":
		return `allow = ["no-landlock"]`
	case slices.Contains(rc.Allow, "nested-user-ns"):
		return "nested-user-ns: containers mount, which Landlock would forbid"
	}
	return ""
}

func sockets() []Attack {
	return []Attack{
		server("socket-home", "connect to a server's socket in the home", "unix", inFixture(".agent.sock"), nil),
		server("socket-project", "connect to a server's socket in the project", "unix", inFixture("app/server.sock"), nil),
		socketRelative(),
		server("socket-tmp", "connect to a server's socket in /tmp, such as tmux's", "unix", inTmp("default"), nil),
		server("socket-abstract", "connect to an abstract socket", "unix", func(*Fixture) (string, error) { return "@inner-attack-" + random(), nil }, openAbstract),
		server("loopback-4", "connect to a server of the host on 127.0.0.1", "tcp", at("127.0.0.1:0"), fullNetwork),
		server("loopback-6", "connect to a server of the host on ::1", "tcp", at("[::1]:0"), fullNetwork),
		loopbackMapped(),
		runtimeSockets(),
		server("host-address", "connect to a server of the host on an address of its own", "tcp", ownAddress, fullNetwork),
		dnsLookup(),
		byVariable("ssh-agent", "ask the SSH agent that SSH_AUTH_SOCK names", "SSH_AUTH_SOCK", "%s"),
		byVariable("session-bus", "ask the bus that DBUS_SESSION_BUS_ADDRESS names", "DBUS_SESSION_BUS_ADDRESS", "unix:path=%s"),
		loopbackUDP(),
		socketDatagram(),
		fifo(),
	}
}

func socketRelative() Attack {
	return Attack{
		Name: "socket-relative", Class: "sockets", What: "connect to a socket in the home that was bound by a relative name", Try: connect,
		Declared: limit("the kernel's table has no absolute name of the socket"),
		Stage: func(s *Fixture) error {
			s.Trial.Text["network"], s.Trial.Text["address"] = "unix", s.path("outside/n.s")
			return s.startServer(s.path("outside"), "n.s")
		},
	}
}

func dnsLookup() Attack {
	return Attack{
		Name: "dns-lookup", Class: "sockets", What: "send something out in a question to a name server", Declared: fullNetwork, Effect: heard,
		Stage: func(s *Fixture) error {
			c, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			s.Trial.Text["address"] = c.LocalAddr().String()
			s.hear(func(buf []byte) (int, error) {
				_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
				n, _, err := c.ReadFrom(buf)
				return n, err
			}, func() { c.Close() })
			return nil
		},
		Try: func(t Trial) (string, error) {
			ctx, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer stop()
			r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "udp", t.Text["address"])
			}}
			found, err := r.LookupHost(ctx, t.Mark+".test.")
			return strings.Join(found, " "), err
		},
	}
}

func loopbackUDP() Attack {
	return Attack{
		Name: "loopback-udp", Class: "sockets", What: "ask a server of the host by UDP", Declared: fullNetwork,
		Stage: func(s *Fixture) error {
			c, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			s.undo = append(s.undo, func() { c.Close() })
			s.Trial.Text["address"] = c.LocalAddr().String()
			go func() {
				buf := make([]byte, 64)
				for {
					_, from, err := c.ReadFrom(buf)
					if err != nil {
						return
					}
					_, _ = c.WriteTo([]byte(s.Secret), from)
				}
			}()
			return nil
		},
		Try: func(t Trial) (string, error) {
			c, err := net.Dial("udp", t.Text["address"])
			if err != nil {
				return "", err
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond))
			if _, err := c.Write([]byte("?")); err != nil {
				return "", err
			}
			buf := make([]byte, 256)
			n, err := c.Read(buf)
			return string(buf[:n]), err
		},
	}
}

func socketDatagram() Attack {
	return Attack{
		Name: "socket-datagram", Class: "sockets", What: "send to a datagram socket in the home", Effect: heard,
		Stage: func(s *Fixture) error {
			p := s.path(".log.sock")
			c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: p, Net: "unixgram"})
			if err != nil {
				return err
			}
			s.target(".log.sock")
			s.hear(func(buf []byte) (int, error) {
				_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
				return c.Read(buf)
			}, func() { c.Close() })
			return nil
		},
		Try: func(t Trial) (string, error) {
			c, err := net.Dial("unixgram", t.Paths[0])
			if err != nil {
				return "", err
			}
			defer c.Close()
			_, err = c.Write([]byte(t.Mark))
			return "", err
		},
	}
}

func fifo() Attack {
	return Attack{
		Name: "fifo", Class: "sockets", What: "write into a FIFO in the home", Effect: heard, Declared: writesAnywhere,
		Stage: func(s *Fixture) error {
			p := s.path("fifo")
			if err := unix.Mkfifo(p, 0o600); err != nil {
				return err
			}
			fd, err := unix.Open(p, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			s.target("fifo")
			s.hear(func(buf []byte) (int, error) { return unix.Read(fd, buf) }, func() { unix.Close(fd) })
			return nil
		},
		Try: func(t Trial) (string, error) {
			fd, err := unix.Open(t.Paths[0], unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err != nil {
				return "", err
			}
			defer unix.Close(fd)
			_, err = unix.Write(fd, []byte(t.Mark))
			return "", err
		},
	}
}

// connect asks the server that the fixture has started.
func connect(t Trial) (string, error) { return dial(t.Text["network"], t.Text["address"]) }

// server returns the attack that connects to a server of the host, which listens at address.
func server(name, what, network string, address func(*Fixture) (string, error), declared func(profile.RunConfig) string) Attack {
	return Attack{
		Name: name, Class: "sockets", What: what, Try: connect, Declared: declared,
		Stage: func(s *Fixture) error {
			addr, err := address(s)
			if err != nil {
				return err
			}
			l, err := s.serve(network, addr)
			if err != nil {
				return err
			}
			s.Trial.Text["network"], s.Trial.Text["address"] = network, addr
			if network == "tcp" {
				s.Trial.Text["address"] = l.Addr().String()
			}
			return nil
		},
	}
}

// at, inFixture and inTmp say where a server listens.
func at(addr string) func(*Fixture) (string, error) {
	return func(*Fixture) (string, error) { return addr, nil }
}

func inFixture(name string) func(*Fixture) (string, error) {
	return func(s *Fixture) (string, error) { return s.path(name), nil }
}

func inTmp(name string) func(*Fixture) (string, error) {
	return func(s *Fixture) (string, error) {
		dir, err := s.temp("/tmp")
		return filepath.Join(dir, name), err
	}
}

func loopbackMapped() Attack {
	a := server("loopback-mapped", "connect to 127.0.0.1 by its IPv6 form and by its network", "tcp", at("127.0.0.1:0"), fullNetwork)
	a.Try = func(t Trial) (string, error) {
		_, port, err := net.SplitHostPort(t.Text["address"])
		if err != nil {
			return "", err
		}
		return gather([]string{"::ffff:127.0.0.1", "0.0.0.0", "::"}, func(host string) (string, error) { return dial("tcp", net.JoinHostPort(host, port)) })
	}
	return a
}

// byVariable returns the attack that asks the server which a variable names.
func byVariable(name, what, variable, form string) Attack {
	a := server(name, what, "unix", inTmp("agent.1"), nil)
	stage := a.Stage
	a.Stage = func(s *Fixture) error {
		err := stage(s)
		s.Env = append(s.Env, variable+"="+fmt.Sprintf(form, s.Trial.Text["address"]))
		return err
	}
	a.Try = func(t Trial) (string, error) {
		_, path, _ := strings.Cut("="+os.Getenv(variable), "=")
		path = strings.TrimPrefix(path, "unix:path=")
		said, err := dial("unix", path)
		more, err2 := connect(t)
		return said + more, errors.Join(err, err2)
	}
	return a
}

// runtimeSockets asks what a session keeps in its runtime folder.
func runtimeSockets() Attack {
	return Attack{
		Name: "runtime-sockets", Class: "sockets", What: "connect to the servers of the session in XDG_RUNTIME_DIR: bus, service manager, agents, display, sound, containers", Try: readAll,
		Stage: func(s *Fixture) error {
			for _, name := range []string{
				"bus", "systemd/private", "gnupg/S.gpg-agent", "keyring/ssh", "keyring/control", "wayland-0", "pipewire-0", "pulse/native",
				"podman/podman.sock", "docker.sock", "tmux/default", "nvim.1.0", "vscode-ipc.sock", "pcscd/pcscd.comm",
			} {
				at := filepath.Join(s.Run, name)
				if _, err := s.serve("unix", at); err != nil {
					return err
				}
				s.target(at)
			}
			return nil
		},
	}
}

// ownAddress is an address of the host that is not the loopback's.
func ownAddress(*Fixture) (string, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return net.JoinHostPort(n.IP.String(), "0"), nil
		}
	}
	return "", errors.New("this machine has no address but the loopback's")
}

// hear keeps a reader for heard, to be asked after the attack.
func (s *Fixture) hear(read func([]byte) (int, error), undo func()) {
	s.ear = read
	s.undo = append(s.undo, undo)
}

// heard says whether the mark has come in.
func heard(s *Fixture) string {
	buf := make([]byte, 4096)
	if n, _ := s.ear(buf); n > 0 && strings.Contains(string(buf[:n]), s.Trial.Mark) {
		return "the host has got the message"
	}
	return ""
}
