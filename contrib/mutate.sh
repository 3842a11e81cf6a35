#!/bin/bash
# mutate.sh [GUARD...]: take guards out of a copy of the tree, one at a time, and
# expect a test to fail for each (contrib/mutate has the list and the program).
# The tests run as a plain user, as in test.sh; the checkout is not touched.
# make mutate has run setup.sh before.
set -eu
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=contrib/stage.sh
. contrib/stage.sh
test_env
stage=$(mktemp -d /var/tmp/innertest.XXXXXX)
trap 'rm -rf -- "$stage"' EXIT
copy_tree "$stage/tree"
chmod 0755 "$stage"
CGO_ENABLED=0 "${GO:-go}" build -buildvcs=false -trimpath -o "$stage/mutate" ./contrib/mutate
cd "$stage/tree"
"$stage/mutate" -tests "$stage/tests" "$@"
