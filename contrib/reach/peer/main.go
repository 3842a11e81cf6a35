// Command peer is both ends of the checks of `make reach` that need one: a server behind TLS and without, and a
// client that is linked statically and resolves names by itself.
//
//	peer serve WWW REPOSITORIES CERT KEY SCHEME://ADDR...   files of WWW/NAME, repositories of git; talk and big
//	peer get URL              the body
//	peer many ADDR COUNT      connections at once, each echoed
//	peer first ADDR COUNT     the median of a connection and its first line, in milliseconds
//	peer speed ADDR MB        MB/s of a connection
//	peer rate URL SECONDS N   requests a second of N clients
//	peer streams URL COUNT N  event streams at once, by HTTP/N, each with the login of LAB_TOKEN and read to its end
//
// A client goes through the proxy that HTTPS_PROXY names, if there is one.
package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("see the head of contrib/reach/peer/main.go")
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(slices.Concat(args, make([]string, 4))[i])
		return n
	}
	switch args[0] {
	case "serve":
		return serve(args[1:])
	case "get":
		return get(args[1])
	case "many":
		return many(args[1], number(2))
	case "first":
		return first(args[1], number(2))
	case "speed":
		return speed(args[1], number(2))
	case "rate":
		return rate(args[1], number(2), number(3))
	case "streams":
		return streams(args[1], number(2), number(3))
	}
	return fmt.Errorf("no such part: %q", args[0])
}

// serve listens at each address for what its scheme says: http://ADDR, https://ADDR, talk://ADDR and big://ADDR.
func serve(args []string) error {
	if len(args) < 5 {
		return errors.New("too few arguments")
	}
	www, cert, key := args[0], args[2], args[3]
	git := cgi.Handler{
		Path: "/usr/lib/git-core/git-http-backend", Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + args[1], "GIT_HTTP_EXPORT_ALL=1"},
	}
	http.Handle("/git/", &git)
	http.Handle("/socket", httputil.NewSingleHostReverseProxy(&url.URL{
		Scheme: "http",
		Host:   "127.0.0.1:8765",
	}))
	http.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintln(w, "hello from", r.Host, r.Proto, n, err)
	})
	http.HandleFunc("/full", func(w http.ResponseWriter, r *http.Request) { // answered early
		_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
		http.Error(w, "full", http.StatusRequestEntityTooLarge)
	})
	private := git
	private.Root, private.Env = "/private", append(private.Env, "REMOTE_USER=me")
	login := func(next http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, password, _ := r.BasicAuth()
			_, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			if token := os.Getenv("LAB_TOKEN"); value != token && password != token && r.Header.Get("Private-Token") != token {
				w.Header().Set("WWW-Authenticate", "Basic")
				http.Error(w, "no login", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		}
	}
	http.HandleFunc("/private/", login(&private))
	http.HandleFunc("/private/socket", login(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:8765", Path: "/"})))
	http.HandleFunc("/private/events", login(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range events {
			fmt.Fprintf(w, "data: %d at %s\n\n", i, r.Proto)
			w.(http.Flusher).Flush()
			time.Sleep(time.Second)
		}
	})))
	for _, path := range []string{"/login", "/upload", "/user", "/world", "/@me%2Fworld"} { // as those of registries and GitHub
		http.HandleFunc(path, login(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, "{\"login\": \"logged in at %s\", \"bytes\": %d}\n", r.Host, n)
		})))
	}
	serveAgents()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		http.FileServer(http.Dir(filepath.Join(www, host))).ServeHTTP(w, r)
	})
	ended := make(chan error)
	for _, to := range args[4:] {
		scheme, addr, _ := strings.Cut(to, "://")
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		switch scheme {
		case "http":
			go func() { ended <- http.Serve(l, nil) }()
		case "https":
			go func() { ended <- http.ServeTLS(l, nil, cert, key) }()
		case "talk":
			go func() { ended <- each(l, answer) }()
		case "big":
			go func() { ended <- each(l, zeros) }()
		}
	}
	return <-ended
}

func each(l net.Listener, do func(net.Conn)) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			do(c)
			c.Close()
		}()
	}
}

// answer talks first, echoes until the other end has no more to say, and has the last word.
func answer(c net.Conn) {
	fmt.Fprintln(c, "welcome")
	_, _ = io.Copy(struct{ io.Writer }{c}, c) // as it is, Go splices by a pipe: two descriptors more
	fmt.Fprintln(c, "goodbye")
}

