package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sockets does with sockets what no shell can: it is on PATH in the stories, and
// can be seen in a box.
//
//	sockets get URL             by way of $HTTP_PROXY: the code, and the first line of the answer
//	sockets dial NETWORK ADDR   sends a byte and wants an answer: "ok ANSWER", or the errno
//	sockets lookup NAME         "ok", or "no answer"
//	sockets serve NETWORK ADDR FILE TEXT
//	                            answers TEXT to everyone, until it is killed; FILE gets the address
func sockets(args []string) int {
	fail := func(err error) int {
		word := err.Error()
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			word = unix.ErrnoName(errno)
		}
		fmt.Println(word)
		return 1
	}
	switch {
	case len(args) == 2 && args[0] == "get":
		proxy, err := url.Parse(os.Getenv("HTTP_PROXY"))
		if err != nil {
			return fail(err)
		}
		c := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		r, err := c.Get(args[1])
		if err != nil {
			return fail(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return fail(err)
		}
		line, _, _ := strings.Cut(string(body), "\n")
		fmt.Println(r.StatusCode, line)
	case len(args) == 3 && args[0] == "dial":
		c, err := net.DialTimeout(args[1], args[2], 5*time.Second)
		if err != nil {
			return fail(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		buf := make([]byte, 100)
		if _, err = c.Write([]byte("?")); err == nil {
			var n int
			n, err = c.Read(buf)
			buf = buf[:n]
		}
		if err != nil {
			return fail(err)
		}
		fmt.Printf("ok %s\n", buf)
	case len(args) == 2 && args[0] == "lookup":
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if _, err := net.DefaultResolver.LookupHost(ctx, args[1]); err != nil {
			fmt.Println("no answer")
			return 1
		}
		fmt.Println("ok")
	case len(args) == 5 && args[0] == "serve":
		return fail(serveText(args[1], args[2], args[3], args[4]))
	default:
		fmt.Println("sockets: unknown words")
		return 2
	}
	return 0
}

// serveText answers text to everyone.
func serveText(network, addr, file, text string) error {
	ready := func(a net.Addr) error {
		if err := os.WriteFile(file+".new", []byte(a.String()), 0o600); err != nil {
			return err
		}
		return os.Rename(file+".new", file)
	}
	if network == "udp" {
		c, err := net.ListenPacket(network, addr)
		if err == nil {
			err = ready(c.LocalAddr())
		}
		for buf := make([]byte, 100); err == nil; {
			var from net.Addr
			if _, from, err = c.ReadFrom(buf); err == nil {
				_, err = c.WriteTo([]byte(text), from)
			}
		}
		return err
	}
	l, err := net.Listen(network, addr)
	if err == nil {
		err = ready(l.Addr())
	}
	for err == nil {
		var c net.Conn
		if c, err = l.Accept(); err != nil {
			break
		}
		go func() {
			defer c.Close()
			if _, err := c.Read(make([]byte, 4096)); err == nil {
				_, _ = io.WriteString(c, text)
			}
		}()
	}
	return err
}
