package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/enr/inner/isolator/calls"
)

// talk sends lines and returns the answers by their id, as JSON.
func talk(t testing.TB, do func(context.Context, calls.Request) calls.Answer, lines ...string) map[string]map[string]any {
	t.Helper()
	var out bytes.Buffer
	if err := Serve(context.Background(), do, strings.NewReader(strings.Join(lines, "\n")+"\n"), &out, "test"); err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]any{}
	for line := range strings.Lines(out.String()) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if o["jsonrpc"] != "2.0" {
			t.Errorf("%q: no version", line)
		}
		id, _ := json.Marshal(o["id"])
		got[string(id)] = o
	}
	return got
}

func says(text string) func(context.Context, calls.Request) calls.Answer {
	return func(context.Context, calls.Request) calls.Answer {
		return calls.Answer{Started: true, Stdout: []byte(text)}
	}
}

func TestServe(t *testing.T) {
	got := talk(t, says("hello"),
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"bash","arguments":{"command":"echo hello"}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"nope","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":6,"method":"nope"}`,
	)
	text := func(id string) string {
		b, _ := json.Marshal(got[id])
		return string(b)
	}
	for id, want := range map[string]string{
		"1": `"protocolVersion":"2024-11-05"`, `"l"`: `"name":"bash"`, "3": `"result":{}`, "4": "hello", "5": `"code":-32602`, "6": `"code":-32601`,
	} {
		if !strings.Contains(text(id), want) {
			t.Errorf("%s: %s, want %s", id, text(id), want)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d answers", len(got))
	}
}

// What is no request is answered as such, and ends nothing.
func TestBadMessages(t *testing.T) {
	for _, line := range []string{
		"{", "[]", "7", `"x"`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":[1],"method":"ping"}`,
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`, `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":7}`,
	} {
		got := talk(t, says(""), line, `{"jsonrpc":"2.0","id":9,"method":"ping"}`)
		if got["null"]["error"] == nil || got["9"]["error"] != nil || got["9"] == nil {
			t.Errorf("%.60s: %v", line, got)
		}
	}
}

func TestBadArguments(t *testing.T) {
	ran := false
	do := func(context.Context, calls.Request) calls.Answer { ran = true; return calls.Answer{Started: true} }
	for _, params := range []string{
		`null`, `[]`, `{}`, `{"name":"bash"}`, `{"name":"bash","arguments":{"command":7}}`, `{"name":"bash","arguments":{}}`,
		`{"name":"read","arguments":{}}`, `{"name":"write","arguments":{"path":"x"}}`,
	} {
		got := talk(t, do, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`)
		if got["1"]["error"] == nil || ran {
			t.Errorf("%s: %v", params, got)
		}
	}
}

// Every tool takes a time limit.
func TestTimeLimit(t *testing.T) {
	for _, params := range []string{
		`{"name":"bash","arguments":{"command":"x","timeout_ms":7}}`, `{"name":"read","arguments":{"path":"x","timeout_ms":7}}`,
		`{"name":"write","arguments":{"path":"x","content":"y","timeout_ms":7}}`, `{"name":"list","arguments":{"timeout_ms":7}}`,
	} {
		var got calls.Request
		do := func(_ context.Context, q calls.Request) calls.Answer { got = q; return calls.Answer{Started: true} }
		talk(t, do, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`)
		if got.Timeout != 7 {
			t.Errorf("%s: %d ms", params, got.Timeout)
		}
	}
	if q := talk(t, says(""), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list","arguments":{"timeout_ms":-1}}}`); q["1"]["error"] == nil {
		t.Error("a negative limit is taken")
	}
}

// A message that is too long is answered, and ends nothing.
func TestLongMessage(t *testing.T) {
	got := talk(t, says(""), `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", maxLine)+`"}`, `{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	if got["null"]["error"] == nil || got["9"]["result"] == nil {
		t.Error(got)
	}
}

// A call that is cancelled ends, alone; two calls of one id are not under way together.
func TestCancelled(t *testing.T) {
	began := make(chan struct{}, 2)
	do := func(ctx context.Context, _ calls.Request) calls.Answer {
		began <- struct{}{}
		<-ctx.Done()
		return calls.Answer{Started: true, Stdout: []byte("ended")}
	}
	in, w := io.Pipe()
	var out bytes.Buffer
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := Serve(context.Background(), do, in, &out, "test"); err != nil {
			t.Error(err)
		}
	})
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":"x"}}}` + "\n"
	for _, line := range []string{call, call, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"} {
		if _, err := io.WriteString(w, line); err != nil {
			t.Fatal(err)
		}
		if line == call && len(began) == 0 {
			<-began
			began <- struct{}{}
		}
	}
	_ = w.Close()
	wait.Wait()
	if text := out.String(); !strings.Contains(text, "ended") || strings.Count(text, "under way") != 1 {
		t.Error(text)
	}
}

// Whatever comes in: each line that goes out is an answer of JSON-RPC.
func FuzzServe(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":"a\u0000"}}}`, "{}\n\n[", `{"jsonrpc":"2.0","id":null,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`, `{"jsonrpc":"2.0","id":-1e9,"method":"tools/list","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":1}}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var out bytes.Buffer
		for line := range strings.Lines(in) { // one by one: two may have the same id
			if err := Serve(context.Background(), says("\xff"), strings.NewReader(line), &out, "test"); err != nil {
				t.Fatal(err)
			}
		}
		for line := range strings.Lines(out.String()) {
			var r reply
			if err := json.Unmarshal([]byte(line), &r); err != nil || r.Version != "2.0" || (r.Error == nil) == (r.Result == nil) {
				t.Errorf("%q: %v", line, err)
			}
		}
	})
}
