#!/bin/bash
# figures.sh: in a box, bytes and requests a second, once without and once with the variables that name the proxy.
set -u
ulimit -n "$(ulimit -Hn)"
median() { sort -n | sed -n 2p; }
measure() {
	printf '%s\t' "$1"
	for _ in 1 2 3; do "$R/peer" speed big.reach.test:7001 2048; done | median | tr '\n' '\t'
	for _ in 1 2 3; do "$R/peer" first raw.reach.test:7000 300; done | median | tr '\n' '\t'
	for scheme in http https; do
		for _ in 1 2 3; do "$R/peer" rate "$scheme://www.reach.test/here" 3 32; done | median | tr '\n' '\t'
	done
	printf '\n'
}
proxy=${HTTPS_PROXY-}
[ -z "$proxy" ] || measure 'the proxy'
unset HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
measure "$1"
