package features

// What the programs of a box take as certificates, where inner-proxy ends their TLS.

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// systemBundles are where systems keep the certificates that they trust, as one file.
func systemBundles() []string {
	return []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/ssl/cert.pem",
	}
}

// trust is what the programs of a box take besides the certificate of inner-proxy.
type trust struct {
	system, own []byte   // certificates, of the system and of the user
	bundles     []string // where the system's are
	java        []javaStore
}

// certificateVariables lead programs to certificates.
func certificateVariables() []string {
	return []string{
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
		"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "CARGO_HTTP_CAINFO",
		"GIT_SSL_CAINFO", "AWS_CA_BUNDLE", "PIP_CERT", "DENO_CERT",
	}
}

// trustOf finds that out, which takes as long as inner-proxy does until it has its certificate.
func trustOf(run *Run) *trust {
	t := new(trust)
	for _, p := range systemBundles() {
		real := files.Real(p)
		if data, err := files.Read(real, files.NoLinks, 8<<20); err == nil && len(t.system) == 0 {
			t.system = data
		}
		if files.Exists(real) && run.ofSystem(real) && !slices.Contains(t.bundles, real) {
			t.bundles = append(t.bundles, real)
		}
	}
	var read []string // many variables name one file
	for _, name := range certificateVariables() {
		for _, p := range filepath.SplitList(run.Getenv(name)) {
			if run.Spec.Env.Kept(name) || run.ofSystem(p) || slices.Contains(read, p) {
				continue
			}
			read = append(read, p)
			for _, file := range withEntries(p) {
				if data, err := run.certificate(file); err == nil {
					t.own = append(t.own, data...)
				}
			}
		}
	}
	t.java = javaStores(run, t.system)
	return t
}

// give has the programs of the box take the certificates of inner-proxy: with those of the system and of the user
// they lie over the system's, and the variables lead to them that programs read. Variables of the profile stay.
func (t *trust) give(run *Run) {
	own := slices.Concat(run.authority, t.own)
	all := slices.Concat(t.system, []byte("\n"), own)
	const reason = "logins are put in by inner-proxy ([credentials])"
	add := func(at string, text []byte) {
		run.Assets.Parts = append(run.Assets.Parts, systemFile(at, text, reason))
	}
	for _, at := range t.bundles {
		add(at, all)
	}
	for _, s := range t.java {
		if !slices.ContainsFunc(run.Assets.Parts, func(p plan.Part) bool { return p.Op.Dest == s.at }) {
			add(s.at, s.with(own))
		}
	}
	variables := certificateVariables()
	for _, kv := range run.Spec.Env.Set {
		if slices.Contains(variables, kv.Key) {
			run.Warn("%s is set by the profile: programs that read it may not take the certificates of [credentials]",
				kv.Key)
		}
	}
	at := boxFile(run, paths.BoxTrust, all, reason)
	extra := boxFile(run, paths.BoxTrust+"-own", own, reason)
	for _, name := range append(variables, "CODEX_CA_CERTIFICATE", "npm_config_cafile") {
		switch name {
		case "SSL_CERT_DIR":
		case "NODE_EXTRA_CA_CERTS", "DENO_CERT":
			run.Assets.Env = append(run.Assets.Env, profile.KV{Key: name, Value: extra})
		default:
			run.Assets.Env = append(run.Assets.Env, profile.KV{Key: name, Value: at})
		}
	}
}
