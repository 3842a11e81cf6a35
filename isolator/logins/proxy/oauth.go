package proxy

// Logins that an agent renews (OAuth). The box has placeholders of the tokens; renewals are
// made here, of the host's own login: a request of the box for one says no more than that
// it is wanted. Where it goes, as whom, for which scope and with which token, and what is
// written, is none of the box's; it gets an answer that is made here, too.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/logins"
)

const (
	lives    = 10 * time.Minute // a token that does is not renewed: agents renew before the end, Claude Code by five
	seldom   = time.Minute      // a box can ask as often as it likes: no service is asked sooner again
	askTime  = 30 * time.Second // that a service may take
	mostOld  = 8                // earlier tokens that are taken out of answers
	maxShown = 4 << 10          // of one field of a file, for the box: a packet has its end
	lookFor  = 3 * time.Second  // after a refusal: an agent may be renewing at the same time
)

// oauth is such a login.
type oauth struct {
	store
	name  string
	trust func() *tls.Config
	hold  func(value string, others ...string)
	lost  func() // says that a renewed login could not be saved

	one  sync.Mutex    // one renewal at a time
	busy *sync.RWMutex // held for reading by renewals, and taken by the end of the program

	mu      sync.Mutex
	now     tokens
	from    unix.Stat_t // the file that now was read from
	old     []string    // access tokens before
	bad     string      // to which a host said 401
	renewed time.Time   // when the service last did
	asked   time.Time   // when it was asked last
	tried   string      // with which refresh token, or what that became
	said    error       // what came of it
}

const notSaved = "the login was renewed and could not be saved: log in again outside after this run"

var (
	errAway   = errors.New("its service cannot be reached")
	errSeldom = errors.New("it was renewed just now")
)

// refused is what a service said to a renewal.
type refused int

func (r refused) Error() string { return "its service does not renew it: log in again outside" }

// renewable opens a login that is renewed. One that has ended is.
func (p *proxy) renewable(ctx context.Context, c logins.Credential, ready *logins.Ready) (*login, error) {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	l := &login{Credential: c}
	o := &oauth{store: store{*c.OAuth, root}, name: c.Name, hold: l.hold, busy: &p.busy, lost: func() {
		host, _, _ := strings.Cut(c.OAuth.Token, "/")
		p.tell(logins.Event{Credential: c.Name, Host: host, Refused: notSaved})
	}, trust: func() *tls.Config {
		return &tls.Config{RootCAs: p.roots(), MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	}}
	l.oauth = o
	l.hold("")
	t := o.current()
	ended := !t.ends.IsZero() && time.Until(t.ends) <= 0 // before, the box can ask for it
	if !ended && !strings.HasSuffix(o.sign("access"), c.OAuth.Inside) {
		o.bad = t.access // somebody had a reason to log in there
	}
	if !c.OAuth.Later && (ended || o.bad != "") {
		var no refused
		if t, _, err = o.renew(ctx, nil, "inner"); ended && err != nil || errors.As(err, &no) {
			ready.Ended[c.Name] = err.Error()
		}
	}
	t, file, err := o.read()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, errors.New(logins.Nobody)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read", filepath.Base(o.Path))
	}
	if t.access == "" && t.refresh == "" {
		return nil, errors.New(logins.Nobody)
	}
	ready.Stores[c.Name] = o.shown(file, t)
	l.placeholder = o.placeholder("access", t.access)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep(o.now, o.from)
	return l, nil
}

// shown is what the box has of the file: what is listed, and placeholders.
func (o *oauth) shown(file map[string]any, t tokens) []byte {
	doc := map[string]any{}
	for _, path := range append(o.Shown, o.Expires, o.Scope, o.Renewed) {
		v := get(file, path)
		if text, _ := json.Marshal(v); path != "" && v != nil && len(text) <= maxShown {
			set(doc, path, v)
		}
	}
	stand := func(path, field, value string) {
		if value != "" {
			set(doc, path, o.placeholder(field, value))
		}
	}
	stand(o.Access, "access", t.access)
	stand(o.Refresh, "refresh", t.refresh)
	stand(o.ID, "id", t.id)
	data, _ := json.MarshalIndent(doc, "", "  ") // it was JSON
	return data
}

