package main

// The services of Claude Code, Codex and Gemini CLI, at their own hosts: a model that answers, and logins that are held
// against what was given out. What is asked is told on stderr, a line each: SERVICE VERDICT METHOD HOST/PATH.
//
// A prompt that has ~~COMMAND~~ is answered by a call of the agent's shell, and then by the number of such prompts.
//
// http://ADDRESS/agents/SERVICE/WHAT is for who runs the checks: see agent.control.

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// agent is a service with its one account. All of its secrets hold LAB_TOKEN, so that they are found by it.
type agent struct {
	name, key string
	mu        sync.Mutex
	count     int // of renewals
	revoked   int // renewals of which the tokens do not count any more
	ended     bool
	down      bool
	ends      time.Time // of the access token
	life      time.Duration
}

var agentHosts = map[string]string{
	"api.anthropic.com": "claude", "platform.claude.com": "claude", "api.openai.com": "codex", "chatgpt.com": "codex", "auth.openai.com": "codex",
	"generativelanguage.googleapis.com": "gemini", "cloudcode-pa.googleapis.com": "gemini", "oauth2.googleapis.com": "gemini", "www.googleapis.com": "gemini",
}

func serveAgents() {
	all := map[string]*agent{}
	for name, prefix := range map[string]string{"claude": "sk-ant-api03-", "codex": "sk-proj-", "gemini": "AIza"} {
		a := &agent{name: name, key: prefix + os.Getenv("LAB_TOKEN"), life: time.Hour, revoked: -1}
		a.ends = time.Now().Add(a.life)
		all[name] = a
		http.HandleFunc("/agents/"+name+"/{what}", a.control)
	}
	for host, name := range agentHosts {
		http.Handle(host+"/", all[name])
	}
}

type object map[string]any

func (a *agent) access() string {
	n := fmt.Sprintf("%s-a%d", os.Getenv("LAB_TOKEN"), a.count)
	switch a.name {
	case "claude":
		return "sk-ant-oat01-" + n
	case "gemini":
		return "ya29." + n
	}
	return jwt(a.ends, n)
}

func (a *agent) refresh() string {
	return map[string]string{
		"claude": "sk-ant-ort01-", "codex": "rt_",
		"gemini": "1//0",
	}[a.name] + fmt.Sprintf("%s-r%d", os.Getenv("LAB_TOKEN"), a.count)
}

// jwt has claims as those of Codex have them, and a signature that is no signature.
func jwt(ends time.Time, signature string) string {
	part := func(v object) string { data, _ := json.Marshal(v); return base64.RawURLEncoding.EncodeToString(data) }
	account := object{
		"chatgpt_plan_type": "plus", "chatgpt_account_id": "account",
		"chatgpt_user_id": "user",
	}
	return part(object{"alg": "RS256", "typ": "JWT"}) + "." + part(object{
		"exp":   ends.Unix(),
		"email": "me@reach.test", "https://api.openai.com/auth": account,
	}) + "." + signature
}

const scopes = "user:inference user:profile user:sessions:claude_code"

// store is the file in which the agent keeps its login.
func (a *agent) store() object {
	switch a.name {
	case "claude":
		return object{"claudeAiOauth": object{
			"accessToken": a.access(), "refreshToken": a.refresh(), "expiresAt": a.ends.UnixMilli(), "scopes": strings.Fields(scopes), "subscriptionType": "max",
		}}
	case "codex":
		return object{"auth_mode": "chatgpt", "OPENAI_API_KEY": nil, "last_refresh": time.Now().UTC(), "tokens": object{
			"id_token": jwt(a.ends, os.Getenv("LAB_TOKEN")+"-id"), "access_token": a.access(), "refresh_token": a.refresh(), "account_id": "account",
		}}
	}
	return object{
		"access_token": a.access(), "refresh_token": a.refresh(), "expiry_date": a.ends.UnixMilli(), "token_type": "Bearer",
		"scope": "https://www.googleapis.com/auth/cloud-platform openid",
	}
}

