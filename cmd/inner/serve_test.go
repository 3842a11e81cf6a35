package main

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdServe starts an https server for the files of a folder. $URL is where it
// is, $PLAIN the same over http, and SSL_CERT_FILE makes it trusted.
// /to?WHERE sends on, /plainly/ to the server without TLS.
func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	refuseNeg(ts, neg, "serve DIR", len(args) == 1)
	files := http.FileServer(http.Dir(ts.MkAbs(args[0])))
	plain := httptest.NewServer(files)
	ts.Defer(plain.Close)
	mux := http.NewServeMux()
	mux.Handle("/", files)
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.RawQuery)
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/plainly/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+"/"+strings.TrimPrefix(r.URL.Path, "/plainly/"), http.StatusFound)
	})
	mux.HandleFunc("/endless.toml", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(strings.Repeat("# more\n", 1000))); err != nil {
				return
			}
		}
	})
	server := httptest.NewUnstartedServer(mux)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // who does not trust it says so itself
	server.StartTLS()
	ts.Defer(server.Close)
	ca := ts.MkAbs("ca.pem")
	ts.Check(os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	ts.Setenv("SSL_CERT_FILE", ca)
	ts.Setenv("URL", server.URL)
	ts.Setenv("PLAIN", plain.URL)
}