// sign is how placeholders of a field end: the same in all runs, so that boxes that share a
// home understand each other's file. Whoever knows it cannot use it but through this
// program.
func (o *oauth) sign(field string) string {
	sum := sha256.Sum256([]byte("inner placeholder\x00" + o.name + "\x00" + field))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16])
}

// placeholder is one for a token: of a JWT the claims, which agents read, with another signature.
func (o *oauth) placeholder(field, value string) string {
	if parts := strings.Split(value, "."); len(parts) == 3 && json.Valid(decoded(parts[0])) {
		return parts[0] + "." + parts[1] + "." + o.sign(field)
	}
	begin := prefixes.FindString(value)
	return begin + o.sign(field) + strings.Repeat("x", max(0, len(value)-len(begin)-len(o.sign(field))))
}

// is reports whether a text is a placeholder of a field, also of an earlier token.
func (o *oauth) is(field, text string) bool {
	if begin, ok := strings.CutSuffix(strings.TrimRight(text, "x"), o.sign(field)); ok {
		parts := strings.Split(begin, ".")
		return begin == prefixes.FindString(begin) || len(parts) == 3 && parts[2] == "" && json.Valid(decoded(parts[0]))
	}
	return false
}

// current is the login as the host has it: at the price of a stat where it did not change.
func (o *oauth) current() tokens {
	o.mu.Lock()
	defer o.mu.Unlock()
	st, err := o.stamp()
	if err == nil && st == o.from {
		return o.now
	}
	t, _, readErr := o.read()
	switch {
	case errors.Is(err, os.ErrNotExist): // logged out
		o.keep(tokens{}, unix.Stat_t{})
	case err == nil && readErr == nil:
		o.keep(t, st)
	} // else it is being written, or no file any more: what was read counts
	return o.now
}

func (o *oauth) keep(t tokens, from unix.Stat_t) {
	if t.access != o.now.access {
		o.old = append(o.old[max(0, len(o.old)-mostOld+1):], o.now.access)
	}
	o.now, o.from = t, from
	o.hold(t.access, append([]string{t.refresh}, o.old...)...)
}

// saw remembers a token that its host does not take.
func (o *oauth) saw(r *http.Request) {
	_, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	o.mu.Lock()
	defer o.mu.Unlock()
	if value == o.now.access {
		o.bad = value
	}
}

// good reports whether a login needs no renewal. One that was just renewed is good enough,
// whatever is said of it.
func (o *oauth) good(t tokens) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := time.Until(t.ends)
	if t.access == "" || !t.ends.IsZero() && left <= 0 {
		return false
	}
	return time.Since(o.renewed) < seldom || t.access != o.bad && (t.ends.IsZero() || left >= lives)
}

// renew returns a login that is good: the host's, where it is, else a renewed one, which
// the host has then.
func (o *oauth) renew(ctx context.Context, at []netip.Addr, agent string) (t tokens, did bool, err error) {
	o.one.Lock()
	defer o.one.Unlock()
	// A renewal that has begun is brought to its end, whoever goes: its answer may be the
	// only login that is left.
	o.busy.RLock()
	defer o.busy.RUnlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockWait+askTime)
	defer cancel()
	if t = o.current(); o.good(t) {
		return t, false, nil
	}
	start := time.Now()
	if t, err = o.exchange(ctx, at, agent); err == nil {
		return t, true, nil
	}
	if _, no := err.(refused); no && o.justAsked(start) {
		// Perhaps an agent outside was faster, which takes no lock that we know. Ours is free now.
		for end := time.Now().Add(lookFor); time.Now().Before(end) && pause(ctx) == nil; {
			if now := o.current(); now.access != t.access && o.good(now) {
				return now, false, nil
			}
		}
	}
	return t, false, err
}

