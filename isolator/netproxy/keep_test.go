package netproxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/net/dns/dnsmessage"
)

// Clients that keep connections ask one thing after the other of a server that closes without a word of it.
func TestKept(t *testing.T) {
	w := newWorld(t)
	w.names["name.example"] = []string{"93.184.216.34"}
	w.serve("93.184.216.34:80", func(conn net.Conn) {
		r := bufio.NewReader(conn)
		if req, err := http.ReadRequest(r); err == nil {
			io.Copy(io.Discard, req.Body)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nkept \n")
			r.Peek(1) // a next request comes just before it closes
		}
		conn.Close()
	})
	p, proxy := w.proxy(Options{Policy: NewPolicy(rules(t, "name.example"), nil)})
	r := inRoom(t, p)
	if code, _ := r.ask("name.example", dnsmessage.TypeA); code != 0 {
		t.Fatal(code)
	}
	r.mu.Lock()
	at := r.at[netip.MustParseAddrPort("198.19.0.0:80")].Addr().String()
	r.mu.Unlock()
	const (
		node = `const http = require("http"), agent = new http.Agent({keepAlive: true, maxSockets: 1}), [, at, path] = process.argv;
const [host, port] = at.split(":"); let n = 0;
const next = () => n++ < 8 && http.request({host, port, path, agent, headers: {Host: "name.example"}, method: n % 2 ? "GET" : "POST"}, r => { r.pipe(process.stdout); r.on("end", () => setTimeout(next, 5)) }).end(n % 2 ? "" : "body");
next()`
		python = `import http.client, sys, time
c = http.client.HTTPConnection(sys.argv[1])
for n in range(8):
    c.request("POST" if n % 2 else "GET", sys.argv[2], headers={"Host": "name.example"}, body="body" if n % 2 else None)
    print(c.getresponse().read().decode().strip(), flush=True)
    time.sleep(0.005)`
	)
	for _, c := range [][]string{
		{"node", "-e", node, at, "/"},
		{"node", "-e", node, proxy, "http://name.example/"},
		{"python3", "-c", python, at, "/"},
		{"python3", "-c", python, proxy, "http://name.example/"},
	} {
		if _, err := exec.LookPath(c[0]); err != nil {
			if os.Getenv("INNER_TEST_MUST") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
		out, err := exec.Command(c[0], c[1:]...).CombinedOutput()
		if n := strings.Count(string(out), "kept"); err != nil || n != 8 {
			t.Errorf("%s %s: %d of 8, %v: %s", c[0], c[3:], n, err, out)
		}
	}
}

// What is put into an answer, however it comes.
func TestSayClose(t *testing.T) {
	const line = "Connection: close\r\n"
	for _, c := range []struct{ answer, want string }{
		{"HTTP/1.1 200 OK\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n" + line + "A: b\r\n\r\nHTTP/1.1 200 OK\r\n"},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: HTTP/1.1 200\r\n\r\nHTTP/1.0 404 No\n\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: HTTP/1.1 200\r\n\r\nHTTP/1.0 404 No\n" + line + "\n"},
		{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x00\n\n", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x00\n\n"},
		{"hello\nHTTP/1.1 200 OK\r\n", "hello\nHTTP/1.1 200 OK\r\n"},
		{"HTTP/1.1 2", "HTTP/1.1 2"},
		{strings.Repeat("x", 1<<10) + "\n", strings.Repeat("x", 1<<10) + "\n"},
	} {
		for _, size := range []int{1, 2} {
			from := iotest.OneByteReader(strings.NewReader(c.answer))
			if size > 1 {
				from = strings.NewReader(c.answer)
			}
			var got strings.Builder
			if err := sayClose(&got, from, func() {}); err != nil {
				t.Error(err)
			}
			if _, err := io.Copy(&got, from); err != nil || got.String() != c.want {
				t.Errorf("%q, %v\nwant %q", got.String(), err, c.want)
			}
		}
	}
}
