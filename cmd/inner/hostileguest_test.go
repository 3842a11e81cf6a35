package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

// A guest whose every request is hostile: nothing of what is hidden from guests is in an
// answer, no call has another profile than a guest's, and nothing of the project or the home
// changes but in the guest's zone. What is no request is answered as such.

// guestTry is one request. It is started with the profile of guests, or it is refused with a
// kind where kind is set; has must be in the answer.
type guestTry struct {
	request   string
	kind, has string
}

// guestLines are command lines that try to read, to write, and to get out.
func guestLines() []string {
	return []string{
		"cat .env secrets.json workspace/w memory/m.md sessions/s", "cat /proc/self/root$PWD/.env", "cat /proc/1/root$PWD/.env", "cat /proc/self/cwd/.env",
		"tar cf - .", "cp -rL . public/copy; cat public/copy/.env", "find / -name id_rsa -exec cat {} +", "cat ~/.ssh/id_rsa $OLDHOME/.ssh/id_rsa",
		"ln -s ../.env public/leak; cat public/leak", "ln .env public/hard; cat public/hard", "ln AGENTS.md public/rules && echo x >>public/rules",
		"ln -s ../AGENTS.md public/link; echo x >public/link", "ln -sfn .. public/up; echo x >public/up/AGENTS.md; cat public/up/.env", "mkdir -p public/a; mv public/a .; mv public ../p; ls",
		"mv public old; mkdir public; ln -s /etc public", "echo x >AGENTS.md", "echo x >>src/main.c", "rm -rf src AGENTS.md", "truncate -s 0 AGENTS.md", "chmod 777 . AGENTS.md; echo x >AGENTS.md",
		"touch new; mkdir newdir", "echo x >.inner/profiles/guest.toml", "rm -rf .inner", "touch .git/hooks/pre-commit", "git config core.fsmonitor 'touch x'",
		"exec 9<>AGENTS.md; echo x >&9", "dd if=/dev/zero of=AGENTS.md count=1", "perl -e 'open F, \"+<\", \"AGENTS.md\" and print F 1'", "mount -t tmpfs none src", "umount src .env; cat .env",
		"unshare -rm sh -c 'umount .env; cat .env'", "inner run -p trusted -- -c 'cat .env'", "inner exec --as trusted -c 'cat .env'", "inner allow --yes", "cat /dev/mem /dev/sda", "for p in /proc/[0-9]*; do cat $p/environ $p/root$PWD/.env; done",
		"cat /tmp/note /var/tmp/note ~/.inner/sessions/*/*/tmp/note", "kill -9 -1", "echo x >/dev/tcp/127.0.0.1/22", "ls -laR ~/.inner ~/.ssh",
	}
}

// guestCommands are lines and arguments that look like the command of the table and are not.
func guestCommands() []string {
	return []string{
		"seq install; touch y", "seq install && touch y", "seq install | cat", "seq install & touch y", "seq install $(touch y)", "seq install `touch y`", "seq install >y", "seq install <.env",
		"seq install -g x", "seq install --global x", "seq install --location=global x", "./seq install", "/usr/bin/seq install", "SEQ install", "env seq install", "X=1 seq install",
		"seq install\ntouch y", "seq install *.js", "seq install {a,b}", "seq install ~/x", "seq install $HOME", "! seq install", "{ seq install; }", "(seq install)", "seq\u00a0install",
	}
}

