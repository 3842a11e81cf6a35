package share

import (
	"github.com/hanwen/go-fuse/v2/fuse"
)

// requests answers what the kernel need not ask again.
type requests struct{ fuse.RawFileSystem }

// Lookup has the kernel keep that a name is not there, where the node said for how long.
func (r requests) Lookup(cancel <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	status := r.RawFileSystem.Lookup(cancel, h, name, out)
	if status == fuse.ENOENT && out.EntryTimeout() > 0 {
		out.NodeId = 0
		return fuse.OK
	}
	return status
}

// Access is the kernel's to decide.
func (requests) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.ENOSYS }

// Flush does nothing at a close.
func (requests) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }
