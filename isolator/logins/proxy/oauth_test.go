package proxy

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/logins"
	"github.com/enr/inner/profile/renewal"
)

// issuer is a service with logins of which one is good at a time, and the host's store of it.
type issuer struct {
	*testing.T
	up      *httptest.Server
	port    uint16
	folder  string
	path    string
	roots   string
	kind    renewal.Store
	slow    time.Duration
	inside  string                                            // see logins.OAuth.Inside
	hostile func(w http.ResponseWriter, r *http.Request) bool // answers a renewal instead

	mu       sync.Mutex
	n        int // the login that is good
	renewals []url.Values
	headers  []http.Header
	took     []string // what came to /api as Authorization
}

func jwt(n int, ends time.Time) string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"RS256"}`) + "." + part(fmt.Sprintf(`{"exp":%d,"n":%d,"email":"me@example.com"}`, ends.Unix(), n)) + ".signature-REAL" + fmt.Sprint(n)
}

func (s *issuer) access(n int) string {
	if s.kind.Expires == "" {
		return jwt(n, time.Now().Add(time.Hour).Truncate(24*time.Hour).Add(48*time.Hour))
	}
	return fmt.Sprintf("sk-ant-oat01-REALACCESS%d-abcdef", n)
}

func (s *issuer) refresh(n int) string { return fmt.Sprintf("sk-ant-ort01-REALREFRESH%d-abcdef", n) }

func claude(port uint16) renewal.Store {
	return renewal.Store{
		File: ".credentials.json", Access: "claudeAiOauth.accessToken", Refresh: "claudeAiOauth.refreshToken", Expires: "claudeAiOauth.expiresAt",
		Scope: "claudeAiOauth.scopes", Of: "claudeAiOauth.clientId", Shown: []string{"claudeAiOauth.subscriptionType"},
		Token: fmt.Sprintf("%s:%d/v1/oauth/token", host, port), Scoped: true, Client: "the-client", Lock: "folder",
	}
}

func codex(port uint16) renewal.Store {
	return renewal.Store{
		File: "auth.json", Access: "tokens.access_token", Refresh: "tokens.refresh_token", ID: "tokens.id_token", Renewed: "last_refresh",
		Shown: []string{"auth_mode", "tokens.account_id"}, Token: fmt.Sprintf("%s:%d/v1/oauth/token", host, port), Client: "the-client", Lock: "auth.lock",
	}
}

func issue(t *testing.T, kind func(uint16) renewal.Store, ends time.Duration) *issuer {
	s := &issuer{T: t, folder: filepath.Join(t.TempDir(), "agent"), n: 1}
	s.up = httptest.NewUnstartedServer(http.HandlerFunc(s.service))
	s.up.EnableHTTP2 = true
	s.up.StartTLS()
	t.Cleanup(s.up.Close)
	at, _ := netip.ParseAddrPort(s.up.Listener.Addr().String())
	s.port = at.Port()
	s.kind = kind(s.port)
	s.roots = filepath.Join(t.TempDir(), "roots.pem")
	s.path = filepath.Join(s.folder, s.kind.File)
	must(t, os.Mkdir(s.folder, 0o700))
	must(t, os.WriteFile(s.roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.up.Certificate().Raw}), 0o600))
	s.store(1, ends)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// store is what the agent outside does after a renewal of its own.
func (s *issuer) store(n int, ends time.Duration) {
	var doc map[string]any
	if s.kind.Expires == "" {
		at := time.Now().Add(ends)
		doc = map[string]any{"auth_mode": "chatgpt", "OPENAI_API_KEY": "sk-proj-REALKEY-1234567890", "last_refresh": "2026-01-01T00:00:00Z", "tokens": map[string]any{
			"access_token": jwt(n, at), "refresh_token": s.refresh(n), "id_token": jwt(n, at), "account_id": "account",
		}}
	} else {
		doc = map[string]any{"claudeAiOauth": map[string]any{
			"accessToken": s.access(n), "refreshToken": s.refresh(n), "expiresAt": time.Now().Add(ends).UnixMilli(),
			"scopes": []string{"user:inference", "user:profile"}, "subscriptionType": "max", "unknown": "REALUNKNOWN-secret",
		}, "mcpOAuth": map[string]any{"x": "REALMCP-secret", "big": json.Number("12345678901234567890")}}
	}
	data, err := json.Marshal(doc)
	must(s.T, err)
	must(s.T, os.WriteFile(s.path+".new", data, 0o640))
	must(s.T, os.Rename(s.path+".new", s.path))
	s.mu.Lock()
	s.n = n
	s.mu.Unlock()
}

func (s *issuer) service(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/oauth/token" {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		s.took = append(s.took, got)
		w.Header().Set("X-Echo", got)
		if s.kind.Expires != "" {
			w.Header().Add("X-Echo", s.access(1)) // an earlier one
		}
		if !strings.Contains(got, "REAL") || !strings.Contains(got, fmt.Sprint("REALACCESS", s.n)) && !strings.Contains(got, fmt.Sprint("REAL", s.n)) && s.kind.Expires == "" {
			w.WriteHeader(http.StatusUnauthorized)
		} else if s.kind.Expires != "" && got != s.access(s.n) {
			w.WriteHeader(http.StatusUnauthorized)
		}
		return
	}
	data, _ := io.ReadAll(r.Body)
	fields, _ := url.ParseQuery(string(data))
	if doc, err := object(data); err == nil {
		fields = url.Values{}
		for k, v := range doc {
			fields.Set(k, fmt.Sprint(v))
		}
	}
	time.Sleep(s.slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewals, s.headers = append(s.renewals, fields), append(s.headers, r.Header)
	if s.hostile != nil && s.hostile(w, r) {
		return
	}
	if fields.Get("refresh_token") != s.refresh(s.n) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"%s"}`, fields.Get("refresh_token"))
		return
	}
	s.n++
	_ = json.NewEncoder(w).Encode(map[string]any{
		"access_token": s.access(s.n), "refresh_token": s.refresh(s.n), "expires_in": 28800, "scope": "evil:narrow", "account": s.access(s.n),
		"id_token": jwt(s.n, time.Now().Add(time.Hour)),
	})
}

