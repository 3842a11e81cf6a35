package host

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestBusAddress: only a socket at which somebody answers is a bus.
func TestBusAddress(t *testing.T) {
	dir := t.TempDir()
	if len(dir) > 80 {
		t.Fatalf("the folder %q is too deep for sockets", dir)
	}
	for _, name := range []string{"bus", "b us"} {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	for _, c := range []struct{ address, runtime, want string }{
		{"", dir, "unix:path=" + dir + "/bus"},
		{"", "", ""},
		{"", dir + "/no", ""},
		{"unix:path=" + dir + "/bus,guid=0123", "", "unix:path=" + dir + "/bus"},
		{"unix:guid=0123,path=" + dir + "/b%20us", "", "unix:path=" + dir + "/b%20us"},
		{"unix:path=" + dir + "/no;unix:path=" + dir + "/bus", "", "unix:path=" + dir + "/bus"},
		{"unix:path=bus", "", ""},
		{"unix:path=%2", "", ""},
		{"unix:path=%00", "", ""},
		{"unixexec:path=/bin/true", dir, ""},
		{"autolaunch:", dir, ""},
		{"tcp:host=127.0.0.1,port=1", dir, ""},
	} {
		got, why := busAddress(map[string]string{"DBUS_SESSION_BUS_ADDRESS": c.address, "XDG_RUNTIME_DIR": c.runtime})
		if got != c.want || (got == "") != strings.Contains(why, "no session bus") {
			t.Errorf("%q in %q: %q, %q", c.address, c.runtime, got, why)
		}
	}
	if got := escapeAddress("/a b/c"); got != "/a%20b/c" {
		t.Error(got)
	}
}
