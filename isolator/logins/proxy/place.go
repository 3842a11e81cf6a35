package proxy

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"io"
	"math"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/enr/inner/isolator/logins"
)

// login is a credential with its value, and what the box has in the place of that.
type login struct {
	logins.Credential
	placeholder string
	oauth       *oauth // of a login that is renewed, whose value changes; else nil
	held        atomic.Pointer[held]
}

// held is a value, and how it is found in what a service says.
type held struct {
	value  string
	forms  []string          // in which a service may say the value again
	least  int               // bytes of each of them
	echoes *strings.Replacer // takes these out of what it says
}

// prefixes are what services let their values begin with: people, and scanners for secrets,
// know them by it.
var prefixes = regexp.MustCompile(`^(sk-ant-[a-z]+[0-9]*-|sk-proj-|sk-|gh[pousr]_|github_pat_|glpat-|npm_|pypi-|ya29\.|AIza|xox[a-z]-)`)

// shape makes a placeholder that looks like a value: the same beginning and length, but
// long enough not to be met by chance. Who does not know the seed learns nothing of the value.
func shape(value, seed string) string {
	begin, text := prefixes.FindString(value), rand.Text()
	if seed != "" {
		sum := hmac.New(sha256.New, []byte(seed))
		sum.Write([]byte(value))
		text = base32.StdEncoding.EncodeToString(sum.Sum(nil))[:len(text)]
	}
	return begin + strings.Repeat(text, 1+len(value)/len(text))[:max(len(text), len(value)-len(begin))]
}

func newLogin(ctx context.Context, c logins.Credential, variables map[string]string) (*login, error) {
	text, err := value(ctx, c.From, variables)
	if err != nil {
		return nil, err
	}
	l := &login{Credential: c, placeholder: shape(text, c.Seed)}
	l.hold(text)
	return l, nil
}

// hold has the login use a value from now on. Others of its values are taken out of answers, too.
func (l *login) hold(value string, others ...string) {
	h := &held{value: value, least: math.MaxInt}
	var pairs []string
	add := func(from, to string) {
		h.forms, pairs = append(h.forms, from), append(pairs, from, to)
		h.least = min(h.least, len(from), len(strings.ToLower(from)))
	}
	for _, text := range append(others, value) {
		if text == "" {
			continue
		}
		add(text, l.placeholder)
		for _, q := range []string{url.QueryEscape(text), strings.ReplaceAll(text, "/", `\/`)} { // JSON has either
			if q != text {
				add(q, l.placeholder)
			}
		}
		// Base64 with what is before it ending at each of the three places; the ends, which
		// depend on the neighbours, are cut.
		for skip, cut := range []int{0, 2, 3} {
			for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
				whole := alphabet.EncodeToString([]byte(strings.Repeat("\x00", skip) + text))
				if end := (len(text) + skip) * 8 / 6; end-cut >= 8 {
					add(whole[cut:end], strings.Repeat("x", end-cut))
				}
			}
		}
	}
	h.echoes = strings.NewReplacer(pairs...)
	l.held.Store(h)
}

// is reports whether text is the placeholder.
func (l *login) is(text string) bool {
	return text == l.placeholder || l.oauth != nil && l.oauth.is("access", text)
}

func (l *login) value() string { return l.held.Load().value }

// put puts the value where the placeholder is the whole of a place, and stands once; it
// reports whether it did.
func (l *login) put(r *http.Request) (used bool) {
	for _, place := range l.In {
		kind, name, _ := strings.Cut(place, ":")
		switch kind {
		case "query":
			used = l.query(r.URL, name) || used
		case "header":
			if v := r.Header.Values(name); len(v) == 1 && l.is(v[0]) {
				r.Header.Set(name, l.value())
				used = true
			}
		default:
			used = l.authorization(r.Header, kind == "basic", name) || used
		}
	}
	return used
}

