package plan

import (
	"github.com/enr/inner/isolator/host"
)

// etcShown is what a minimal /etc has of the host's: how names are resolved, which
// certificates are trusted, what alternatives and the loader choose, and the time zone.
func etcShown() []string {
	return []string{
		"/etc/resolv.conf", "/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime",
	}
}

// minimalEtc makes an /etc that has that. This user is put into passwd and group by system.
func (b *builder) minimalEtc() {
	defer b.because(b.key)()
	b.because("sandbox.etc")
	b.tmpfsMask("an /etc with little in it (sandbox.etc = \"minimal\")", "/etc")
	for _, p := range etcShown() {
		if k := b.kind(p); k == host.File || k == host.Dir {
			b.bind("programs need it", b.canon(p), p, false)
		}
	}
}