func (s *issuer) asked() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewals
}

func (s *issuer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took
}

func (s *issuer) head() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers[0]
}

func (s *issuer) answer(hostile func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hostile = hostile
}

// box starts the program for one.
func (s *issuer) box() *rig {
	s.Helper()
	r := &rig{T: s.T, up: s.up, port: s.port}
	c := logins.Credential{
		Name: "lab", Hosts: []string{fmt.Sprintf("%s:%d", host, s.port)}, In: []string{"authorization"}, Deny: []string{"POST /api/key"},
		OAuth: &logins.OAuth{Store: s.kind, Path: s.path, Folder: s.folder, Inside: s.inside},
	}
	cmd := exec.Command(os.Args[0], "--build=test")
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+s.roots)
	var err error
	r.proxy, err = logins.Start(cmd, logins.Job{Credentials: []logins.Credential{c}}, func(e logins.Event) {
		r.mu.Lock()
		r.events = append(r.events, e)
		r.mu.Unlock()
	})
	must(s.T, err)
	r.kill = cmd.Process.Kill
	s.Cleanup(r.proxy.Close)
	r.ready, err = r.proxy.Wait(time.Minute)
	must(s.T, err)
	r.client = &http.Client{Transport: &http.Transport{DialTLSContext: r.dial, ForceAttemptHTTP2: true}}
	return r
}

// told are events, once there are so many.
func (r *rig) told(n int) (list []logins.Event) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && len(list) < n; time.Sleep(10 * time.Millisecond) {
		r.mu.Lock()
		list = slices.Clone(r.events)
		r.mu.Unlock()
	}
	return list
}

