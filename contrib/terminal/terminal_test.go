package terminal

import (
	"os"
	"os/exec"
	"testing"
)

// It sees what is shown, types, resizes, and knows how a program ended; and it
// says so when a step does not come true.
func TestFollow(t *testing.T) {
	for _, c := range []struct{ name, script, steps, fault string }{
		{"dialogue", `read -r x; echo "got <$x>"; exit 7`, "send \"hi\\r\"\nexpect got <hi>\nexit 7", ""},
		{"signal", `echo up; kill -TERM $$; sleep 60`, "expect up\nexit 143", ""},
		{"interrupt", `echo up; exec sleep 60`, "expect up\nsend \"\\x03\"\nexit 130", ""},
		{"hangup", `echo up; exec sleep 60`, "expect up\nhangup\nexit 129", ""},
		{"size", `echo up; until [ "$(stty size)" = "30 101" ]; do read -rt 0.05; done; echo big`, "expect up\nsize 30x101\nexpect ^big$\nexit 0", ""},
		{"variable", `echo "$HOME"`, "expect ^${HOME}$", ""},
		{"wrong code", `exit 3`, "exit 0", "line 1, exit 0: exit code 3, want 0"},
		{"never shown", `echo this`, "expect that", `line 1, expect that: the program ended (exit status 0) without showing "(?m)that"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			term, err := Start(exec.Command("/bin/bash", "-c", c.script))
			if err != nil {
				t.Fatal(err)
			}
			defer term.Close()
			got := ""
			if err := term.Follow(c.steps, os.Getenv); err != nil {
				got = err.Error()
			}
			if got != c.fault {
				t.Errorf("fault %q, want %q\n%s", got, c.fault, term.Text())
			}
		})
	}
}

func TestPlain(t *testing.T) {
	in := "\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;u\x1b\\y\x1b(B\x1b=\x1b[?2004h\r\n"
	if got, want := Plain([]byte(in)), "red xy\n"; got != want {
		t.Errorf("Plain(%q) = %q, want %q", in, got, want)
	}
}

// As under nohup, and in the background of a script: what is started has its
// signals all the same.
func TestUnderNohup(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/bash", "-c", `trap '' HUP INT; exec "$0" -test.run='^TestFollow$' -test.timeout=2m`, self)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