// exchange renews the login under the agent's lock. With an error t is the login that was not renewed.
func (o *oauth) exchange(ctx context.Context, at []netip.Addr, agent string) (t tokens, err error) {
	unlock, err := o.lock(ctx)
	if err != nil {
		return t, err
	}
	defer unlock()
	file, err := o.begin()
	if err != nil {
		return t, errors.New("its file could not be saved, as the folder cannot be written or has no room")
	}
	defer file.close()
	t = o.current()
	switch said := o.again(t); {
	case o.good(t): // another one was faster
		return t, nil
	case t.refresh == "":
		return t, refused(http.StatusBadRequest)
	case said != nil:
		return t, said
	}
	got, err := o.ask(ctx, t, at, agent)
	o.mu.Lock()
	o.asked, o.tried, o.said = time.Now(), t.refresh, err
	if err == nil {
		o.renewed, o.tried, o.said = o.asked, got.refresh, errSeldom
	}
	o.mu.Unlock()
	if err != nil {
		return t, err
	}
	switch err = file.write(t, got); {
	case err == nil:
		return o.current(), nil
	case errors.Is(err, errChanged), errors.Is(err, os.ErrNotExist): // somebody logged in, or out: theirs counts
		if t = o.current(); o.good(t) {
			return t, nil
		}
		return t, errChanged
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep(got, o.from) // for this run, or until the file changes
	o.lost()
	return got, nil
}

// justAsked reports whether the service was asked since a moment.
func (o *oauth) justAsked(since time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked.After(since)
}

// again is what came of a renewal that was asked for just now, and is not asked for again;
// nil for any other. Only what cannot be reached may be there in a moment.
func (o *oauth) again(t tokens) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	wait := seldom
	if errors.Is(o.said, errAway) {
		wait = lookFor
	}
	if t.refresh == o.tried && time.Since(o.asked) < wait {
		return o.said
	}
	return nil
}

// ask asks the service. Nothing that it says but the tokens is used.
func (o *oauth) ask(ctx context.Context, t tokens, at []netip.Addr, agent string) (got tokens, err error) {
	fields := map[string]string{"grant_type": "refresh_token", "refresh_token": t.refresh, "client_id": o.Client}
	if t.client != "" {
		fields["client_id"] = t.client
	}
	if o.Secret != "" {
		fields["client_secret"] = o.Secret
	}
	if o.Scoped && t.scope != "" {
		fields["scope"] = t.scope
	}
	body, _ := json.Marshal(fields)
	kind := "application/json"
	if o.Form {
		form := url.Values{}
		for k, v := range fields {
			form.Set(k, v)
		}
		body, kind = []byte(form.Encode()), "application/x-www-form-urlencoded"
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+o.Token, bytes.NewReader(body))
	if err != nil {
		return got, err
	}
	r.Header = http.Header{"Content-Type": {kind}, "Accept": {"application/json"}, "User-Agent": {agent}}
	way := &http.Transport{ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 1 << 16}
	way.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn,
		error,
	) {
		return o.dial(ctx, address, at)
	}
	a, err := way.RoundTrip(r)
	if err != nil {
		return got, errAway
	}
	defer a.Body.Close()
	data, err := io.ReadAll(io.LimitReader(a.Body, maxStore))
	if err != nil {
		return got, errAway
	}
	doc, err := object(data)
	switch no := a.StatusCode == http.StatusBadRequest || a.StatusCode == http.StatusUnauthorized; {
	case no && doc["error"] != nil: // it is the service that says so, and no proxy on the way
		return got, refused(a.StatusCode)
	case a.StatusCode/100 != 2:
		return got, fmt.Errorf("its service answers %d", a.StatusCode)
	}
	text := func(key string) string { v, _ := doc[key].(string); return v }
	got = tokens{scope: t.scope, client: t.client}
	got.access, got.refresh, got.id = text("access_token"), text("refresh_token"), text("id_token")
	if got.refresh == "" {
		got.refresh = t.refresh
	}
	if err != nil || !token(got.access) || !token(got.refresh) || got.id != "" && !token(got.id) {
		return got, errors.New("its service answers without a token")
	}
	n, _ := doc["expires_in"].(json.Number)
	seconds, _ := n.Int64()
	switch {
	case seconds > 0:
		got.ends = time.Now().Add(min(time.Duration(min(seconds, 1<<30))*time.Second, 366*24*time.Hour))
	default:
		if got.ends = jwtEnd(got.access); got.ends.IsZero() && o.Expires != "" {
			got.ends = time.Now().Add(time.Hour)
		}
	}
	return got, nil
}

