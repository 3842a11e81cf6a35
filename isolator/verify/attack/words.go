package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile"
)

// The words of the suite: what scripts of attacks do that no word of a shell does, on the host and,
// where the suite is shown, in the box. What a word returns is printed.

// Word is the first argument of a process of the suite that does one of the words, and BoxWord of one that
// runs a script in the box of a profile; both follow.
const (
	Word    = "__do"
	BoxWord = "__box"
)

// Do does a word and returns the exit code.
func Do(args []string) int {
	if len(args) == 0 || words()[args[0]] == nil {
		fmt.Fprintln(os.Stderr, "inner: "+Word+" is for the attack suite itself")
		return 2
	}
	said, err := words()[args[0]](args[1:])
	_, _ = os.Stdout.WriteString(said)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		return 1
	}
	return 0
}

type word = func(args []string) (string, error)

func words() map[string]word {
	return map[string]word{
		// On the host, until the attack is over.
		"serve": serve, "hold": hold, "swap": swap, "shm": shm, "msg": msg, "mq": mq, "key": addKey, "keyed": keyed,
		// On the host, at once.
		"await": await, "race": race, "typed": typed, "project": project,
		// Anywhere.
		"look": func(args []string) (string, error) { return gather(args, look) },
		"dial": func(args []string) (string, error) { return dial(args[0], args[1]) },
		"send": send, "dns": dns, "put": putText, "proxy": proxy, "env": environ, "inner": asInner,
		"memory": memory, "ptrace": ptrace, "pidfd": pidfd, "descriptors": descriptors, "keys": keys,
		"call": call, "open": func(args []string) (string, error) { return "", openAny(args) },
		"mknod": mknod, "setuid": setuid, "modes": modes, "type": typeText,
	}
}

// gather does something with each item, and joins what is said.
func gather[T any](list []T, do func(T) (string, error)) (string, error) {
	var said strings.Builder
	var errs []error
	for _, it := range list {
		text, err := do(it)
		said.WriteString(text)
		errs = append(errs, err)
	}
	return said.String(), errors.Join(errs...)
}

// stay keeps a process until the script that started it has ended. It has said what it had to.
func stay(said string) {
	_, _ = os.Stdout.WriteString(said + "\n")
	for parent := os.Getppid(); os.Getppid() == parent; {
		time.Sleep(20 * time.Millisecond)
	}
}

// tab is a line of what is at a place.
func tab(place, text string) string {
	return place + "\t" + strings.NewReplacer("\n", " ", "\x00", " ").Replace(text) + "\n"
}

// look reads what is at a path: a file, a whole folder, what a socket answers.
func look(p string) (string, error) {
	fi, err := os.Stat(p)
	switch {
	case err != nil:
		return "", err
	case fi.Mode()&fs.ModeSocket != 0:
		text, err := dial("unix", p)
		return tab(p, text), err
	}
	var b bytes.Buffer
	err = filepath.WalkDir(p, func(q string, d fs.DirEntry, err error) error {
		if err == nil && (d.Type().IsRegular() || p == q && !d.IsDir()) {
			data, _ := os.ReadFile(q) // what cannot be read says nothing
			b.Write(data)
		}
		return nil
	})
	return tab(p, b.String()), err
}

// dial connects and reads what is answered.
func dial(network, address string) (string, error) { return ask(network, address, "", time.Second) }

// ask connects, says something and reads what comes.
func ask(network, address, text string, patience time.Duration) (string, error) {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if text != "" {
		_, err = io.WriteString(c, text)
	}
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(c, 1<<16))
	return string(data), err
}

// send says something to who answers with one message, or none.
func send(args []string) (string, error) { return ask(args[0], args[1], args[2], 300*time.Millisecond) }

// putText writes into what is there, and does not wait for who reads.
func putText(args []string) (string, error) {
	fd, err := unix.Open(args[0], unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Write(fd, []byte(args[1]))
	}
	return "", err
}

// dns asks a name server for a name.
func dns(args []string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", args[0])
	}}
	found, err := r.LookupHost(ctx, args[1])
	return strings.Join(found, " "), err
}

// serve gives the secret, $VICTIM, to everybody who asks at an address, and keeps what it hears in the
// file $HEARD. It says the address.
func serve(args []string) (string, error) {
	at, secret := args[1], []byte(os.Getenv("VICTIM"))
	if host, ok := strings.CutPrefix(at, "own:"); ok {
		own, err := ownAddress()
		if err != nil {
			return "no address\n", err
		}
		at = net.JoinHostPort(own, host)
	}
	said, err := serveAt(args[0], at, secret)
	if err != nil {
		return fmt.Sprintf("no %v\n", err), err
	}
	stay(said)
	return "", nil
}

