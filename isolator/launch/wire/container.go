package wire

import "github.com/enr/inner/internal/paths"

// ContainerWord is the argument that makes inner the first process of a container.
const ContainerWord = "__container"

// ContainerSocket is where that process finds the launcher.
const ContainerSocket = paths.BoxDir + "/launcher"

// Container is what a container must be before the program starts in it. An engine has
// settings of its own, and versions that differ: what it was told is looked at.
type Container struct {
	Engine string
	Mounts []ContainerMount
	Filter []byte
	UID    int
	NoNet  bool
}

// ContainerMount is a mount that a container must have.
type ContainerMount struct {
	Path  string `json:"path"`
	Write bool   `json:"write"` // the program can write there
	Tmpfs bool   `json:"tmpfs"`
}
