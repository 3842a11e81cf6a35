package attack

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/profile"
)

// proxies attack the proxy of a box that has the network by name. Bare there is
// none: what it must refuse is asked without it.
func proxies() []Attack {
	names := func(port string) []string {
		var out []string
		for _, h := range []string{
			"127.0.0.1", "localhost", "LocalHost.", "127.1", "127.0.0.2", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001", "0.0.0.0", "0",
			"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[::127.0.0.1]", "github.com@127.0.0.1", "127.0.0.1\x00.github.com",
			"127.0.0.1%00.github.com", "127.0.0.1.", "localtest.github.com.127.0.0.1", "ip6-localhost",
		} {
			out = append(out, h+":"+port)
		}
		return out
	}
	return []Attack{
		viaProxy("proxy-connect", "have the proxy of the box lead to the host, by CONNECT and every notation of its address", func(port string) (string, error) {
			return gather(names(port), connectTo)
		}),
		viaProxy("proxy-allowed-name", "ask the proxy for an allowed name, and another in the header or at another port", proxyAllowedName),
		viaProxy("proxy-socks", "have the proxy of the box lead to the host, by SOCKS", proxySocks),
		viaProxy("proxy-relay", "have the proxy of the box lead to itself, and from there to the host", func(port string) (string, error) {
			self := "127.0.0.1:" + strconv.Itoa(profile.ProxyPort)
			return connectBy("CONNECT "+self+" HTTP/1.1\r\nHost: "+self+"\r\n\r\nCONNECT 127.0.0.1:"+port+" HTTP/1.1\r\nHost: 127.0.0.1:"+port+"\r\n\r\n", "127.0.0.1:"+port)
		}),
		viaProxy("proxy-other-address", "have the proxy of the box lead to an address of the host that is not the loopback's", proxyOtherAddress),
	}
}

func proxyAllowedName(port string) (string, error) {
	return gather([]string{
		"CONNECT github.com:443 HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n\r\n",
		"CONNECT 127.0.0.1:" + port + " HTTP/1.1\r\nHost: github.com:443\r\n\r\n",
		"GET http://github.com:80/ HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n\r\n",
		"GET http://127.0.0.1:" + port + "/ HTTP/1.1\r\nHost: github.com\r\n\r\n",
		"GET http://github.com@127.0.0.1:" + port + "/ HTTP/1.1\r\nHost: github.com\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n\r\n",
	}, func(request string) (string, error) { return connectBy(request, "127.0.0.1:"+port) })
}

func proxySocks(port string) (string, error) {
	n, err := strconv.Atoi(port)
	if err != nil {
		return "", err
	}
	high, low := byte(n>>8), byte(n)
	return gather([]string{
		"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01",
		"\x05\x01\x00\x05\x01\x00\x01\x00\x00\x00\x00",
		"\x05\x01\x00\x05\x01\x00\x03\x09localhost",
		"\x05\x01\x00\x05\x01\x00\x03\x0a2130706433",
		"\x05\x01\x00\x05\x01\x00\x04" + string(net.IPv6loopback),
		"\x05\x01\x00\x05\x01\x00\x04" + string(net.IPv4(127, 0, 0, 1).To16()),
		"\x04\x01" + string([]byte{high, low}) + "\x7f\x00\x00\x01\x00",
		"\x04\x01" + string([]byte{high, low}) + "\x00\x00\x00\x01\x00localhost\x00",
	}, func(request string) (string, error) {
		if request[0] == 5 {
			request += string([]byte{high, low})
		}
		return connectBy(request, "127.0.0.1:"+port)
	})
}

func proxyOtherAddress(port string) (string, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	return gather(list, func(a net.Addr) (string, error) {
		n, ok := a.(*net.IPNet)
		if !ok {
			return "", nil
		}
		return connectTo(net.JoinHostPort(n.IP.String(), port))
	})
}

// viaProxy returns an attack on a server of the host that answers everybody.
func viaProxy(name, what string, try func(port string) (string, error)) Attack {
	return Attack{
		Name: name, Class: "sockets", What: what, Declared: fullNetwork,
		Stage: func(s *Fixture) error {
			l, err := s.serve("tcp", "0.0.0.0:0")
			if err != nil {
				return err
			}
			_, s.Trial.Text["port"], err = net.SplitHostPort(l.Addr().String())
			return err
		},
		Try: func(t Trial) (string, error) { return try(t.Text["port"]) },
	}
}

// connectTo has the proxy lead to a target by CONNECT.
func connectTo(target string) (string, error) {
	return connectBy("CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n", target)
}

// connectBy sends a request to the proxy of the box and reads what comes.
// Without a proxy it connects to the target.
func connectBy(request, target string) (string, error) {
	c, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(profile.ProxyPort), time.Second)
	if err != nil {
		return dial("tcp", target)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(500 * time.Millisecond))
	if _, err := io.WriteString(c, request); err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(bufio.NewReader(c), 1<<16))
	return fmt.Sprintf("%s\t%s\n", target, strings.ReplaceAll(string(data), "\n", " ")), err
}