func (a *agent) renew() {
	a.count++
	a.revoked, a.ends = a.count-1, time.Now().Add(a.life)
}

// control: store is the file of the login as it is; renew makes another first, and voids the one before; revoke voids
// the access token alone; end voids all; from down on until up nobody is answered; life?seconds=N is how long tokens live from now on.
func (a *agent) control(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch r.PathValue("what") {
	case "renew":
		a.ended = false
		a.renew()
	case "revoke":
		a.revoked = a.count
	case "end":
		a.revoked, a.ended = a.count, true
	case "down", "up":
		a.down = r.PathValue("what") == "down"
	case "life":
		n, _ := strconv.Atoi(r.FormValue("seconds"))
		a.life = time.Duration(n) * time.Second
		return
	case "key":
		fmt.Fprintln(w, a.key)
		return
	}
	_ = json.NewEncoder(w).Encode(a.store())
}

// verdict says what a request comes with: key, token, old (which counted once), none, or STRANGE, such as a placeholder.
func (a *agent) verdict(r *http.Request) string {
	_, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	value += r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
	switch {
	case value == "":
		return "none"
	case value == a.key:
		return "key"
	case value == a.access() && a.revoked < a.count && time.Now().Before(a.ends):
		return "token"
	case strings.Contains(value, os.Getenv("LAB_TOKEN")):
		return "old"
	}
	return "STRANGE"
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	if a.down {
		a.mu.Unlock()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0)) // no answer, and an end
		return
	}
	verdict := a.verdict(r)
	if strings.HasSuffix(r.URL.Path, "/token") {
		verdict = a.token(w, r, string(body))
	}
	if strings.HasSuffix(r.URL.Path, "/revoke") && strings.Contains(string(body), os.Getenv("LAB_TOKEN")) {
		verdict = "token" // the login itself
	}
	a.mu.Unlock()
	fmt.Fprintln(os.Stderr, a.name, verdict, r.Method, r.Host+r.URL.Path)
	switch {
	case strings.HasSuffix(r.URL.Path, "/token"):
	case strings.HasSuffix(r.URL.Path, "/revoke"):
		reply(w, object{})
	case verdict == "old" || verdict == "STRANGE":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(object{
			"type":  "error",
			"error": object{"type": "authentication_error", "code": 401, "status": "UNAUTHENTICATED", "message": "no login"},
		})
	case r.Header.Get("Upgrade") != "":
		a.websocket(w, r)
	case strings.HasSuffix(r.URL.Path, "/messages"), strings.HasSuffix(r.URL.Path,
		"/responses"), strings.HasSuffix(r.URL.Path, ":streamGenerateContent"):
		if verdict == "none" {
			http.Error(w, "no login", http.StatusUnauthorized)
			return
		}
		model(w, r, "", body)
	default:
		reply(w, a.other(r.URL.Path))
	}
}

func reply(w http.ResponseWriter, v object) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// other are answers without which an agent does not go on.
func (a *agent) other(path string) object {
	switch _, last, _ := strings.Cut(path, "v1internal:"); {
	case last == "loadCodeAssist":
		return object{
			"currentTier":             object{"id": "free-tier", "name": "free"},
			"cloudaicompanionProject": "project",
		}
	case strings.HasSuffix(path, ":generateContent"): // of the session before; an empty one ends Gemini CLI, with 1 and no word, within 5 s
		said := []any{object{"content": object{
			"role":  "model",
			"parts": []any{object{"text": "a session"}},
		}, "finishReason": "STOP"}}
		return object{"candidates": said, "response": object{"candidates": said}}
	case strings.HasSuffix(path, "/userinfo"):
		return object{"email": "me@reach.test", "id": "1"}
	case strings.HasSuffix(path, "/tokeninfo"):
		return object{"email": "me@reach.test", "expires_in": 3600, "scope": "openid"}
	case strings.HasSuffix(path, "/accounts/check"):
		return object{"default_account_id": "account", "account_ordering": []any{"account"}, "accounts": []any{object{
			"id": "account", "account_id": "account", "name": "me", "plan_type": "plus", "structure": "personal", "is_deactivated": false, "can_access_with_session": true,
			"is_fedramp_compliant_workspace": false, "workspace_backend_origin": "https://chatgpt.com", "account_routing_override": "NO_CONSTRAINT",
		}}}
	case strings.HasSuffix(path, "/oauth/profile"):
		return object{"account": object{
			"uuid": "u", "email": "me@reach.test",
			"has_claude_max": true,
		}, "organization": object{"uuid": "o", "organization_type": "claude_max"}}
	}
	return object{"models": []any{}, "data": []any{}}
}

