package plan

import "github.com/enr/inner/internal/fault"

// Container is a plan in the words of a container engine. The launcher starts the engine,
// and what runs first in the container connects to it.
type Container struct {
	Engine string          `json:"engine"` // its name, for people
	Path   string          `json:"path"`   // its program, absolute; "" when this process is in the container already
	Args   []string        `json:"args"`   // the arguments that make the container and start inner in it
	Remove []string        `json:"remove"` // those that remove it, also when it is gone
	Env    []string        `json:"env"`    // the environment of the engine; nothing of it is the box's
	Socket string          `json:"socket"` // where on the host the launcher listens for the container
	Files  []ContainerFile `json:"files"`

	// Mounts are all that the container may have beside those of its engine, and Filter is
	// the filter of system calls: inner puts it on the program itself. Both are looked at in
	// the container before the program starts.
	Mounts []ContainerMount `json:"mounts"`
	Filter []byte           `json:"filter"`
	UID    int              `json:"uid"`
	NoNet  bool             `json:"nonet"` // nothing but a loopback
}

// ContainerFile is a file of the host, made before the container.
type ContainerFile struct {
	Name    string `json:"name"` // in the folder of the run
	Content string `json:"content"`
}

// image is the base of a container: what is in its image, and of this computer nothing.
func (b *builder) image() error {
	name := b.f.Engine.Name
	switch {
	case b.rc.Image == "":
		return &fault.Refusal{
			Code: 125, Kind: fault.KindBackend,
			Msg:  "profile " + quote(b.rc.Name) + ": " + name + " needs an image (sandbox.image)",
			Hint: `image = "NAME@sha256:…" under [sandbox] (` + name + " images --digests)",
		}
	case b.rc.Base != "minimal":
		return Untranslated(b.rc.Name, name, "sandbox.base",
			`a container has the system of its image: base = "minimal" says so`)
	}
	b.root = Op{Kind: OpTmpfs, Perms: 0o755, Dest: "/", empty: true}
	b.note("the system of the image " + b.rc.Image + " (sandbox.image)")
	return nil
}

// Untranslated refuses a profile for an engine that cannot do what one of its keys says.
func Untranslated(profile, engine, key, why string) error {
	return &fault.Refusal{
		Code: 125, Kind: fault.KindBackend,
		Msg:  "profile " + quote(profile) + ": " + engine + " cannot hold " + key + ": " + why,
		Hint: `backend = "bwrap" under [sandbox] does`,
	}
}
