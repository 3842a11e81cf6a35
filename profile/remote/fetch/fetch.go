// Package fetch is the http client: one GET of a small text, hardened against a
// server that means harm. It holds no state, sends no cookie, no Referer and no
// credentials, takes no compressed answer, and follows at most five redirects,
// none of which may be to anything its caller would not have asked for itself.
//
// The system's certificates decide who a server is; SSL_CERT_FILE and the proxy
// variables are honoured as everywhere.
package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// MaxSize is the longest answer that is read, in bytes.
	MaxSize = 1 << 20
	// Timeout is the longest a Get may last, redirects and body included.
	Timeout = 30 * time.Second

	maxRedirects = 5
	maxHeader    = 64 << 10
)

// Fetcher gets texts. Check says which URLs may be asked for, redirects
// included; it is not nil. Timeout is Timeout when it is zero.
type Fetcher struct {
	Check   func(raw string) error
	Timeout time.Duration
}

// Get reads what is at a URL. hops are the hosts it was sent on to. Every error
// names the URL that was asked for.
func (f Fetcher) Get(ctx context.Context, raw string) (data []byte, hops []string, err error) {
	if f.Timeout == 0 {
		f.Timeout = Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	resp, err := f.ask(ctx, raw, &hops)
	if err == nil {
		defer resp.Body.Close()
		data, err = f.text(ctx, resp)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%q %w", raw, err)
	}
	return data, hops, nil
}

// ask sends the request, and follows where it is redirected to.
func (f Fetcher) ask(ctx context.Context, raw string, hops *[]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, raw, nil)
	if err != nil {
		return nil, errors.New("is not a URL")
	}
	req.Header.Set("User-Agent", "inner")
	req.Header.Set("Accept", "application/toml, text/plain;q=0.9, */*;q=0.1")
	client := &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			DisableCompression:     true,
			DisableKeepAlives:      true,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			last := via[len(via)-1]
			if len(via) > maxRedirects {
				return fmt.Errorf("is redirected more than %d times", maxRedirects)
			}
			if last.URL.Scheme == "https" && req.URL.Scheme == "http" {
				return fmt.Errorf("is redirected from https to %q", req.URL)
			}
			if err := f.Check(req.URL.String()); err != nil {
				return fmt.Errorf("is redirected: %w", err)
			}
			if req.URL.Host != last.URL.Host {
				*hops = append(*hops, req.URL.Host)
			}
			req.Header.Del("Referer") // the query of a URL may be somebody's key
			return nil
		},
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, f.plain(ctx, err)
	}
	return resp, nil
}

// text reads an answer, if it is one that a profile can be.
func (f Fetcher) text(ctx context.Context, resp *http.Response) ([]byte, error) {
	page, large := errors.New("is a web page, not a profile"), fmt.Errorf("is larger than %d KiB", MaxSize>>10)
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	switch enc := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("cannot be fetched: the server says %s", statusLine(resp))
	case enc != "" && enc != "identity":
		return nil, fmt.Errorf("comes compressed (%q), which was not asked for", enc)
	case strings.EqualFold(strings.TrimSpace(kind), "text/html"):
		return nil, page
	case resp.ContentLength > MaxSize:
		return nil, large
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxSize+1))
	if err == nil {
		err = ctx.Err() // a stream that is cut off just then ends without an error, as a whole text does
	}
	switch {
	case err != nil:
		return nil, f.plain(ctx, err)
	case len(data) > MaxSize:
		return nil, large
	case isPage(data):
		return nil, page
	}
	return data, nil
}

// statusLine is the code and what the code means; the server's own words are
// not repeated.
func statusLine(resp *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
}

// isPage recognises what servers send for a file that is not there.
func isPage(data []byte) bool {
	start := bytes.ToLower(bytes.TrimSpace(data[:min(len(data), 256)]))
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

// plain puts a transport's error into the words of the others.
func (f Fetcher) plain(ctx context.Context, err error) error {
	var netErr net.Error
	var ue *url.Error
	switch {
	case ctx.Err() == context.DeadlineExceeded, errors.As(err, &netErr) && netErr.Timeout():
		return fmt.Errorf("took longer than %s", f.Timeout)
	case errors.As(err, &ue):
		err = ue.Err
	}
	if strings.HasPrefix(err.Error(), "is redirected") {
		return err
	}
	return fmt.Errorf("cannot be fetched: %w", err)
}
