package profile

import (
	"fmt"

	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/profile/strict"
)

// Container reports whether a box may be made from an image instead of this computer's
// system.
func (rc RunConfig) Container() bool { return rc.Backend != "bwrap" && rc.Image != "" }

// imageForm matches an image named by its digest: a name with the digest of its manifest, or an image id.
var imageForm = lazy.Regexp(`^([a-z0-9][a-z0-9._:/-]*@)?sha256:[0-9a-f]{64}$`)

// image refuses an image that is not named by its digest: its name could come to mean another one.
func (v *validator) image(key string, p strict.Item) {
	if p.Text != "" && !imageForm().MatchString(p.Text) {
		v.Add(p.At, key, fmt.Sprintf("%q does not name an image by its digest", p.Text), `write it like "docker.io/library/python@sha256:…" (podman images --digests)`)
	}
}

// backend checks that backend and image go together, once the profile is merged.
func (r *resolver) backend() {
	switch rc := &r.rc; {
	case rc.Image != "" && rc.Backend == "bwrap":
		r.add(r.s.Value("sandbox.image").At, "sandbox.image", "has no effect with backend = \"bwrap\"", `backend = "auto", "podman" or "docker"`)
	case rc.Backend != "bwrap" && rc.Backend != "auto" && rc.Image == "":
		r.add(r.s.Value("sandbox.backend").At, "sandbox.image", fmt.Sprintf("is missing: backend = %q needs an image", rc.Backend), `image = "NAME@sha256:…" (podman images --digests)`)
	}
}
