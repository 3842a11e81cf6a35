package box

import (
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// socket makes a socket of the box's network for the launcher, or tells the error. Jobs find a port that is
// taken, and no descriptor of it.
func (b *box) socket(m wire.Msg) {
	fd, err := unix.Socket(int(m.N&0xff), int(m.N>>8&0xff)|unix.SOCK_CLOEXEC, int(m.N>>16))
	if err != nil {
		errno, _ := err.(unix.Errno)
		_ = b.say(wire.Msg{Kind: wire.Socket, N: uint32(errno)})
		return
	}
	defer unix.Close(fd)
	_ = b.say(wire.Msg{Kind: wire.Socket}, fd)
}
