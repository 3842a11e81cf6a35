#!/bin/bash
# podman.sh [FLAG...]: show podman in a box, and boxes that podman makes.
#
# Images come from no registry: the one of the boxes is made of this machine's own bash and
# coreutils. The choice of a backend is shown where bwrap is missing: for root its file is
# covered, in a mount namespace of the tests alone. FLAG goes to go test.
set -eu
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d /var/tmp/innertest-podman.XXXXXX)
trap 'rm -rf -- "$work"' EXIT
chmod 0755 "$work"

contrib/image.sh "$work/image.tar"
export INNER_TEST_PODMAN=1 INNER_TEST_IMAGE=$work/image.tar
contrib/test.sh ./cmd/inner -count=1 -run 'TestPodman$|TestPodmanMakesBoxes' "$@"
if [ "$(id -u)" -ne 0 ]; then
	printf 'inner: not run here: the choice of a backend where bwrap is missing (only root can cover it)\n' >&2
	exit 0
fi
# shellcheck disable=SC2016 # the inner shell expands
unshare --mount bash -c 'mount --bind /dev/null "$(readlink -f "$(command -v bwrap)")" && exec contrib/test.sh ./cmd/inner -count=1 -run TestPodmanIsChosen "$@"' bash "$@"