// guestTries are all requests, by what they try.
func guestTries() map[string]guestTry {
	tries := map[string]guestTry{
		"control":         {request: `"line":"seq install","role":"guest"`, has: `"profile":"install"`},
		"control of argv": {request: `"argv":["seq","install","x"]`, has: `"profile":"install"`},
		"twice":           {request: `"argv":["true"],"argv":["cat",".env"]`, kind: "usage"},
		"role twice":      {request: `"argv":["true"],"role":"guest","role":"trusted"`, kind: "usage"},
		"other case":      {request: `"Argv":["true"]`, kind: "usage"},
		"profile":         {request: `"argv":["true"],"profile":"trusted"`, kind: "usage"},
		"NUL":             {request: `"argv":["cat\u0000",".env"]`, kind: "usage"},
		"half a pair":     {request: `"argv":["\ud800"]`, kind: "usage"},
		"null":            {request: `"argv":null`, kind: "usage"},
		"deep":            {request: `"argv":` + strings.Repeat("[", 5000), kind: "usage"},
		"long argument":   {request: `"argv":["echo","` + strings.Repeat("x", 200_000) + `"]`, kind: "usage"},
		"many arguments":  {request: `"argv":["echo"` + strings.Repeat(`,"xxxxxxxxxxxxxxx"`, 200_000) + `]`, kind: "usage"},
		"huge number":     {request: `"argv":["true"],"timeout_ms":1e400`, kind: "usage"},
		"negative":        {request: `"argv":["true"],"max_output":-1`, kind: "usage"},
		"role of lines":   {request: `"argv":["true"],"role":"trusted\n"`, kind: "usage"},
		"nothing":         {request: `"cwd":"."`, kind: "usage"},
		"both":            {request: `"argv":["true"],"line":"true"`, kind: "usage"},
	}
	line := func(what, text, more string) {
		data, _ := json.Marshal(text)
		tries[what+": "+text] = guestTry{request: `"line":` + string(data) + more}
	}
	for _, text := range guestLines() {
		line("line", text, "")
	}
	for _, text := range guestCommands() {
		line("command", text, "")
	}
	for _, name := range []string{"root", "", "Guest", "GUEST", "guest ", " member", "*", "memb\u0435r", "ｍember", "../trusted"} {
		data, _ := json.Marshal(name)
		tries["role "+name] = guestTry{request: `"line":"cat .env","role":` + string(data), has: `"profile":"guest"`}
	}
	for _, id := range []string{"../m1", "a/b", ".", "m1\u0000", "é", strings.Repeat("x", 65), "m1 "} {
		data, _ := json.Marshal(id)
		tries["session "+id] = guestTry{request: `"line":"cat /tmp/note","session":` + string(data), kind: "usage"}
	}
	tries["session of a member"] = guestTry{request: `"line":"cat /tmp/note","session":"m1"`, has: "No such file"}
	for _, name := range []string{"LD_PRELOAD", "BASH_ENV", "HOME", "PATH", "INNER_SANDBOX", "https_proxy", "NODE_OPTIONS", "A=B", ""} {
		tries["env "+name] = guestTry{request: fmt.Sprintf(`"argv":["true"],"env":{%q:"/x"}`, name), kind: "usage"}
	}
	for _, dir := range []string{"memory", "workspace", "/root", "public/../memory", "/proc/self/root", ".."} {
		tries["cwd "+dir] = guestTry{request: fmt.Sprintf(`"line":"pwd; ls -a; cat m.md w","cwd":%q`, dir)}
	}
	return tries
}

// hostileProject has something of everything that guests may not have.
func hostileProject(t *testing.T) *person {
	p := newPerson(t)
	p.run("inner", "init")
	p.write(".inner/config.toml", "[roles]\nguest = \"guest\"\nmember = \"member\"\ntrusted = \"trusted\"\n\"*\" = \"guest\"\n[commands]\n\"seq install\" = \"install\"\n")
	p.write(".inner/profiles/install.toml", "schema_version = \"1\"\nextends = \"guest\"\n[sandbox]\nworkdir_mode = \"keep\"\nkeep = [\"node_modules\"]\n")
	for _, name := range []string{".ssh/id_rsa", "app/.env", "app/secrets.json", "app/workspace/w", "app/memory/m.md", "app/sessions/s"} {
		p.write(name, "SECRET\n")
	}
	for _, name := range []string{"app/AGENTS.md", "app/src/main.c", "app/public/ok", "app/mounts/ok"} {
		p.write(name, "rules\n")
	}
	p.run("git", "init", "-q", p.app)
	return p
}