// zeros are for who measures how many come.
func zeros(c net.Conn) {
	part := make([]byte, 256<<10)
	for err := error(nil); err == nil; {
		_, err = c.Write(part)
	}
}

// dial connects to an address, through the proxy if there is one.
func dial(addr string) (net.Conn, error) {
	proxy, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || proxy.Host == "" {
		return net.Dial("tcp", addr)
	}
	c, err := net.Dial("tcp", proxy.Host)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", addr, addr)
	head, one := "", make([]byte, 1) // not a byte more than the head: the rest is the server's
	for !strings.HasSuffix(head, "\r\n\r\n") {
		if _, err := c.Read(one); err != nil {
			return nil, err
		}
		head += string(one)
	}
	if !strings.Contains(head, " 200 ") {
		return nil, errors.New(head)
	}
	return c, nil
}

func get(where string) error {
	r, err := http.Get(where)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, r.Body)
	return err
}

// many has all connections at once, and sees an echo on each after the last was made.
func many(addr string, count int) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	found, err := net.LookupHost(host)
	if err != nil {
		return err
	}
	all := make([]net.Conn, count)
	for i := range all {
		if all[i], err = net.Dial("tcp", net.JoinHostPort(found[0], port)); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	for i, c := range all {
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintln(c, i)
		in := bufio.NewReader(c)
		hello, _ := in.ReadString('\n')
		echo, err := in.ReadString('\n')
		if hello != "welcome\n" || echo != fmt.Sprintln(i) {
			return fmt.Errorf("connection %d: %q %q %v", i, hello, echo, err)
		}
	}
	_, err = fmt.Println(count, "echoed")
	return err
}

func first(addr string, count int) error {
	times := make([]time.Duration, count)
	for i := range times {
		begin := time.Now()
		c, err := dial(addr)
		if err == nil {
			_, err = c.Read(make([]byte, 1))
		}
		if err != nil {
			return err
		}
		times[i] = time.Since(begin)
		c.Close()
	}
	slices.Sort(times)
	fmt.Printf("%.2f\n", float64(times[count/2].Microseconds())/1000)
	return nil
}

func speed(addr string, megabytes int) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	begin := time.Now()
	n, err := io.CopyN(io.Discard, c, int64(megabytes)<<20)
	fmt.Printf("%.0f\n", float64(n)/1e6/time.Since(begin).Seconds())
	return err
}

const events = 5 // of a stream, one a second

// streams has all of them at once: each has its first event before any has its last.
func streams(where string, count, version int) error {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: version == 2}
	if version == 1 {
		t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	var open, most atomic.Int64
	ended := make(chan error)
	for range count {
		go func() {
			r, err := http.NewRequest("GET", where, nil)
			if err == nil {
				r.Header.Set("Authorization", "Bearer "+os.Getenv("LAB_TOKEN"))
				err = stream(t, r, func(n int64) { most.Store(max(most.Load(), open.Add(n))) })
			}
			ended <- err
		}()
	}
	var err error
	for range count {
		err = errors.Join(err, <-ended)
	}
	if err == nil {
		fmt.Printf("%d streams, %d at once\n", count, most.Load())
	}
	return err
}

func stream(t *http.Transport, r *http.Request, open func(int64)) error {
	a, err := t.RoundTrip(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	n := 0
	for in := bufio.NewScanner(a.Body); in.Scan(); {
		if strings.HasPrefix(in.Text(), fmt.Sprintf("data: %d at ", n)) {
			if n++; n == 1 {
				open(1)
			}
		}
	}
	open(-1)
	if n != events {
		return fmt.Errorf("%s, %d events", a.Status, n)
	}
	return nil
}

func rate(where string, seconds, clients int) error {
	// Connections are kept, as a client's own library does.
	client := &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: clients,
	}}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	done := make(chan int)
	for range clients {
		go func() {
			n := 0
			for ; time.Now().Before(end); n++ {
				r, err := client.Get(where)
				if err != nil {
					fmt.Fprintln(os.Stderr, "peer:", err)
					os.Exit(1)
				}
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
			done <- n
		}()
	}
	sum := 0
	for range clients {
		sum += <-done
	}
	_, err := fmt.Println(sum / seconds)
	return err
}
