// Package mcp is a server of the Model Context Protocol on standard streams, whose tools
// do everything in the box of one profile: each call is one of isolator/calls, and nothing
// is read or written outside.
//
//	err := mcp.Serve(ctx, runner.Do, os.Stdin, os.Stdout, version)
//
// It knows initialize, ping, tools/list and tools/call, of the versions 2024-11-05 and
// 2025-06-18. Calls run side by side; notifications/cancelled ends the box of one.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/enr/inner/isolator/calls"
	"github.com/enr/inner/isolator/jsonlines"
)

// versions returns the versions of the protocol that are supported, the newest first.
func versions() []string { return []string{"2025-06-18", "2024-11-05"} }

const (
	maxLine = 8 << 20 // of one message, in bytes
	atOnce  = 16      // calls
)

// The errors of JSON-RPC 2.0, section 5.1.
const (
	notJSON       = -32700
	noRequest     = -32600
	unknownMethod = -32601
	badParams     = -32602
)

// message is a message of the client: a request with an ID, or a notification without one.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type server struct {
	lines   jsonlines.Server
	do      func(context.Context, calls.Request) calls.Answer
	version string
	slots   chan struct{}

	mu      sync.Mutex
	running map[string]context.CancelFunc
}

// Serve reads messages, one a line, until the end of in, and then waits for the calls under
// way; when ctx is done their boxes are killed. The error is one of reading or writing.
func Serve(ctx context.Context, do func(context.Context, calls.Request) calls.Answer, in io.Reader, out io.Writer, version string) error {
	s := &server{do: do, version: version, slots: make(chan struct{}, atOnce), running: map[string]context.CancelFunc{}}
	s.lines = jsonlines.Server{Out: out, MaxLine: maxLine, Take: s.take}
	return s.lines.Serve(ctx, in)
}

// noMessage is what is said of a line that is no message.
const noMessage = "this is not a request of JSON-RPC 2.0"

// take answers a message, or starts the call that it asks for.
func (s *server) take(ctx context.Context, line []byte, tooLong bool) bool {
	var m message
	err := json.Unmarshal(line, &m)
	switch {
	case tooLong:
		s.fail(nil, noRequest, fmt.Sprintf("the message is longer than %d bytes", maxLine))
	case err != nil && !json.Valid(line):
		s.fail(nil, notJSON, noMessage)
	case err != nil || m.Version != "2.0" || !m.identified():
		s.fail(nil, noRequest, noMessage)
	case len(m.ID) == 0 || string(m.ID) == "null":
		s.notified(m)
	default:
		s.requested(ctx, m)
	}
	return true
}

// identified reports whether the id of a message is a text, a number, or missing.
func (m message) identified() bool {
	return len(m.ID) == 0 || !bytes.ContainsAny(m.ID[:1], "{[tf") && len(m.ID) <= 256
}

// requested answers a request, or starts the call that it asks for.
func (s *server) requested(ctx context.Context, m message) {
	switch m.Method {
	case "initialize":
		s.initialize(m)
	case "ping":
		s.answer(reply{ID: m.ID, Result: struct{}{}})
	case "tools/list":
		s.answer(reply{ID: m.ID, Result: map[string]any{"tools": tools()}})
	case "tools/call":
		s.call(ctx, m)
	default:
		s.fail(m.ID, unknownMethod, "there is no such method")
	}
}

func (s *server) initialize(m message) {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.fail(m.ID, badParams, "initialize: protocolVersion is missing")
		return
	}
	if !slices.Contains(versions(), p.Version) {
		p.Version = versions()[0]
	}
	s.answer(reply{ID: m.ID, Result: map[string]any{
		"protocolVersion": p.Version,
		"capabilities":    map[string]any{"tools": map[string]any{}},
		"serverInfo":      map[string]any{"name": "inner", "version": s.version},
	}})
}

// notified handles a notification. It cancels a call when it says so; all others are ignored.
func (s *server) notified(m message) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if m.Method != "notifications/cancelled" || json.Unmarshal(m.Params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.running[string(p.ID)]; stop != nil {
		stop()
	}
}

// call starts a call of a tool.
func (s *server) call(ctx context.Context, m message) {
	q, err := request(m.Params)
	if err != nil {
		s.fail(m.ID, badParams, err.Error())
		return
	}
	ctx, stop := context.WithCancel(ctx)
	id := string(m.ID)
	s.mu.Lock()
	_, twice := s.running[id]
	if !twice {
		s.running[id] = stop
	}
	s.mu.Unlock()
	if twice {
		stop()
		s.fail(m.ID, noRequest, "a call with this id is under way")
		return
	}
	s.lines.Go(func() {
		defer stop()
		s.slots <- struct{}{}
		defer func() { <-s.slots }()
		a := s.do(ctx, q)
		s.mu.Lock()
		delete(s.running, id)
		s.mu.Unlock()
		s.answer(reply{ID: m.ID, Result: result(a)})
	})
}

func (s *server) fail(id json.RawMessage, code int, text string) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	s.answer(reply{ID: id, Error: &rpcError{code, text}})
}

func (s *server) answer(r reply) {
	r.Version = "2.0"
	s.lines.Answer(r)
}
