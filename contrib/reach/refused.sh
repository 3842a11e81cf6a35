#!/bin/bash
# refused.sh: in a box, what its list does not have, without a variable that names a proxy. A line for each, as in clients.sh.
set -u
unset HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
# shellcheck source=contrib/reach/try.sh
. "$R/try.sh"
# shellcheck disable=SC2016 # other shells expand these
connect=(bash -c 'exec 3<>/dev/tcp/$0/$1')
datagram=(python3 -c 'import socket, sys; s = socket.socket(type=socket.SOCK_DGRAM); s.connect((sys.argv[1], int(sys.argv[2]))); s.send(b"x"); s.settimeout(5); print(s.recv(1))')

refuse 'a name that is not listed' 'Could not resolve' curl -sS https://other.reach.test/here
# shellcheck disable=SC2016
refuse 'the same, looked up' '^2$' sh -c 'getent ahosts other.reach.test; code=$?; echo $code; exit $code'
refuse 'the same, by c-ares' ENOTFOUND /tmp/node22/bin/node -e 'require("dns").resolve4("other.reach.test", (e) => { if (e) throw e })'
refuse 'the same, by musl' 'Name does not resolve' "$R/lookup-musl" other.reach.test 443
refuse 'an exception of a pattern' 'Could not resolve|refused|reset|SSL' curl -sS https://no.wild.reach.test/here
refuse 'a listed name that does not exist' 'Could not resolve' curl -sS http://gone.reach.test:7000/
refuse 'a port that is not listed, with a server there' 'Connection refused' "${connect[@]}" raw.reach.test 7001
refuse 'a port that is not listed, of a name without one' 'Connection refused' "${connect[@]}" www.reach.test 7000
refuse 'the same, by psql' 'Connection refused' psql 'host=www.reach.test user=app dbname=postgres' -c 'select 1'
refuse 'a server that is down' 'Connection refused' "${connect[@]}" down.reach.test 5433
refuse 'the same, by psql' 'Connection refused' psql 'host=down.reach.test port=5433 user=app dbname=postgres' -c 'select 1'
refuse 'a listed name at a private address' . curl -sS -m 10 https://private.reach.test/here
refuse 'a listed name at the loopback outside' . curl -sS -m 10 http://loopback.reach.test:8765/
refuse 'an address that is not listed' 'Network is unreachable' "${connect[@]}" 192.175.48.1 80
refuse 'the same, of IPv6' 'Network is unreachable' "${connect[@]}" 2620:4f:8000::1 80
refuse 'a port of a listed address that is not' 'Connection refused' "${connect[@]}" 192.175.48.7 7000
refuse 'UDP to a name' 'refused' "${datagram[@]}" www.reach.test 443
refuse 'UDP to an address' 'unreachable' "${datagram[@]}" 192.175.48.1 53
refuse 'TLS with the name of another server' 'SSL|reset|alert' curl -sS --connect-to other.reach.test:443:www.reach.test:443 https://other.reach.test/here
refuse 'the same, with another that is listed' 'SSL|reset|alert' curl -sS --connect-to npm.reach.test:443:www.reach.test:443 https://npm.reach.test/hello
refuse 'Host of another server' 'has a request for other' curl -sS --fail-with-body -H 'Host: other.reach.test' http://www.reach.test/here
refuse 'the same, in the second request of a connection' 'has a request for other' curl -sS --fail-with-body http://www.reach.test/here --next -sS --fail-with-body -H 'Host: other.reach.test' http://www.reach.test/here
refuse 'no TLS at port 443' 'reset|Empty reply|TLS' curl -sS http://www.reach.test:443/here
getent hosts "$(hostname)" >/dev/null # glibc asks for the family that /etc/hosts does not have; user.sh sees that nobody is told
exit $((failures > 0))