// state is every path below a folder with its mode and contents, but what guests may change.
func (p *person) state() string {
	var b strings.Builder
	mine := []string{".inner/copies", ".inner/git", ".inner/logs", ".inner/runs", ".inner/sessions", ".inner/shims", ".inner/trust", ".inner/workspaces"} // inner's own records
	err := filepath.WalkDir(p.home, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(p.home, path)
		switch {
		case err != nil:
			return err
		case rel == "app/public" || rel == "app/mounts" || slices.Contains(mine, rel):
			return filepath.SkipDir
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", rel, fi.Mode())
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", data)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return b.String()
}

// inner is a call of the true binary in the project.
func (p *person) inner(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(os.Getenv("INNER_TEST_DIR"), "bin", "inner"), args...)
	cmd.Env, cmd.Dir = p.env, p.app
	return cmd
}

func TestHostileGuest(t *testing.T) {
	need(t, "bwrap", "bash", "git")
	p := hostileProject(t)
	if out, err := p.inner("exec", "--as", "member", "--session", "m1", "-c", "echo SECRET >/tmp/note").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tries := guestTries()
	if len(tries) < 60 {
		t.Errorf("only %d tries", len(tries))
	}
	var requests bytes.Buffer
	names := map[string]string{}
	for name, try := range tries {
		id := fmt.Sprint(len(names))
		names[id] = name
		fmt.Fprintf(&requests, "{\"id\":%q,%s}\n", id, try.request)
	}
	before := p.state()
	cmd := p.inner("exec", "--as", "guest", "--serve")
	cmd.Stdin = &requests
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var got struct {
			ID, Profile string
			Started     bool
			Error       *struct{ Kind string }
		}
		if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		name, known := names[got.ID]
		if !known && got.ID == "" && got.Error != nil && got.Error.Kind == "usage" { // one that could not be read whole
			continue
		}
		delete(names, got.ID)
		try := tries[name]
		switch {
		case !known:
			t.Errorf("an answer to nothing: %.300s", lines.Text())
		case strings.Contains(lines.Text(), "SECRET") && !strings.Contains(try.request, "SECRET"):
			t.Errorf("%s: it has what is hidden: %.300s", name, lines.Text())
		case try.kind != "" && (got.Started || got.Error == nil || got.Error.Kind != try.kind):
			t.Errorf("%s: not refused as %s: %.300s", name, try.kind, lines.Text())
		case !strings.Contains(lines.Text(), try.has):
			t.Errorf("%s: no %q in %.300s", name, try.has, lines.Text())
		case try.kind == "" && !strings.HasPrefix(name, "control") && got.Profile != "guest":
			t.Errorf("%s: it has the profile %q: %.300s", name, got.Profile, lines.Text())
		}
	}
	for _, name := range names {
		if tries[name].kind == "" {
			t.Errorf("%s: no answer", name)
		}
	}
	if after := p.state(); after != before {
		t.Errorf("something changed:\n%s", diff.Diff("before", []byte(before), "after", []byte(after)))
	}
}