// api uses the login as a box does, and returns the status.
func (r *rig) api(token string) int {
	r.Helper()
	code, body, headers := r.ask(http.MethodGet, "/api", bearer(token))
	if text := body + fmt.Sprint(headers); strings.Contains(text, "REAL") {
		r.Errorf("a token came back: %s", text)
	}
	return code
}

// renewal asks for one, as a box does.
func (r *rig) renewal(fields map[string]any) (int, map[string]any) {
	r.Helper()
	data, _ := json.Marshal(fields)
	code, body, headers := r.ask(http.MethodPost, "/v1/oauth/token?store=/etc/passwd", func(q *http.Request) {
		q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("X-Box", "hello")
	})
	if strings.Contains(body+fmt.Sprint(headers), "REAL") {
		r.Errorf("a token came back: %s", body)
	}
	doc, _ := object([]byte(body))
	return code, doc
}

// doc is what the box has of the file, and grant a request for a renewal with what is in it.
func (r *rig) doc() map[string]any {
	doc, err := object(r.ready.Stores["lab"])
	must(r.T, err)
	return doc
}

func (r *rig) grant(kind renewal.Store) map[string]any {
	return map[string]any{"grant_type": "refresh_token", "refresh_token": get(r.doc(), kind.Refresh), "client_id": "evil", "scope": "evil", "redirect_uri": "https://evil.example"}
}

func (s *issuer) now() tokens {
	t, _, err := (&store{OAuth: logins.OAuth{Store: s.kind, Path: s.path}, root: slash(s.T)}).read()
	must(s.T, err)
	return t
}

