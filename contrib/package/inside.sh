#!/bin/bash
# What package-test.sh does in its clean Debian, as root of it.
set -eu
say() { printf 'inner: %s\n' "$*" >&2; }
die() {
	say "$@"
	exit 1
}
person() { runuser -u person -- env HOME=/home/person "$@"; }

# Every file with its kind, mode, owner, size and text, but for what dpkg writes
# about its own work, and for the lock that inner keeps in /tmp until a restart.
picture() {
	find / /tmp -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /src -o -path '/var/lib/dpkg/*-old' -o -path /var/log/dpkg.log -o -path /var/lib/dpkg/status -o -path /var/lib/dpkg/lock \) -prune -o \
		-printf '%p %y %m %u %s %l\n' | grep -v '^/\(run\|tmp\|tmp/inner-[0-9]*\|var/lib/dpkg\|var/lib/dpkg/info\|var/log\|home/person\|old\) d ' | grep -v '^/tmp/inner-[0-9]*/.gate f ' | LC_ALL=C sort
	sha256sum /etc/passwd /etc/group /etc/shells /home/person/.* 2>/dev/null || :
}

person mkdir -p /home/person/.cache                # where the demo works
dpkg --purge inner >/dev/null 2>&1 || : # left by a test that failed
picture >/run/before

for parser in absent old new; do
	# The AppArmor profile goes only where it parses. The parser here is played: this
	# kernel may have no AppArmor.
	rm -rf /etc/apparmor.d /usr/sbin/apparmor_parser
	case $parser in
	old) mkdir -p /etc/apparmor.d/abi && : >/etc/apparmor.d/abi/3.0 ;;
	new) mkdir -p /etc/apparmor.d/abi && : >/etc/apparmor.d/abi/4.0 ;;
	esac
	[ "$parser" = absent ] || printf '#!/bin/sh\nexit 0\n' >/usr/sbin/apparmor_parser
	[ "$parser" = absent ] || chmod 755 /usr/sbin/apparmor_parser
	said=$(dpkg -i /src/inner.deb 2>&1) || die "dpkg -i: $said"
	# shellcheck disable=SC2016 # the line itself
	grep -qF 'eval "$(/usr/bin/inner hook bash)"' <<<"$said" || die "no hook line: $said"
	dpkg -i /src/inner.deb >/dev/null 2>&1 || die 'dpkg -i over itself'
	if [ "$parser" = new ]; then
		cmp -s /usr/share/inner/apparmor /etc/apparmor.d/inner || die 'the AppArmor profile is missing'
	elif [ -e /etc/apparmor.d/inner ]; then
		die "an AppArmor profile where it does not parse ($parser)"
	fi
	dpkg --purge inner >/dev/null 2>&1 || die 'dpkg --purge'
	[ ! -e /etc/apparmor.d/inner ] || die 'purge left the AppArmor profile'
done
rm -rf /etc/apparmor.d /usr/sbin/apparmor_parser
say 'ok    the AppArmor profile is there where it parses, and only there'

dpkg -i /src/inner.deb >/dev/null 2>&1
[ -z "$(dpkg --verify inner)" ] || die "dpkg --verify: $(dpkg --verify inner)"
person bash -c '. /usr/share/bash-completion/bash_completion && { _completion_loader inner || :; } && complete -p inner' >/dev/null || die 'bash finds no completions'
person DEMO_INNER=/usr/bin/inner DEMO_PLAY=/src/play bash /src/contrib/demo.sh || die 'the demo failed'
# A first day of one's own, and its end.
cat >/run/rc <<'RC'
eval "$(/usr/bin/inner hook bash)"
RC
cat >/run/day <<'DAY'
set -e
inner init
inner doctor
mkdir ~/app
cd ~/app
XDG_CACHE_HOME=~/cache inner verify --attack --only git-hook -p shell | grep -F '[ok] held'
rm -r ~/cache
inner run -p shell-oneshot -- -c 'test -e /run/.innerenv && echo in the sandbox >made'
grep -q 'in the sandbox' made
inner uninstall --all --yes
rm -r ~/app
DAY
chmod 644 /run/rc /run/day
person bash --noprofile --rcfile /run/rc -i -c '. /run/day' || die 'inner init, doctor, run or uninstall failed'
dpkg --purge inner >/dev/null 2>&1
picture >/run/after
diff /run/before /run/after || die 'purge left something'