func (l *login) authorization(h http.Header, basic bool, of string) bool {
	scheme, rest, spaced := strings.Cut(h.Get("Authorization"), " ")
	if !spaced && l.is(scheme) && !basic {
		h.Set("Authorization", l.value())
		return true
	}
	if strings.EqualFold(scheme, "basic") != basic {
		return false
	}
	if !basic {
		if !l.is(strings.TrimSpace(rest)) {
			return false
		}
		h.Set("Authorization", scheme+" "+l.value())
		return true
	}
	both, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
	user, password, ok := strings.Cut(string(both), ":")
	switch {
	case err != nil || !ok || of != "" && of != user:
		return false
	case l.is(password):
		password = l.value()
	case l.is(user):
		user = l.value()
	default:
		return false
	}
	h.Set("Authorization", scheme+" "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	return true
}

// query leaves the order and the spelling of everything else.
func (l *login) query(u *url.URL, name string) bool {
	parts := strings.Split(u.RawQuery, "&")
	at := -1
	for i, p := range parts {
		if k, v, _ := strings.Cut(p, "="); k == name {
			if !l.is(v) || at >= 0 {
				return false
			}
			at = i
		}
	}
	if at < 0 {
		return false
	}
	parts[at] = name + "=" + url.QueryEscape(l.value())
	u.RawQuery = strings.Join(parts, "&")
	return true
}

// permits reports whether a request to a host may be made, if it is one with the login, and why not. A pattern that
// begins with a host is for that one. What is denied is so below any path, as another server may have all below one.
func (l *login) permits(r *http.Request, host string) (why string) {
	override := ""
	for _, name := range []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"} {
		if r.Header[name] != nil {
			override = name
		}
	}
	denied := func(pattern string) bool { return override != "" || strings.HasPrefix(pattern, r.Method+" ") }
	if len(l.Allow) == 0 && !slices.ContainsFunc(l.Deny, denied) || !l.put(r.Clone(r.Context())) {
		return ""
	}
	p := r.URL.Path
	if r.URL.RawPath != "" || path.Clean(p) != p && path.Clean(p)+"/" != p || strings.ContainsAny(p,
		`\;`) || strings.Contains(p, "%") {
		return "its path can be read in two ways"
	}
	if override != "" {
		return override + " names another method"
	}
	is := func(path string) func(string) bool {
		return func(pattern string) bool {
			method, want, _ := strings.Cut(pattern, " ")
			return (method == "*" || method == r.Method) && (matches(want, path) || matches(want, host+path))
		}
	}
	low := strings.ToLower(p) // services read names in either case
	for i, c := range low {
		if c == '/' && slices.ContainsFunc(l.Deny, is(low[i:])) {
			return "it makes another secret"
		}
	}
	if len(l.Allow) > 0 && !slices.ContainsFunc(l.Allow, is(p)) {
		return logins.NotAllowed
	}
	return ""
}

// matches compares a path with a pattern, segment by segment; a last * is all that follows.
func matches(pattern, p string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(strings.TrimSuffix(p, "/"), "/")
	for i, w := range want {
		if w == "*" && i == len(want)-1 {
			return len(have) >= i
		}
		if i >= len(have) {
			return false
		}
		if ok, err := path.Match(w, have[i]); err != nil || !ok {
			return false
		}
	}
	return len(want) == len(have)
}

// clean takes the value out of headers. One whose name holds it goes.
func (l *login) clean(h http.Header) {
	is := l.held.Load()
	for name, values := range h {
		has := func(form string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(form)) }
		if len(name) >= is.least && slices.ContainsFunc(is.forms, has) {
			delete(h, name)
		}
		for i, v := range values {
			if len(v) < is.least { // in no spelling it is shorter, and most headers are
				continue
			}
			if values[i] = is.echoes.Replace(v); is.escaped(values[i]) {
				values[i] = l.placeholder
			}
		}
	}
}

// escaped reports whether text holds the value in a spelling of URLs other than ours.
func (h *held) escaped(text string) bool {
	for range 2 {
		if h.value == "" {
			return false
		}
		path, _ := url.PathUnescape(text)
		if query, _ := url.QueryUnescape(text); strings.Contains(path+"\n"+query, h.value) {
			return true
		}
		text = path
	}
	return false
}

// cleaned takes the values of logins out of all headers of an answer: also of those before
// it (103), and of trailers, which stand there when it is through.
type cleaned struct {
	http.ResponseWriter
	of []*login
}

// Unwrap is for http.ResponseController.
func (w cleaned) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w cleaned) WriteHeader(code int) {
	w.clean()
	w.ResponseWriter.WriteHeader(code)
}

func (w cleaned) clean() {
	for _, l := range w.of {
		l.clean(w.Header())
	}
}

// filter takes the value out of a body. It holds back only what could be the beginning of a
// value, so that events pass at once.
type filter struct {
	io.ReadCloser
	of   *held
	held string // what is not passed on yet
	out  []byte
	err  error
}

func (f *filter) Read(b []byte) (int, error) {
	for len(f.out) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		chunk := make([]byte, 32<<10)
		var n int
		n, f.err = f.ReadCloser.Read(chunk)
		text := f.of.echoes.Replace(f.held + string(chunk[:n]))
		keep := 0
		if f.err == nil {
			keep = f.of.begun(text)
		}
		f.out, f.held = []byte(text[:len(text)-keep]), text[len(text)-keep:]
	}
	n := copy(b, f.out)
	f.out = f.out[n:]
	return n, nil
}

// begun is how many last bytes of a text are the beginning of the value, in one of its forms.
func (h *held) begun(text string) (most int) {
	for _, form := range h.forms {
		for n := min(len(form)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, form[:n]) {
				most = n
			}
		}
	}
	return most
}
