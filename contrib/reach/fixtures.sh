#!/bin/bash
# fixtures.sh DIR: what the servers of `make reach` serve, below DIR: an authority and a certificate (ca.crt, cert, key),
# a registry of each kind in www/HOST, one package "hello" in each, a repository in git/, and keys for ssh.
set -euo pipefail
cd "$1"
quiet() { "$@" >>fixtures.log 2>&1 || { tail -n 20 fixtures.log >&2 && exit 1; }; }
# zipped ZIP FILE...: with no entry for a folder, which Go does not take.
zipped() { python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1], "w"); [z.write(f) for f in sys.argv[2:]]; z.close()' "$@"; }
sum() { "$1sum" "$2" | cut -d' ' -f1; }

# An authority for these checks alone, and one certificate for all names.
quiet openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=make reach' -keyout ca.key -out ca.crt
quiet openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=reach.test -keyout key -out csr
printf 'subjectAltName=DNS:*.reach.test,DNS:*.wild.reach.test,%sIP:192.175.48.7\n' "$(sed 's/.*/DNS:&,/' reach/services | tr -d '\n')" >extensions
quiet openssl x509 -req -in csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out cert

site() { mkdir -p "www/$1.reach.test/files"; }
for host in npm pypi goproxy crates deb; do site $host; done

mkdir package
printf '{"name": "hello", "version": "1.0.0"}\n' >package/package.json
tar -czf www/npm.reach.test/files/hello-1.0.0.tgz package
printf '{"name": "hello", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "hello", "version": "1.0.0", "dist": {"tarball": "https://npm.reach.test/files/hello-1.0.0.tgz", "integrity": "sha512-%s"}}}}\n' \
	"$(openssl dgst -sha512 -binary www/npm.reach.test/files/hello-1.0.0.tgz | base64 -w0)" >www/npm.reach.test/hello

mkdir -p wheel/hello-1.0.dist-info www/pypi.reach.test/simple/hello
printf 'Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n' >wheel/hello-1.0.dist-info/METADATA
printf 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >wheel/hello-1.0.dist-info/WHEEL
touch wheel/hello.py wheel/hello-1.0.dist-info/RECORD
(cd wheel && zipped ../www/pypi.reach.test/files/hello-1.0-py3-none-any.whl hello.py hello-1.0.dist-info/*)
printf '<!DOCTYPE html><html><body><a href="https://pypi.reach.test/files/hello-1.0-py3-none-any.whl">hello-1.0-py3-none-any.whl</a></body></html>\n' >www/pypi.reach.test/simple/hello/index.html

at=www/goproxy.reach.test/example.test/hello/@v
mkdir -p "$at" module/example.test/hello@v1.0.0
printf 'v1.0.0\n' >"$at/list"
printf '{"Version": "v1.0.0", "Time": "2024-01-01T00:00:00Z"}\n' >"$at/v1.0.0.info"
printf 'module example.test/hello\n' | tee "$at/v1.0.0.mod" >module/example.test/hello@v1.0.0/go.mod
printf 'package hello\n' >module/example.test/hello@v1.0.0/hello.go
(cd module && zipped "../$at/v1.0.0.zip" example.test/hello@v1.0.0/*)

mkdir -p crate/hello-1.0.0/src www/crates.reach.test/he/ll
printf '[package]\nname = "hello"\nversion = "1.0.0"\nedition = "2021"\n' >crate/hello-1.0.0/Cargo.toml
touch crate/hello-1.0.0/src/lib.rs
tar -czf www/crates.reach.test/files/hello-1.0.0.crate -C crate hello-1.0.0
printf '{"dl": "https://crates.reach.test/files/{crate}-{version}.crate"}\n' >www/crates.reach.test/config.json
printf '{"name": "hello", "vers": "1.0.0", "deps": [], "cksum": "%s", "features": {}, "yanked": false}\n' "$(sum sha256 www/crates.reach.test/files/hello-1.0.0.crate)" >www/crates.reach.test/he/ll/hello

mkdir -p deb/DEBIAN
printf 'Package: hello-reach\nVersion: 1.0\nArchitecture: all\nMaintainer: x <x@reach.test>\nDescription: x\n' | tee deb/DEBIAN/control >www/deb.reach.test/Packages
quiet dpkg-deb --build deb www/deb.reach.test/files/hello-reach_1.0_all.deb
printf 'Filename: files/hello-reach_1.0_all.deb\nSize: %s\nSHA256: %s\n' "$(stat -c %s www/deb.reach.test/files/*.deb)" "$(sum sha256 www/deb.reach.test/files/*.deb)" >>www/deb.reach.test/Packages
printf 'SHA256:\n %s %s Packages\n' "$(sum sha256 www/deb.reach.test/Packages)" "$(stat -c %s www/deb.reach.test/Packages)" >www/deb.reach.test/Release

mkdir git
quiet git init -q -b main --bare git/hello.git
quiet git init -q -b main tree
printf 'from the repository\n' >tree/file
quiet git -C tree add file
quiet git -C tree -c user.name=a -c user.email=a@reach.test commit -qm one
quiet git -C tree push -q ../git/hello.git main

for key in hostkey22 hostkey2222 hostkey2223 login mine; do quiet ssh-keygen -q -t ed25519 -N '' -C '' -f $key; done
