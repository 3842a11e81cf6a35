// Command world plays what is around a box in the checks of `make fleet`:
//
//	world pause                        waits: what holds the namespaces of a pod
//	world http ADDR TEXT               answers every request with TEXT
//	world git ROOT ADDR TOKEN          repositories below ROOT; pushing needs TOKEN as password
//	world dns ADDR NAME=IP...          answers for these names, and says no for all others
//	world probe NAME TARGET...         tries to reach each, prints what came, and fails when one was reached
package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "world:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	const any = 1000
	parts := map[string]struct {
		least, most int // arguments
		do          func(args []string) error
	}{
		"pause": {0, any, func([]string) error { return pause() }},
		"http":  {2, 2, func(args []string) error { return serveText(args[0], args[1]) }},
		"git":   {3, 3, func(args []string) error { return serveGit(args[0], args[1], args[2]) }},
		"dns":   {2, any, func(args []string) error { return serveDNS(args[0], args[1:]) }},
		"probe": {2, any, func(args []string) error { return probe(args[0], args[1:]) }},
	}
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	part, known := parts[name]
	if !known || len(args) < part.least || len(args) > part.most {
		return fmt.Errorf("no such part: %q %q", name, args)
	}
	return part.do(args)
}

// serveText answers every request with a text.
func serveText(addr, text string) error {
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request,
	) {
		fmt.Fprintln(w, text)
	}))
}

// pause waits for a signal, and reaps what processes of the pod leave.
func pause() error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	child := make(chan os.Signal, 1)
	signal.Notify(child, syscall.SIGCHLD)
	for {
		select {
		case <-stop:
			return nil
		case <-child:
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
					break
				}
			}
		}
	}
}

// serveGit is git's own program behind HTTP. Everybody reads; who pushes has the token.
func serveGit(root, addr, token string) error {
	backend := &cgi.Handler{
		Path: "/usr/lib/git-core/git-http-backend",
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=publisher"},
	}
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		push := strings.Contains(r.URL.RawQuery, "receive-pack") || strings.HasSuffix(r.URL.Path, "receive-pack")
		if push && password != token {
			w.Header().Set("WWW-Authenticate", "Basic realm=git")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
}

// patience is how long a probe waits for an answer.
const patience = 10 * time.Second

// probe tries to reach each target, of the form tcp:HOST:PORT or dns:SERVER/NAME, for as
// long as patience. It prints a line for each and fails when one was reached.
func probe(name string, targets []string) error {
	reached := 0
	for _, target := range targets {
		if err := reach(target); err != nil {
			fmt.Printf("%s: %s: %v\n", name, target, err)
			continue
		}
		reached++
		fmt.Printf("%s: %s: REACHED\n", name, target)
	}
	if reached > 0 {
		return fmt.Errorf("%d of %d reached", reached, len(targets))
	}
	return nil
}

// reach tries to reach one target.
func reach(target string) error {
	switch kind, to, _ := strings.Cut(target, ":"); kind {
	case "tcp":
		c, err := net.DialTimeout("tcp", to, patience)
		if err == nil {
			c.Close()
		}
		return err
	case "dns":
		server, host, _ := strings.Cut(to, "/")
		return ask(server, host)
	}
	return errors.New("no such kind of target")
}
