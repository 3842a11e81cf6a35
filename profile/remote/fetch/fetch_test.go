package fetch_test

import (
	"compress/gzip"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/profile/remote"
	"github.com/enr/inner/profile/remote/fetch"
)

// The certificate of httptest's servers is the one the system trusts here.
func TestMain(m *testing.M) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	dir, err := os.MkdirTemp("", "fetch")
	if err != nil {
		panic(err)
	}
	file := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		panic(err)
	}
	os.Setenv("SSL_CERT_FILE", file)
	s.Close()
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

const profileText = "schema_version = \"1\"\n"

func get(t *testing.T, url string) (string, []string, error) {
	t.Helper()
	return getWithin(t, time.Minute, url)
}

func getWithin(t *testing.T, limit time.Duration, url string) (string, []string, error) {
	t.Helper()
	data, hops, err := fetch.Fetcher{Check: remote.Check, Timeout: limit}.Get(context.Background(), url)
	return string(data), hops, err
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestGet(t *testing.T) {
	var seen http.Header
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		io.WriteString(w, profileText)
	})
	text, hops, err := get(t, url+"/p.toml")
	if err != nil || text != profileText || hops != nil {
		t.Fatal(text, hops, err)
	}
	if seen.Get("User-Agent") != "inner" || seen.Get("Accept-Encoding") != "" || seen.Get("Cookie") != "" {
		t.Error(seen)
	}
	full := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("#", fetch.MaxSize)) })
	if text, _, err := get(t, full); err != nil || len(text) != fetch.MaxSize {
		t.Error("a full mebibyte:", len(text), err)
	}
	empty := serve(t, func(http.ResponseWriter, *http.Request) {})
	if text, _, err := get(t, empty); err != nil || text != "" {
		t.Error(text, err)
	}
}

func TestRedirects(t *testing.T) {
	var referer string
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		referer = r.Header.Get("Referer")
		io.WriteString(w, profileText)
	})
	first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/same" {
			http.Redirect(w, r, "/away?key=secret", http.StatusFound)
			return
		}
		http.Redirect(w, r, other+"/p.toml", http.StatusMovedPermanently)
	})
	text, hops, err := get(t, first+"/same?key=secret")
	if err != nil || text != profileText || len(hops) != 1 || hops[0] != strings.TrimPrefix(other, "https://") {
		t.Error(text, hops, err)
	}
	if referer != "" {
		t.Errorf("Referer %q", referer)
	}
}

// Each of these servers gives one error that names the URL, in time.
func TestHarm(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, profileText) }))
	t.Cleanup(plain.Close)
	to := func(where string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, where, http.StatusFound) }
	}
	for _, c := range []struct {
		name, want string
		h          http.HandlerFunc
	}{
		{"endless", "is larger than 1024 KiB", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}},
		{"one byte too many", "is larger than 1024 KiB", func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush() // no length
			io.WriteString(w, strings.Repeat("#", fetch.MaxSize+1))
		}},
		{"a length too large", "is larger than 1024 KiB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999")
		}},
		{"a length that is not kept", "cannot be fetched: unexpected EOF", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, profileText)
		}},
		{"to a file", `is redirected: "file:///etc/passwd"`, to("file:///etc/passwd")},
		{"to plain http", "is redirected from https to", to(plain.URL)},
		{"to http elsewhere", "is redirected from https to", to("http://example.com/")},
		{"to credentials", "with credentials in it", to("https://user:pw@example.com/")},
		{"to ftp", "is not https", to("ftp://example.com/p.toml")},
		{"in circles", "is redirected more than 5 times", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }},
		{"to nowhere", "cannot be fetched", to("https://127.0.0.1:1/")},
		{"a redirect without a place", "cannot be fetched", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) }},
		{"gone", "cannot be fetched: the server says 404 Not Found", http.NotFound},
		{"broken", "cannot be fetched: the server says 500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
		{"partial", "cannot be fetched: the server says 206", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(206) }},
		{"a page by its type", "is a web page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/HTML; charset=utf-8")
			io.WriteString(w, "hello")
		}},
		{"a page by its look", "is a web page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "\n <!DOCTYPE html><html>")
		}},
		{"compressed", "comes compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 1 << 10 {
				z.Write(make([]byte, 64<<10))
			}
			z.Close()
		}},
		{"large headers", "cannot be fetched", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }},
		{"reset", "cannot be fetched", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, c.h) + "/p.toml"
			wantError(t, url, c.want)
		})
	}
	t.Run("plain http that claims to be https", func(t *testing.T) {
		wantError(t, strings.Replace(plain.URL, "http", "https", 1), "cannot be fetched")
	})
	t.Run("nobody there", func(t *testing.T) { wantError(t, "https://127.0.0.1:1/p.toml", "connection refused") })
}

// TestTooSlow: a server has so long, whatever it sends meanwhile.
func TestTooSlow(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
	}{
		{"endless and slow", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, "# x\n")
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		}},
		{"silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantErrorWithin(t, 2*time.Second, serve(t, c.h)+"/p.toml", "took longer than 2s")
		})
	}
}

func wantError(t *testing.T, url, want string) {
	t.Helper()
	wantErrorWithin(t, time.Minute, url, want)
}

func wantErrorWithin(t *testing.T, limit time.Duration, url, want string) {
	t.Helper()
	text, _, err := getWithin(t, limit, url)
	switch {
	case err == nil:
		t.Fatalf("no error; %d bytes", len(text))
	case !strings.HasPrefix(err.Error(), fmt.Sprintf("%q ", url)), !strings.Contains(err.Error(), want), strings.Contains(err.Error(), "\n"):
		t.Errorf("%v, want %q and %q", err, url, want)
	case text != "":
		t.Errorf("%d bytes with the error", len(text))
	}
}
