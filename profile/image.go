package profile

import (
	"fmt"
	"regexp"
	"sync"
)

// Container says whether a box may be made of an image, and not of the system of this
// computer.
func (rc RunConfig) Container() bool { return rc.Backend != "bwrap" && rc.Image != "" }

// imageForm is an image by its digest: a name with the digest of its manifest, or its id.
var imageForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z0-9][a-z0-9._:/-]*@)?sha256:[0-9a-f]{64}$`) })

// image refuses an image that is not named by its digest: another one could come under its name.
func (v *validator) image(s *sandboxTable) {
	if i := s.Image; i.Set && i.V != "" && !imageForm().MatchString(i.V) {
		v.add(i.At, "sandbox.image", fmt.Sprintf("%q does not name an image by its digest", i.V), `write it like "docker.io/library/python@sha256:…" (podman images --digests)`)
	}
}

// backend checks what goes together, once the profile is whole.
func (r *resolver) backend(s *sandboxTable) {
	switch rc := &r.rc; {
	case rc.Image != "" && rc.Backend == "bwrap":
		r.add(s.Image.At, "sandbox.image", "goes with a backend of containers alone", `backend = "auto", "podman" or "docker"`)
	case rc.Backend != "bwrap" && rc.Backend != "auto" && rc.Image == "":
		r.add(s.Backend.At, "sandbox.image", fmt.Sprintf("is missing: %s makes the box of an image", rc.Backend), `image = "NAME@sha256:…" (podman images --digests)`)
	}
}
