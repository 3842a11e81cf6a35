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

func (c *Container) encode(e *Encoder) {
	e.Str(c.Engine)
	e.U32(uint32(len(c.Mounts)))
	for _, m := range c.Mounts {
		e.Str(m.Path)
		e.U32(uint32(Bool(m.Write)))
		e.U32(uint32(Bool(m.Tmpfs)))
	}
	e.Str(string(c.Filter))
	e.U32(uint32(c.UID))
	e.U32(uint32(Bool(c.NoNet)))
}

func (c *Container) decode(d *Decoder) {
	c.Engine = d.Str()
	for n := d.U32(); n > 0 && !d.Bad; n-- {
		c.Mounts = append(c.Mounts, ContainerMount{Path: d.Str(), Write: d.U32() != 0, Tmpfs: d.U32() != 0})
	}
	c.Filter = []byte(d.Str())
	c.UID, c.NoNet = int(d.U32()), d.U32() != 0
}
