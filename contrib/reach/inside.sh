#!/bin/bash
# inside.sh: in namespaces of its own, as root: a second network behind a veth, with the servers; the names in /etc/hosts,
# the authority in the system's bundle; then user.sh as a plain user. Called by reach.sh.
set -euo pipefail
: "${REACH_STAGE:?set by reach.sh}"
cd "$(dirname "${BASH_SOURCE[0]}")"
S=$REACH_STAGE
# as USER's program in the network of the servers, with what it says in logs.
server() {
	local name=$1
	shift
	ip netns exec servers setpriv --reuid=innertest --regid=innertest --init-groups --pdeathsig KILL env -i PATH="$PATH" HOME="$S/run" LANG=C.UTF-8 "$@" </dev/null >"$S/logs/$name" 2>&1 &
}
# within NAME COMMAND...: until the command succeeds; it is an error when that takes a minute.
within() {
	local name=$1 end=$((SECONDS + 60))
	shift
	until ip netns exec servers "$@" >/dev/null 2>&1; do
		if [ $SECONDS -ge $end ]; then
			printf 'FAILED  the server %s did not start:\n' "$name"
			tail -n 20 "$S/logs/$name"
			exit 1
		fi
		sleep 0.1
	done
}

# Ranges that are public by IANA's registry and belong to nobody: sinks of reverse names (RFC 7534, 7535).
mkdir -p /run/netns # where ip has them, too
mount -t tmpfs none /run/netns
ip link set lo up
ip netns add servers
ip link add outer type veth peer name inner netns servers
ip addr add 192.175.48.254/24 dev outer
ip addr add 2620:4f:8000::fe/64 dev outer nodad
ip link set outer up
ip -n servers link set lo up
for a in 192.175.48.1/24 192.175.48.7/24; do ip -n servers addr add $a dev inner; done
ip -n servers addr add 2620:4f:8000::1/64 dev inner nodad
ip -n servers link set inner up
ip netns exec servers sysctl -qw net.ipv4.ip_unprivileged_port_start=0

both='www other git npm pypi goproxy crates deb db cache sql raw big grpc down a.wild b.wild no.wild'
{
	printf '127.0.0.1 localhost\n::1 localhost\n'
	for name in $both; do printf '192.175.48.1 %s.reach.test\n2620:4f:8000::1 %s.reach.test\n' "$name" "$name"; done
	sed 's/^/192.175.48.1 /' services
	printf '2620:4f:8000::1 v6.reach.test\n10.1.2.3 private.reach.test\n127.0.0.1 loopback.reach.test\n'
} >"$S/hosts"
printf 'hosts: files dns\npasswd: files\ngroup: files\n' >"$S/nsswitch.conf"
printf 'nameserver 192.175.48.1\noptions timeout:2 attempts:1\n' >"$S/resolv.conf"
cat /etc/ssl/certs/ca-certificates.crt "$S/ca.crt" >"$S/bundle.crt"
over() { mount --bind "$S/$1" "$(readlink -f "$2")"; }
over hosts /etc/hosts
over nsswitch.conf /etc/nsswitch.conf
over resolv.conf /etc/resolv.conf
over bundle.crt /etc/ssl/certs/ca-certificates.crt
keytool -importcert -noprompt -storepass changeit -keystore "$S/cacerts" -file "$S/ca.crt" 2>/dev/null
mkdir "$S/box" "$S/run" && chown -R innertest "$S/run" "$S/key" "$S/git"
install -o innertest -m 600 "$S"/hostkey{22,2222,2223} "$S/mine" "$S/run"

# The servers, as a plain user, and the value of a login there.
LAB_TOKEN=glpat-$(head -c 15 /dev/urandom | base32)
all() { for a in 0.0.0.0 '[::]'; do printf '%s://%s:%s\n' "$1" "$a" "$2"; done; }
server peer "LAB_TOKEN=$LAB_TOKEN" "$S/bin/peer" serve "$S/www" "$S/git" "$S/cert" "$S/key" http://:80 https://:443 talk://:7000 big://:7001
server talk python3 talk.py
server dns "$S/bin/world" dns 192.175.48.1:53 www.reach.test=192.175.48.1
pg=$(compgen -G '/usr/lib/postgresql/*/bin' | tail -n 1)
server db sh -c "'$pg/initdb' -D '$S/run/db' -U postgres --auth=trust && cp '$S/cert' '$S/run/db/server.crt' && cp '$S/key' '$S/run/db/server.key' && chmod 600 '$S/run/db/server.key' &&
	exec '$pg/postgres' -D '$S/run/db' -c listen_addresses='*' -c unix_socket_directories='$S/run' -c ssl=on -c hba_file='$S/hba'"
printf 'local all all trust\nhostssl all app all scram-sha-256\nhostnossl all all all reject\n' >"$S/hba"
server cache redis-server --bind 0.0.0.0 :: --protected-mode no --save '' --dir "$S/run"
printf "CREATE USER app@'%%' IDENTIFIED BY 'secret';\n" >"$S/sql"
server sql sh -c "mariadb-install-db --no-defaults --datadir='$S/run/sql' --auth-root-authentication-method=normal && exec mariadbd --no-defaults --datadir='$S/run/sql' --socket='$S/run/sql.sock' --pid-file='$S/run/sql.pid' --bind-address='*' --skip-name-resolve --init-file='$S/sql'"
for port in 22 2222 2223; do # three hosts to ssh, which goes by their keys
	printf 'Port %s\nHostKey %s/run/hostkey%s\nAuthorizedKeysFile %s/login.pub %s/mine.pub\nPidFile none\nUsePAM no\nStrictModes no\n' $port "$S" $port "$S" "$S" >"$S/sshd_config$port"
	server ssh$port /usr/sbin/sshd -D -e -f "$S/sshd_config$port"
done

within peer "$S/bin/peer" get http://192.175.48.1/here
within talk python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8765)); socket.create_connection(("127.0.0.1", 50051))'
within db psql -h "$S/run" -U postgres -c "create role app login password 'secret'"
within cache redis-cli ping
within sql mariadb -h 192.175.48.1 -u app -psecret -e 'select 1'
for port in 22 2222 2223; do within ssh$port ssh-keyscan -t ed25519 -p $port 192.175.48.1; done
printf 'git.reach.test %s\n' "$(cat "$S/hostkey22.pub")" >"$S/known_hosts"

for program in peer lookup-glibc lookup-musl; do cp "$S/bin/$program" "$S/box"; done
(cd "$S" && cp ca.crt cacerts login known_hosts reach/try.sh reach/clients.sh reach/refused.sh reach/logins.sh reach/keys.sh reach/figures.sh reach/client.* reach/Client.java reach/Login.java box)
chown innertest "$S/box/login"
# What the processes of boxes have in their memory, root sees: search.py answers who asks through these.
mkfifo "$S/search" "$S/found" && chown innertest "$S/search" "$S/found"
python3 search.py "$S/search" "$S/found" 2>"$S/logs/search" &
exec env "INNER_TEST_REACH=$S" "INNER_TEST_REACH_TOKEN=$LAB_TOKEN" ../as-plain-user.sh bash "$PWD/user.sh" "$@"