// spelled is a refresh token in JSON or a form, where refresh_token is a value of another field as well.
var spelled = regexp.MustCompile(`refresh_token(?:=|" *: *")([^"&]*)`)

// token is the endpoint at which a login is renewed; each of its refresh tokens counts once, but for Google's.
func (a *agent) token(w http.ResponseWriter, r *http.Request, body string) string {
	said := spelled.FindStringSubmatch(body)
	if len(said) < 2 || strings.ReplaceAll(said[1], "%2F", "/") != a.refresh() || a.ended {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(object{
			"error":             "invalid_grant",
			"error_description": "the login has ended",
		})
		if len(said) > 1 && strings.Contains(said[1], os.Getenv("LAB_TOKEN")) {
			return "old"
		}
		return "STRANGE"
	}
	a.renew()
	v := object{
		"token_type": "Bearer", "access_token": a.access(), "refresh_token": a.refresh(),
		"expires_in": int(a.life.Seconds()), "scope": scopes,
	}
	switch a.name {
	case "codex":
		v["id_token"] = jwt(a.ends, os.Getenv("LAB_TOKEN")+"-id")
	case "gemini":
		v["scope"] = "https://www.googleapis.com/auth/cloud-platform openid"
	}
	reply(w, v)
	return "renewed"
}

var command = regexp.MustCompile(`~~(.*?)~~`)

