package box

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// backlog is how many connections may wait for the launcher; the kernel takes
// its own limit when that is lower (listen(2)).
const backlog = 1024

// listen opens what the box listens on and sends it away: jobs find a port that is taken, and no
// descriptor of it.
func (b *box) listen() error {
	for i, port := range b.spec.Listen {
		err := b.listenOn(i, unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
		if err != nil {
			return fmt.Errorf("cannot listen on 127.0.0.1:%d in the box: %w", port, err)
		}
		// Without IPv6 in the kernel there is no ::1 to listen on.
		_ = b.listenOn(i, unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}})
	}
	return nil
}

func (b *box) listenOn(index, family int, at unix.Sockaddr) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err = unix.Bind(fd, at); err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err == nil {
		err = b.say(wire.Msg{Kind: wire.Listener, N: uint32(index)}, fd)
	}
	return err
}

// socket makes a socket of the box's network for the launcher, or tells the error.
func (b *box) socket(m wire.Msg) {
	fd, err := unix.Socket(int(m.N), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		errno, _ := err.(unix.Errno)
		_ = b.say(wire.Msg{Kind: wire.Socket, N: uint32(errno)})
		return
	}
	defer unix.Close(fd)
	_ = b.say(wire.Msg{Kind: wire.Socket}, fd)
}