func slash(t *testing.T) int {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// The box has what is listed of the file, and no value; its placeholder is used, and a renewal that nobody needs is
// answered from the store.
func TestUsedLogin(t *testing.T) {
	for name, kind := range map[string]func(uint16) renewal.Store{"claude": claude, "codex": codex} {
		s := issue(t, kind, 48*time.Hour)
		r := s.box()
		text := string(r.ready.Stores["lab"])
		if strings.Contains(text, "REAL") || name == "claude" && !strings.Contains(text, `"user:inference",`) ||
			name == "codex" && (!strings.Contains(text, `"account_id": "account"`) || jwtEnd(get(r.doc(), kind(0).ID).(string)).IsZero()) {
			t.Errorf("%s: the box has %s", name, text)
		}
		access := get(r.doc(), s.kind.Access).(string)
		if code := r.api(access); code != 200 {
			t.Errorf("%s: got %d", name, code)
		}
		for _, other := range []string{access + "y", "x" + access, get(r.doc(), s.kind.Refresh).(string)} {
			if code := r.api(other); code == 200 {
				t.Errorf("%s: %q was used", name, other)
			}
		}
		code, a := r.renewal(r.grant(s.kind))
		if code != 200 || a["access_token"] != access || len(s.asked()) > 0 || name == "claude" && a["scope"] != "user:inference user:profile" {
			t.Errorf("%s: %d, %v, renewals %v", name, code, a, s.asked())
		}
		// A login that is made in the box is its own, and any other request as it was.
		code, a = r.renewal(map[string]any{"grant_type": "authorization_code", "code": "own", "refresh_token": "own"})
		if code != 400 || len(s.asked()) != 1 || s.asked()[0].Get("code") != "own" {
			t.Errorf("%s: %d, %v, renewals %v", name, code, a, s.asked())
		}
	}
}

// A renewal is of the host's login, as that says, and is in the host's file then.
func TestRenewal(t *testing.T) {
	for name, kind := range map[string]func(uint16) renewal.Store{"claude": claude, "codex": codex} {
		s := issue(t, kind, 6*time.Minute)
		r := s.box()
		code, a := r.renewal(r.grant(s.kind))
		if code != 200 || len(s.asked()) != 1 {
			t.Fatalf("%s: %d, %v, renewals %v", name, code, a, s.asked())
		}
		sent, head := s.asked()[0], s.head()
		if sent.Get("client_id") != "the-client" || sent.Get("redirect_uri") != "" || head.Get("X-Box") != "" ||
			sent.Get("scope") != map[string]string{"claude": "user:inference user:profile"}[name] || sent.Get("refresh_token") != s.refresh(1) {
			t.Errorf("%s: sent %v, %v", name, sent, head)
		}
		if is := s.now(); is.access != s.access(2) || is.refresh != s.refresh(2) || time.Until(is.ends) < 7*time.Hour {
			t.Errorf("%s: the store has %+v", name, is)
		}
		fi, err := os.Stat(s.path)
		data, _ := os.ReadFile(s.path)
		if err != nil || fi.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", name, fi.Mode(), err)
		}
		for _, kept := range map[string][]string{"claude": {"REALMCP-secret", "12345678901234567890", "max"}, "codex": {"REALKEY", `"account_id": "account"`}}[name] {
			if !strings.Contains(string(data), kept) {
				t.Errorf("%s: %q is lost: %s", name, kept, data)
			}
		}
		if code := r.api(a["access_token"].(string)); code != 200 {
			t.Errorf("%s: got %d after the renewal", name, code)
		}
		if code := r.api(get(r.doc(), s.kind.Access).(string)); code != 200 { // of the older one
			t.Errorf("%s: the placeholder from before: %d", name, code)
		}
		left, _ := os.ReadDir(s.folder)
		if _, err := os.Stat(s.folder + ".lock"); err == nil || len(left) != map[string]int{"claude": 1, "codex": 2}[name] {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// The host's renewal is used by the next request, and a token that a host does not take is renewed, once.
func TestRenewedOutside(t *testing.T) {
	s := issue(t, claude, 48*time.Hour)
	r := s.box()
	access := get(r.doc(), s.kind.Access).(string)
	s.store(2, 48*time.Hour)
	if code := r.api(access); code != 200 || s.seen()[len(s.seen())-1] != s.access(2) {
		t.Errorf("%d, %v", code, s.seen())
	}
	s.mu.Lock()
	s.n = 7 // nothing that the host has is good any more but its refresh token
	s.mu.Unlock()
	data, _ := os.ReadFile(s.path)
	must(t, os.WriteFile(s.path, bytes.ReplaceAll(data, []byte(s.refresh(2)), []byte(s.refresh(7))), 0o600))
	if code := r.api(access); code != 401 {
		t.Fatalf("got %d", code)
	}
	if code, a := r.renewal(r.grant(s.kind)); code != 200 || len(s.asked()) != 1 || r.api(access) != 200 {
		t.Errorf("%d, %v, renewals %v", code, a, s.asked())
	}
	s.mu.Lock()
	s.n = 99
	s.mu.Unlock()
	for range 3 { // a box that says 401 as often as it likes
		r.api(access)
		r.renewal(r.grant(s.kind))
	}
	if len(s.asked()) != 1 {
		t.Errorf("%d renewals", len(s.asked()))
	}
	must(t, os.Remove(s.path)) // logged out
	if code := r.api(access); code != 401 || strings.Contains(s.seen()[len(s.seen())-1], "REAL") {
		t.Errorf("after a logout outside: %d, %v", code, s.seen())
	}
}

// What is refused with the login is, also of a box that asks while somebody logs out outside, and in again.
func TestDeniedMeanwhile(t *testing.T) {
	s := issue(t, claude, 48*time.Hour)
	r := s.box()
	access := get(r.doc(), s.kind.Access).(string)
	if code, _, _ := r.ask(http.MethodGet, "/api/key", func(q *http.Request) { bearer(access)(q); q.Header.Set("X-HTTP-Method-Override", "POST") }); code != http.StatusForbidden {
		t.Errorf("by another method: got %d", code)
	}
	for n := range 4 {
		if code, _, _ := r.ask(http.MethodPost, "/api/key", bearer(access)); code != http.StatusForbidden {
			t.Errorf("%d: got %d", n, code)
		}
		switch n {
		case 0:
			must(t, os.Remove(s.path))
		case 1:
			r.api(access) // without a value
		case 2:
			s.store(2, 48*time.Hour)
		}
	}
	if seen := s.seen(); len(seen) != 1 {
		t.Errorf("the service saw %v", seen)
	}
}

// Boxes that need a renewal at the same time share one, also with a holder of the agent's own lock who went away.
func TestRenewalOfMany(t *testing.T) {
	for name, kind := range map[string]func(uint16) renewal.Store{"claude": claude, "codex": codex} {
		s := issue(t, kind, 6*time.Minute)
		if s.slow = 300 * time.Millisecond; name == "claude" {
			must(t, os.Mkdir(s.folder+".lock", 0o700))
			old := time.Now().Add(-time.Minute)
			must(t, os.Chtimes(s.folder+".lock", old, old))
		}
		var all sync.WaitGroup
		for range 3 {
			r := s.box()
			for range 2 {
				all.Go(func() {
					if code, a := r.renewal(r.grant(s.kind)); code != 200 || r.api(a["access_token"].(string)) != 200 {
						t.Errorf("%s: %d, %v", name, code, a)
					}
				})
			}
		}
		all.Wait()
		if len(s.asked()) != 1 {
			t.Errorf("%s: %d renewals", name, len(s.asked()))
		}
	}
}

// That the program has ended is told, unless it was to.
func TestProxyIsGone(t *testing.T) {
	s := issue(t, claude, time.Hour)
	r, quiet := s.box(), s.box()
	must(t, r.kill())
	if told := r.told(1); len(told) != 1 || !strings.Contains(told[0].Refused, "has ended") {
		t.Errorf("told %+v", told)
	}
	quiet.proxy.Close()
	quiet.mu.Lock()
	defer quiet.mu.Unlock()
	if len(quiet.events) > 0 {
		t.Errorf("told %+v", quiet.events)
	}
}

// A box that asks for a renewal and ends takes no login along.
func TestRenewalOutlivesTheBox(t *testing.T) {
	s := issue(t, claude, 6*time.Minute)
	r := s.box()
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	s.hostile = func(http.ResponseWriter, *http.Request) bool {
		cancel()
		<-left
		time.Sleep(200 * time.Millisecond) // the box ends meanwhile
		return false
	}
	data, _ := json.Marshal(r.grant(s.kind))
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("https://%s:%d/v1/oauth/token", host, s.port), bytes.NewReader(data))
	must(t, err)
	if a, err := r.client.Do(q); err == nil {
		t.Errorf("got %v", a.Status)
	}
	close(left)
	r.proxy.Close()
	if is := s.now(); is.access != s.access(2) {
		t.Errorf("the store has %+v", is)
	}
}

// What a service may say instead of a renewal: the login stays as it is, and the box learns nothing.
func TestNoRenewal(t *testing.T) {
	for name, c := range map[string]struct {
		hostile func(w http.ResponseWriter, r *http.Request) bool
		code    int
	}{
		"refused": {func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(401)
			fmt.Fprint(w, `{"error":{"code":"x"}}`)
			return true
		}, 401},
		"a proxy": {func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(403)
			fmt.Fprint(w, `<html>blocked`)
			return true
		}, 503},
		"another": {func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(401)
			fmt.Fprint(w, `<html>log in`)
			return true
		}, 503},
		"too many": {func(w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(429); return true }, 503},
		"an echo": {func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Location", "https://evil.example/?REALREFRESH1")
			w.WriteHeader(302)
			fmt.Fprint(w, "REALREFRESH1")
			return true
		}, 503},
		"no token": {func(w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, `{"access_token":"x"}`); return true }, 503},
		"a line": {func(w http.ResponseWriter, r *http.Request) bool {
			fmt.Fprint(w, `{"access_token":"REAL-012345\nX: y"}`)
			return true
		}, 503},
		"null": {func(w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, `null`); return true }, 503},
		"huge": {func(w http.ResponseWriter, r *http.Request) bool {
			fmt.Fprint(w, `{"access_token":"`+strings.Repeat("a", 3<<20)+`"}`)
			return true
		}, 503},
		"huge header": {func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("X", strings.Repeat("a", 1<<19))
			return true
		}, 503},
	} {
		s := issue(t, claude, 6*time.Minute)
		before, _ := os.ReadFile(s.path)
		r := s.box()
		s.answer(c.hostile)
		code, a := r.renewal(r.grant(s.kind))
		after, _ := os.ReadFile(s.path)
		if code != c.code || a["error"] == nil || !bytes.Equal(before, after) {
			t.Errorf("%s: %d, %v, %s", name, code, a, after)
		}
		if code := r.api(get(r.doc(), s.kind.Access).(string)); code != 200 { // it lives for some minutes
			t.Errorf("%s: then %d", name, code)
		}
		if left, _ := os.ReadDir(s.folder); len(left) != 1 {
			t.Errorf("%s: left %v", name, left)
		}
		if again, _ := r.renewal(r.grant(s.kind)); again != c.code || len(s.asked()) != 1 { // one does not try again and again
			t.Errorf("%s: %d, %d renewals", name, again, len(s.asked()))
		}
		if told := r.told(2); len(told) != 2 {
			t.Errorf("%s: told %+v", name, told)
		}
	}
}