// What a guest makes an agent pass to its hook: nothing that is hidden is granted.
func TestHostileGuestHook(t *testing.T) {
	need(t, "bwrap")
	p := hostileProject(t)
	for _, make := range []error{os.Symlink("../.env", filepath.Join(p.app, "public/leak")), os.Symlink("..", filepath.Join(p.app, "public/up"))} {
		if make != nil {
			t.Fatal(make)
		}
	}
	tool := func(name, input string) string {
		return fmt.Sprintf(`{"session_id":"s1","cwd":%q,"hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s}`, p.app, name, input)
	}
	if out, err := hooked(p, tool("Read", `{"file_path":"src/main.c"}`)); err != nil || strings.Contains(out, "deny") {
		t.Fatalf("what a guest may read is denied: %v %s", err, out)
	}
	for _, ask := range []string{
		tool("Read", `{"file_path":".env"}`), tool("Read", `{"file_path":"public/leak"}`), tool("Read", `{"file_path":"public/up/.env"}`), tool("Read", `{"file_path":"./././src/../.env"}`),
		tool("Read", `{"file_path":"/proc/self/cwd/.env"}`), tool("Read", `{"file_path":".env","file_path":"src/main.c"}`), tool("Read", `{"file_path":"src/main.c","FILE_PATH":".env"}`),
		tool("Read", `{"file_path":".env\u0000"}`), tool("Read", `{"file_path":"~/.ssh/id_rsa"}`), tool("Grep", `{"pattern":"x","path":"."}`), tool("Glob", `{"pattern":"**/.env"}`),
		tool("Write", `{"file_path":"AGENTS.md","content":""}`), tool("Write", `{"file_path":"public/up/AGENTS.md","content":""}`), tool("Write", `{"file_path":".git/hooks/pre-commit","content":""}`),
		tool("mcp__x__y", `{"a":{"b":["memory/m.md"]}}`), tool("mcp__x__y", `{"memory/m.md":1}`), tool("mcp__x__y", `{"command":"cat .env"}`), tool("Unknown", `{"q":"file:///etc/shadow"}`),
		tool("Read", strings.Repeat(`{"a":`, 3000)+`1`+strings.Repeat("}", 3000)), tool("Bash", `{"command":["cat",".env"],"shell":"/bin/sh"}`), tool("Bash", `{"command":null}`),
		`{`, ``, `[]`, `{"tool_name":"Read"}`, "\xff",
	} {
		out, err := hooked(p, ask)
		if err == nil && !strings.Contains(out, `"permissionDecision":"deny"`) {
			t.Errorf("granted: %.200s\n%.300s", ask, out)
		}
		if e, ok := err.(*exec.ExitError); ok && e.ExitCode() != 2 {
			t.Errorf("the hook ends with %d, after which agents go on: %.200s", e.ExitCode(), ask)
		}
	}
}

// hooked asks the hook of Claude Code.
func hooked(p *person, ask string) (string, error) {
	cmd := p.inner("agent", "hook", "claude", "--as", "guest")
	cmd.Stdin = strings.NewReader(ask)
	out, err := cmd.Output()
	return string(out), err
}

// Ten thousand calls of one server: each has its answer, and nothing is left of them.
func TestTenThousandCalls(t *testing.T) {
	if os.Getenv("INNER_TEST_CALLS") == "" {
		t.Skip("INNER_TEST_CALLS=1 makes ten thousand calls of one server")
	}
	need(t, "bwrap")
	p := hostileProject(t)
	if out, err := p.inner("exec", "--as", "guest", "--", "true").CombinedOutput(); err != nil { // inner's own records are made once
		t.Fatalf("%v: %s", err, out)
	}
	var requests bytes.Buffer
	const calls = 10_000
	for i := range calls {
		fmt.Fprintf(&requests, "{\"id\":\"%d\",\"line\":\"cat .env; echo n%d\"}\n", i, i)
	}
	before := p.state()
	cmd := p.inner("exec", "--as", "guest", "--serve")
	cmd.Stdin = &requests
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		var got struct{ ID, Stdout string }
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Stdout != "n"+got.ID+"\n" {
			t.Fatalf("%v: %.300s", err, line)
		}
		seen[got.ID] = true
	}
	if len(seen) != calls {
		t.Errorf("%d of %d calls were answered", len(seen), calls)
	}
	if left, _ := filepath.Glob(filepath.Join(p.home, "..", "run", "inner", "2*")); len(left) > 0 {
		t.Errorf("left: %d folders of runs", len(left))
	}
	if after := p.state(); after != before {
		t.Errorf("something changed:\n%s", diff.Diff("before", []byte(before), "after", []byte(after)))
	}
}
