package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
)

// lfsObjects is where Git LFS stores files, by the hash of their content.
const lfsObjects = "lfs/objects"

// maxLFS is the most bytes of one file of Git LFS that crosses.
const maxLFS = 64 << 30

// carryLFS copies the files that the box's Git LFS stored, each after checking that its name is the hash of its
// content. They are data: only `git lfs` reads them, by that name.
func (x *exchange) carryLFS(ctx context.Context) error {
	if !x.box.isDir(lfsObjects) {
		return nil
	}
	err := x.box.walk(lfsObjects, maxFiles, func(name string, dir bool) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		parts := name[len(lfsObjects)+1:] // aa/bb/aabb…
		if dir || len(parts) != 6+2*sha256.Size || !hexName(parts[6:], 2*sha256.Size) || parts[:6] != parts[6:8]+"/"+parts[8:10]+"/" || x.host.has(name) {
			return nil
		}
		return x.lfsFile(name, parts[6:])
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (x *exchange) lfsFile(name, hash string) error {
	in, st, err := x.box.open(name)
	if err != nil {
		return nil // not a file that it wrote
	}
	in.Close()
	if st.Size > maxLFS {
		return nil
	}
	if err := errors.Join(room(x.host, st.Size), x.host.mkdir(name[:len(lfsObjects)+6])); err != nil {
		return err
	}
	temp := tempName(name, x.meta.Run)
	_ = x.host.remove(temp)
	if _, err := x.box.copyFile(name, x.host, temp, maxLFS, fileMode); err != nil {
		return err
	}
	copied, _, err := x.host.open(temp)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(h, copied)
	err = errors.Join(err, copied.Sync(), copied.Close())
	switch {
	case err != nil:
	case hex.EncodeToString(h.Sum(nil)) != hash:
		x.say("a file that Git LFS has in the box is not what its name says, and does not cross: %s", hash)
	default:
		return x.host.rename(temp, name)
	}
	return errors.Join(err, x.host.remove(temp))
}