// At the start a login that has ended is renewed, or said to have ended.
func TestEndedLogin(t *testing.T) {
	s := issue(t, claude, -time.Hour)
	s.kind.Token = strings.Replace(s.kind.Token, host, "127.0.0.1", 1) // a name that is found
	r := s.box()
	if len(s.asked()) != 1 || len(r.ready.Ended) > 0 || r.api(get(r.doc(), s.kind.Access).(string)) != 200 {
		t.Errorf("%+v, renewals %v", r.ready.Ended, s.asked())
	}
	s.store(3, -time.Hour)
	s.mu.Lock()
	s.n = 9
	s.mu.Unlock()
	if r := s.box(); r.ready.Ended["lab"] == "" {
		t.Error("one that is revoked was taken")
	}
	s.up.Close() // offline
	if r := s.box(); r.ready.Ended["lab"] == "" || strings.Contains(fmt.Sprint(r.ready), "REAL") {
		t.Errorf("offline: %+v", r.ready)
	}
	s.store(4, time.Hour)
	s.inside = "another"
	if r := s.box(); len(r.ready.Ended) > 0 {
		t.Errorf("one that lives needs nobody: %+v", r.ready.Ended)
	}
	must(t, os.Remove(s.path))
	if r := s.box(); r.ready.Missing["lab"] == "" {
		t.Errorf("without a file: %+v", r.ready)
	}
}