// dial connects to the service: at the addresses that the policy of the box allows, or, at
// the start, at any.
func (o *oauth) dial(ctx context.Context, address string, at []netip.Addr) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	conf := o.trust()
	conf.ServerName = host
	if at == nil {
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: conf}
		return d.DialContext(ctx, "tcp", address)
	}
	n, _ := strconv.ParseUint(port, 10, 16)
	return dialAny(ctx, at, uint16(n), conf)
}

// token answers the request of a box for a renewal. It reports false for any other request,
// which is as it was: what it holds are placeholders.
func (p *proxy) token(w http.ResponseWriter, r *http.Request, l *login, to logins.Conn) bool {
	host, path, _ := strings.Cut(l.OAuth.Token, "/")
	if !l.Renews(to.Host, to.Port) || r.Method != http.MethodPost || r.URL.Path != "/"+path {
		return false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(helloTime))
	data, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if err != nil {
		refuse(w, http.StatusBadRequest, "the request broke off")
		return true
	}
	form, _ := url.ParseQuery(string(data))
	grant, sent := form.Get("grant_type"), form.Get("refresh_token")
	if doc, err := object(data); err == nil {
		grant, _ = doc["grant_type"].(string)
		sent, _ = doc["refresh_token"].(string)
	}
	if grant != "refresh_token" || !l.oauth.is("refresh", sent) {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(data), r.Body), r.Body}
		return false
	}
	agent := r.UserAgent()
	t, did, err := l.oauth.renew(r.Context(), to.Addrs, agent[:min(len(agent), 200)])
	name, _, _ := strings.Cut(host, ":")
	answer, code := map[string]any{}, http.StatusOK
	var no refused
	switch {
	case errors.As(err, &no):
		code, answer["error"] = int(no), "invalid_grant"
	case err != nil:
		code, answer["error"] = http.StatusServiceUnavailable, "temporarily_unavailable"
	default:
		answer = l.oauth.answer(t)
	}
	if err != nil {
		answer["error_description"] = "inner: credential " + l.Name + ": " + err.Error()
		p.tell(logins.Event{Credential: l.Name, Host: name, Path: "/" + path, Refused: "it is not renewed: " + err.Error()})
	} else if did {
		p.tell(logins.Event{Credential: l.Name, Host: name, Path: "/" + path})
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
	return true
}

// answer is one as a service gives it, with placeholders.
func (o *oauth) answer(t tokens) map[string]any {
	a := map[string]any{
		"token_type":    "Bearer",
		"access_token":  o.placeholder("access", t.access),
		"refresh_token": o.placeholder("refresh", t.refresh),
	}
	if !t.ends.IsZero() {
		a["expires_in"] = int64(time.Until(t.ends).Seconds())
	}
	if t.scope != "" { // Claude Code keeps no answer without
		a["scope"] = t.scope
	}
	if t.id != "" {
		a["id_token"] = o.placeholder("id", t.id)
	}
	return a
}

func decoded(part string) []byte {
	data, _ := base64.RawURLEncoding.DecodeString(part)
	return data
}