// model answers by the protocol of what is asked, and returns the talk, of which that may be the last part alone.
func model(w http.ResponseWriter, r *http.Request, talk string, body []byte) string {
	var asked struct {
		Messages, Input, Contents json.RawMessage
		Tools                     json.RawMessage
		Request                   struct{ Contents, Tools json.RawMessage }
	}
	_ = json.Unmarshal(body, &asked)
	talk += string(asked.Messages) + string(asked.Input) + string(asked.Contents) + string(asked.Request.Contents)
	all := command.FindAllStringSubmatchIndex(talk, -1)
	do := ""
	if len(all) > 0 {
		last := all[len(all)-1]
		if rest := talk[last[1]:]; !strings.Contains(rest, `"tool_result"`) &&
			!strings.Contains(rest, `"function_call_output"`) && !strings.Contains(rest, `"functionResponse"`) {
			_ = json.Unmarshal([]byte(`"`+talk[last[2]:last[3]]+`"`), &do)
		}
	}
	tools := string(asked.Tools) + string(asked.Request.Tools)
	unique := strconv.FormatInt(time.Now().UnixNano(), 36)
	text := fmt.Sprintf("turn %d is done", len(all))
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(name string, v object) {
		if name != "" {
			v["type"] = name
			fmt.Fprintf(w, "event: %s\n", name)
		}
		data, _ := json.Marshal(v)
		fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
	switch {
	case asked.Messages != nil:
		block, delta, stop := object{"type": "text", "text": ""}, object{
			"type": "text_delta",
			"text": text,
		}, "end_turn"
		if do != "" && strings.Contains(tools, `"Bash"`) {
			input, _ := json.Marshal(object{"command": do, "description": "a step"})
			block = object{"type": "tool_use", "id": "toolu_" + unique, "name": "Bash", "input": object{}}
			delta, stop = object{"type": "input_json_delta", "partial_json": string(input)}, "tool_use"
		}
		event("message_start", object{"message": object{
			"id": "msg_" + unique, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []any{}, "stop_reason": nil,
			"usage": object{"input_tokens": 1, "output_tokens": 1},
		}})
		event("content_block_start", object{"index": 0, "content_block": block})
		event("content_block_delta", object{"index": 0, "delta": delta})
		event("content_block_stop", object{"index": 0})
		event("message_delta", object{
			"delta": object{"stop_reason": stop},
			"usage": object{"output_tokens": 2},
		})
		event("message_stop", object{})
	case asked.Input != nil:
		item := object{
			"type": "message", "role": "assistant", "id": "m" + unique,
			"content": []any{object{"type": "output_text", "text": text}},
		}
		if do != "" && strings.Contains(tools, `"exec_command"`) {
			args, _ := json.Marshal(object{"cmd": do})
			item = object{
				"type": "function_call", "id": "i" + unique, "call_id": "c" + unique,
				"name": "exec_command", "arguments": string(args),
			}
		}
		event("response.created", object{"response": object{"id": "r" + unique}})
		event("response.output_item.done", object{"output_index": 0, "item": item})
		event("response.completed", object{"response": object{
			"id":    "r" + unique,
			"usage": object{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
		}})
	default:
		part := object{"text": text}
		if do != "" && strings.Contains(tools, `"run_shell_command"`) {
			part = object{"functionCall": object{"name": "run_shell_command", "args": object{"command": do}}}
		}
		v := object{"candidates": []any{object{"content": object{
			"role":  "model",
			"parts": []any{part},
		}, "finishReason": "STOP", "index": 0}}}
		if strings.Contains(r.URL.Path, "v1internal") {
			v = object{"response": v}
		}
		event("", v)
	}
	return talk
}

// websocket is how Codex asks: each message is a request, and each event of the answer a message. It ends with its login.
func (a *agent) websocket(w http.ResponseWriter, r *http.Request) {
	c, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	sum := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	fmt.Fprintf(both, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	both.Flush()
	talk := ""
	for message := []byte{}; ; {
		var head [2]byte
		if _, err := io.ReadFull(both, head[:]); err != nil {
			return
		}
		size := uint64(head[1] & 0x7f)
		if long := map[uint64]int{126: 2, 127: 8}[size]; long > 0 {
			var b [8]byte
			_, _ = io.ReadFull(both, b[8-long:])
			size = binary.BigEndian.Uint64(b[:])
		}
		data := make([]byte, 4+size) // the mask is before it
		if _, err := io.ReadFull(both, data); err != nil {
			return
		}
		for i := range data[4:] {
			data[4+i] ^= data[i%4]
		}
		switch head[0] & 0x0f {
		case 8:
			return
		case 9:
			_, _ = c.Write(frame(10, data[4:]))
			continue
		case 10:
			continue
		}
		if message = append(message, data[4:]...); head[0]&0x80 != 0 {
			a.mu.Lock()
			gone := a.down || a.verdict(r) == "old"
			a.mu.Unlock()
			if gone {
				return
			}
			talk = model(frames{c}, r, talk, message)
			message = nil
		}
	}
}

// frame is one message of a websocket, of a server.
func frame(kind byte, data []byte) []byte {
	head := []byte{0x80 | kind, 127, 9: 0}
	binary.BigEndian.PutUint64(head[2:], uint64(len(data)))
	return append(head, data...)
}

// frames has each line of data of an event stream be a message.
type frames struct{ net.Conn }

func (frames) Header() http.Header { return http.Header{} }
func (frames) WriteHeader(int)     {}
func (frames) Flush()              {}

func (e frames) Write(b []byte) (int, error) {
	if data, ok := bytes.CutPrefix(b, []byte("data: ")); ok {
		_, err := e.Conn.Write(frame(1, bytes.TrimSpace(data)))
		return len(b), err
	}
	return len(b), nil
}