// Where the box has another login, the service says whether the host's is good still.
func TestLoginInside(t *testing.T) {
	s := issue(t, claude, time.Hour)
	s.kind.Token = strings.Replace(s.kind.Token, host, "127.0.0.1", 1)
	shown := get(s.box().doc(), s.kind.Access).(string)
	s.inside = strings.TrimRight(shown, "x")[len(shown)/2:]
	if r := s.box(); len(s.asked()) > 0 || len(r.ready.Ended) > 0 {
		t.Errorf("with a placeholder: %v, renewals %v", r.ready.Ended, s.asked())
	}
	s.inside = "another"
	if r := s.box(); len(s.asked()) != 1 || len(r.ready.Ended) > 0 || r.api(get(r.doc(), s.kind.Access).(string)) != 200 {
		t.Errorf("%v, renewals %v", r.ready.Ended, s.asked())
	}
	s.mu.Lock()
	s.n = 9
	s.mu.Unlock()
	if r := s.box(); r.ready.Ended["lab"] == "" {
		t.Error("one that is revoked was taken")
	}
}

// The file is replaced as a whole or not at all, where it still has the login that was renewed, and through no link.
func TestStoreIsWritten(t *testing.T) {
	s := issue(t, claude, time.Hour)
	st := &store{OAuth: logins.OAuth{Store: s.kind, Path: s.path, Folder: s.folder}, root: slash(t)}
	was, fresh := s.now(), tokens{access: s.access(2), refresh: s.refresh(2), ends: time.Now().Add(time.Hour)}
	begin := func() *pending {
		p, err := st.begin()
		must(t, err)
		return p
	}
	p := begin()
	s.store(5, time.Hour) // somebody logs in meanwhile
	if err := p.write(was, fresh); err != errChanged || s.now().access != s.access(5) {
		t.Errorf("%v, %+v", err, s.now())
	}
	p.close()
	// It becomes a link: neither it nor what it leads to is written.
	target := filepath.Join(t.TempDir(), "target")
	must(t, os.Rename(s.path, target))
	must(t, os.Symlink(target, s.path))
	data, _ := os.ReadFile(target)
	p = begin()
	if err := p.write(tokens{access: s.access(5), refresh: s.refresh(5)}, fresh); err == nil {
		t.Error("a link was written")
	}
	p.close()
	if now, _ := os.ReadFile(target); !bytes.Equal(data, now) {
		t.Errorf("what the link leads to is %s", now)
	}
	// So does its folder.
	must(t, os.Remove(s.path))
	must(t, os.Rename(target, s.path))
	must(t, os.Rename(s.folder, s.folder+"-else"))
	must(t, os.Symlink(s.folder+"-else", s.folder))
	if _, err := st.begin(); err == nil {
		t.Error("a folder behind a link was written")
	}
	must(t, os.Remove(s.folder))
	must(t, os.Rename(s.folder+"-else", s.folder))
	// Killed between the two: the next one takes away what was left.
	if os.Getenv("KILLED") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledBetween$")
		cmd.Env = append(os.Environ(), "KILLED="+s.path)
		_ = cmd.Run()
	}
	if left, _ := os.ReadDir(s.folder); len(left) != 2 || s.now().access != s.access(5) {
		t.Fatalf("%v, %+v", left, s.now())
	}
	p = begin()
	must(t, p.write(s.now(), fresh))
	p.close()
	if left, _ := os.ReadDir(s.folder); len(left) != 1 || s.now().access != s.access(2) {
		t.Errorf("%v, %+v", left, s.now())
	}
	// A folder that cannot be written is known before the service is asked.
	must(t, os.Chmod(s.folder, 0o500))
	defer os.Chmod(s.folder, 0o700)
	if _, err := st.begin(); err == nil && os.Geteuid() != 0 {
		t.Error("it can be written")
	}
}

func TestKilledBetween(t *testing.T) {
	path := os.Getenv("KILLED")
	if path == "" {
		return
	}
	st := &store{OAuth: logins.OAuth{Store: claude(0), Path: path, Folder: filepath.Dir(path)}, root: slash(t)}
	p, err := st.begin()
	must(t, err)
	_, err = p.file.WriteString("half of it")
	must(t, err)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// An agent that holds its lock is waited for, and not for ever.
func TestLockOfTheAgent(t *testing.T) {
	s := issue(t, claude, time.Hour)
	st := &store{OAuth: logins.OAuth{Store: s.kind, Path: s.path, Folder: s.folder}, root: slash(t)}
	unlock, err := st.lock(t.Context())
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := st.lock(ctx); err == nil {
		t.Error("two have it")
	}
	unlock()
	unlock, err = st.lock(t.Context())
	must(t, err)
	unlock()
}
