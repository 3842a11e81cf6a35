#!/bin/sh
# Before a removal. dpkg says "upgrade" and rpm "1" when a newer version takes
# over, which writes the profile itself; the others call this only for removals.
set -e
case ${1-} in
upgrade | failed-upgrade | 1) exit 0 ;;
esac
profile=/etc/apparmor.d/inner
if [ -e "$profile" ]; then
	apparmor_parser --remove "$profile" >/dev/null 2>&1 || :
	rm -f "$profile"
fi