func serveAt(network, at string, secret []byte) (said string, err error) {
	switch network {
	case "unix", "tcp":
		if network == "unix" && !strings.HasPrefix(at, "@") {
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				return "", err
			}
		}
		l, err := net.Listen(network, at)
		if err != nil {
			return "", err
		}
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				_, _ = c.Write(secret)
				c.Close()
			}
		}()
		return l.Addr().String(), nil
	case "udp", "unixgram":
		c, err := net.ListenPacket(network, at)
		if err != nil {
			return "", err
		}
		go func() {
			buf := make([]byte, 4096)
			for n, from, err := c.ReadFrom(buf); err == nil; n, from, err = c.ReadFrom(buf) {
				hear(buf[:n])
				if network == "udp" {
					_, _ = c.WriteTo(secret, from)
				}
			}
		}()
		return c.LocalAddr().String(), nil
	}
	if network == "fifo" {
		err = unix.Mkfifo(at, 0o600)
	} else {
		said, at = at, "/dev/ptmx"
	}
	fd, err2 := unix.Open(at, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err = errors.Join(err, err2); err == nil && network == "pty" {
		var n int
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
		if err == nil {
			n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		at = fmt.Sprintf("/dev/pts/%d", n)
	}
	go func() {
		for buf := make([]byte, 4096); ; {
			if n, err := unix.Read(fd, buf); err == nil {
				hear(buf[:n])
			} else {
				time.Sleep(10 * time.Millisecond) // nobody has it open yet
			}
		}
	}()
	return at, err
}

func hear(data []byte) {
	f, err := os.OpenFile(os.Getenv("HEARD"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, _ = f.Write(data)
		f.Close()
	}
}

// ownAddress is an address of the host that is not the loopback's.
func ownAddress() (string, error) {
	list, err := net.InterfaceAddrs()
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return n.IP.String(), err
		}
	}
	return "", errors.Join(err, errors.New("this machine has no address but the loopback's"))
}

// environ prints the variables of this process and of all others that can be seen: whoever started
// it may still have what it was not given.
func environ([]string) (string, error) {
	var b strings.Builder
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		b.WriteString(tab(name, value))
	}
	others, err := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range others {
		data, _ := os.ReadFile(p) // not ours to read, or gone
		b.WriteString(tab(p, string(data)))
	}
	return b.String(), err
}

// asInner is inner, whatever its file is called.
func asInner(args []string) (string, error) {
	return "", unix.Exec(args[0], append([]string{"inner"}, args[1:]...), os.Environ())
}

// await prints the process that sleeps for so many seconds, or nothing: now, when it is up, or when
// it is not gone in time.
func await(args []string) (string, error) {
	for range 1000 {
		pid := ""
		paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, p := range paths {
			if data, err := os.ReadFile(p); err == nil && strings.Contains(string(data), "sleep\x00"+args[0]) {
				pid = filepath.Base(filepath.Dir(p))
			}
		}
		if args[1] == "now" || (pid != "") == (args[1] == "up") {
			return pid, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return "", nil
}

// swap exchanges each folder for what is beside it under the name .swap, all the time.
func swap(paths []string) (string, error) {
	go func() {
		for {
			for _, p := range paths {
				_ = unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, p+".swap", unix.RENAME_EXCHANGE)
			}
		}
	}()
	stay("swapping")
	return "", nil
}

// race looks at folders and then reads a key in them, until that has worked once: on a busy machine it takes
// longer.
func race(paths []string) (string, error) {
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		for _, p := range paths {
			if fi, err := os.Lstat(p); err == nil && fi.IsDir() {
				if data, err := os.ReadFile(filepath.Join(p, "id_ed25519")); err == nil {
					return string(data), nil
				}
			}
		}
	}
	return "", nil
}

// project prints the project that a folder is a worktree of.
func project(args []string) (string, error) {
	if p := profile.FindProject(args[0]); p != nil {
		return p.Of, nil
	}
	return "", nil
}

// proxy has the proxy of the box lead to a port of the host. Where there is none it asks without it.
func proxy(args []string) (string, error) {
	kind, port := args[0], args[1]
	self, local := "127.0.0.1:"+strconv.Itoa(profile.ProxyPort), "127.0.0.1:"+port
	connect := func(host string) string { return "CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n" }
	var requests []string
	switch kind {
	case "connect":
		for _, h := range []string{
			"127.0.0.1", "localhost", "LocalHost.", "127.1", "127.0.0.2", "2130706433",
			"0x7f000001", "0177.0.0.1", "017700000001", "0.0.0.0", "0",
			"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
			"[64:ff9b::7f00:1]", "[::127.0.0.1]", "github.com@127.0.0.1", "127.0.0.1\x00.github.com",
			"127.0.0.1%00.github.com", "127.0.0.1.", "localtest.github.com.127.0.0.1", "ip6-localhost",
		} {
			requests = append(requests, connect(h+":"+port))
		}
	case "allowed":
		requests = []string{
			"CONNECT github.com:443 HTTP/1.1\r\nHost: " + local + "\r\n\r\n",
			"CONNECT " + local + " HTTP/1.1\r\nHost: github.com:443\r\n\r\n",
			"GET http://github.com:80/ HTTP/1.1\r\nHost: " + local + "\r\n\r\n",
			"GET http://" + local + "/ HTTP/1.1\r\nHost: github.com\r\n\r\n",
			"GET http://github.com@" + local + "/ HTTP/1.1\r\nHost: github.com\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: " + local + "\r\n\r\n",
		}
	case "relay":
		requests = []string{connect(self) + connect(local)}
	case "own":
		list, err := net.InterfaceAddrs()
		if err != nil {
			return "", err
		}
		for _, a := range list {
			if n, ok := a.(*net.IPNet); ok {
				requests = append(requests, connect(net.JoinHostPort(n.IP.String(), port)))
			}
		}
	}
	return gather(requests, func(request string) (string, error) {
		c, err := net.DialTimeout("tcp", self, time.Second)
		if err != nil {
			return dial("tcp", local)
		}
		c.Close()
		said, err := ask("tcp", self, request, 500*time.Millisecond)
		return tab(strconv.Quote(request), said), err
	})
}
