#!/bin/bash
# docker.sh [FLAG...]: show boxes that docker makes.
#
# Its daemon needs root. It is one of its own: with its own folder and socket, without a bridge
# and without a rule in the host's firewall, and it ends with the tests. The image comes from no
# registry: it is made of this machine's own bash and coreutils. FLAG goes to go test.
set -eu
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ "$(id -u)" -ne 0 ]; then
	printf 'inner: docker.sh: only root can start a daemon of docker\n' >&2
	exit 1
fi

work=$(mktemp -d /var/tmp/innertest-docker.XXXXXX)
chmod 0755 "$work"
daemon=
end() {
	if [ -n "$daemon" ]; then
		kill "$daemon" || true
		wait "$daemon" || true
	fi
	rm -rf -- "$work"
}
trap end EXIT

contrib/image.sh "$work/image.tar"
# The plain user of the tests, which setup.sh made, may talk to it.
dockerd --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/pid" --host "unix://$work/docker.sock" --group innertest \
	--bridge none --iptables=false --ip6tables=false --storage-driver vfs >"$work/log" 2>&1 &
daemon=$!
for _ in $(seq 300); do
	[ ! -S "$work/docker.sock" ] || ! docker --host "unix://$work/docker.sock" info >/dev/null 2>&1 || break
	kill -0 "$daemon" 2>/dev/null || break
	sleep 0.1
done
docker --host "unix://$work/docker.sock" info >/dev/null || {
	tail -n 5 "$work/log" >&2
	exit 1
}
export INNER_TEST_IMAGE=$work/image.tar INNER_TEST_DOCKER=$work/docker.sock
contrib/test.sh ./cmd/inner -count=1 -run 'TestDockerMakesBoxes' "$@"
