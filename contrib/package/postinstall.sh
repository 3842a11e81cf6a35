#!/bin/sh
# After an installation or an upgrade, in every kind of package.
set -e

# The AppArmor profile, where the parser understands it: older ones fail on it,
# and would then load no profile at all at the next start.
profile=/etc/apparmor.d/inner
if [ -e /etc/apparmor.d/abi/4.0 ] && apparmor_parser --skip-kernel-load --skip-cache /usr/share/inner/apparmor >/dev/null 2>&1; then
	cp /usr/share/inner/apparmor "$profile"
	apparmor_parser --replace "$profile" >/dev/null 2>&1 || : # a kernel without AppArmor
fi

cat <<'TEXT'
inner: to use it, put this line last in your shell's start-up file:
inner:   bash, zsh: eval "$(/usr/bin/inner hook bash)"   (zsh: hook zsh)
inner:   fish:      /usr/bin/inner hook fish | source
TEXT
