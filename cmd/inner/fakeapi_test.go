package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// fakeAnthropic serves the Messages API of Anthropic on loopback: each conversation with
// tools gets one call of the tool Bash for each command in turn, then a last word.
// What Claude Code asks besides (titles, token counts) is answered with a word.
type fakeAnthropic struct {
	port     string
	commands []string

	mu      sync.Mutex
	results []string // what the tools answered, as the requests have it
	seen    []string // the paths of all requests
	asked   []string // the bodies of those for messages, each after the login it came with
}

func newFakeAnthropic(t *testing.T, commands ...string) *fakeAnthropic {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	f := &fakeAnthropic{port: port, commands: commands}
	server := &http.Server{Handler: f}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return f
}

func (f *fakeAnthropic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, r.Method+" "+r.URL.Path)
	if !strings.HasPrefix(r.URL.Path, "/v1/messages") || strings.HasSuffix(r.URL.Path, "/count_tokens") {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"input_tokens":1}`)
		return
	}
	f.asked = append(f.asked, r.Header.Get("Authorization")+"\n"+string(body))
	var ask struct {
		Stream bool `json:"stream"`
		Tools  []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	done := 0 // calls that this conversation has had answers for
	for _, m := range ask.Messages {
		var parts []struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		}
		if m.Role != "user" || json.Unmarshal(m.Content, &parts) != nil {
			continue
		}
		for _, p := range parts {
			if p.Type == "tool_result" {
				done++
				if done > len(f.results) {
					f.results = append(f.results, string(p.Content))
				}
			}
		}
	}
	bash := "" // as this agent calls it
	for _, tool := range ask.Tools {
		if strings.EqualFold(tool.Name, "bash") {
			bash = tool.Name
		}
	}
	block, stop, delta := map[string]any{"type": "text", "text": ""}, "end_turn", map[string]any{"type": "text_delta", "text": "the work is done"}
	if bash != "" && done < len(f.commands) {
		input, _ := json.Marshal(map[string]string{"command": f.commands[done], "description": "a step"})
		block = map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", done), "name": bash, "input": map[string]any{}}
		stop, delta = "tool_use", map[string]any{"type": "input_json_delta", "partial_json": string(input)}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(name string, v map[string]any) {
		v["type"] = name
		data, _ := json.Marshal(v)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
	}
	event("message_start", map[string]any{"message": map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []any{},
		"stop_reason": nil, "usage": map[string]int{"input_tokens": 1, "output_tokens": 1},
	}})
	event("content_block_start", map[string]any{"index": 0, "content_block": block})
	event("content_block_delta", map[string]any{"index": 0, "delta": delta})
	event("content_block_stop", map[string]any{"index": 0})
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop}, "usage": map[string]int{"output_tokens": 2}})
	event("message_stop", map[string]any{})
}

func (f *fakeAnthropic) answers() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.results...)
}
