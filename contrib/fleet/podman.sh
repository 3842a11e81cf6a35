# shellcheck shell=bash
# podman.sh: pods by podman kube play, of root and of a plain user. To be sourced, by inside.sh.

P=$FLEET_STATE/podman

# A plain user whom only these mounts know, with ids for a namespace of its own.
plain_user() {
	local file
	mkdir -p -- "$P/home" "/run/user/$FLEET_UID"
	for file in passwd group subuid subgid; do cp "/etc/$file" "$P/$file"; done
	printf 'fleet:x:%s:%s::%s:/bin/bash\n' "$FLEET_UID" "$FLEET_UID" "$P/home" >>"$P/passwd"
	printf 'fleet:x:%s:\n' "$FLEET_UID" >>"$P/group"
	printf 'fleet:700000:65536\n' | tee -a "$P/subuid" >>"$P/subgid"
	for file in passwd group subuid subgid; do mount --bind "$P/$file" "/etc/$file"; done
	chown "$FLEET_UID:$FLEET_UID" "$P/home" "/run/user/$FLEET_UID"
	cp "$FLEET_CACHE/images/agent.tar" "$P/agent.tar"
}

# podman_of root|plain ARGUMENT...: podman of that user, with folders of this run.
podman_of() {
	local who=$1 home=$P/home run=/run/user/$FLEET_UID as=()
	shift
	case $who in
	root) home=$P/roothome run=/run ;;
	plain) as=(setpriv "--reuid=$FLEET_UID" "--regid=$FLEET_UID" --clear-groups) ;;
	esac
	(cd / && "${as[@]}" env -i "HOME=$home" "XDG_RUNTIME_DIR=$run" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
		timeout -k 5 "${PODMAN_TIME:-$PATIENCE}" podman --root "$home/storage" --runroot "$run/containers" --cgroup-manager=cgroupfs --runtime=runc --events-backend=file "$@")
}

# play WHO NETWORK FILE: runs the pod of a file of objects; SEEN is what it printed, and at the
# end "exit CODE".
play() {
	local who=$1 network=$2 file=$3 name code
	cp -- "$file" "$P/check.yaml"
	name=$(awk '/^kind: Pod$/ { pod = 1 } pod && /^  name: / { print $2; exit }' "$file")-box
	if ! SEEN=$(podman_of "$who" kube play --network "$network" "$P/check.yaml" 2>&1); then
		podman_of "$who" kube down "$P/check.yaml" >/dev/null 2>&1 || :
		return
	fi
	code=$(podman_of "$who" wait "$name" 2>&1 | tail -n 1) || :
	SEEN=$(podman_of "$who" logs "$name" 2>&1)$'\n'"exit $code" || :
	podman_of "$who" kube down "$P/check.yaml" >/dev/null 2>&1 || :
}
# play_profile WHO NETWORK NAME ARGUMENT...: the same for what inner export writes of NAME.toml.
play_profile() {
	local who=$1 network=$2 name=$3
	shift 3
	inner export -p "$X/$name.toml" --to podman --image "$IMAGE" "$@" >"$X/$name.yaml" 2>"$X/$name.said" || {
		SEEN=$(cat -- "$X/$name.said")
		return 0
	}
	play "$who" "$network" "$X/$name.yaml"
}

check_box() {
	local who=$1
	# The network of these namespaces is as good as one that podman makes.
	profile net $'[sandbox]\nnetwork_mode = "allowlist"\nnetwork_allow = ["allowed.test"]'
	play_profile "$who" host net -- \
		'curl -s http://allowed.test/; curl -s -o /dev/null -w "%{http_code}\n" http://forbidden.test/; world probe directly tcp:11.77.0.10:80 tcp:10.77.0.1:22 tcp:169.254.169.254:80 dns:10.77.0.1:53/allowed.test'
	says "podman ($who): a listed host answers, another is refused" "$SEEN" 'this is allowed.test' '^403'
	says "podman ($who): directly each was tried" "$SEEN" 'directly: tcp:11.77.0.10:80' 'directly: dns:'
	lacks "podman ($who): and nothing was reached" "$SEEN" REACHED
	profile late $'[output]\ntimeout_seconds = 3'
	play_profile "$who" none late -- 'sleep 100'
	says "podman ($who): timeout" "$SEEN" '^exit 124'
	profile disk $'[sandbox.limits]\ndisk = "8M"'
	play_profile "$who" none disk -- 'head -c 32M /dev/zero >/tmp/x; ls -s --block-size=1M /tmp/x'
	says "podman ($who): /tmp is full at its size" "$SEEN" 'No space left' '^[78] /tmp/x'
}

# A Secret of podman comes as a variable, a prompt comes as it is, each task has its own prompt,
# and other bytes than the approved ones do not run.
check_carried() {
	local who=$1
	podman_of "$who" secret rm team >/dev/null 2>&1 || :
	printf '{"token": "%s"}' "$(printf hidden-value | base64)" | podman_of "$who" secret create team - >/dev/null
	profile carried '[sandbox]
network = false'
	# shellcheck disable=SC2016 # neither this shell nor the engine expands
	printf "[[task]]\nprompt = '''%s'''\n" 'printf "token %s\n" "$TEAM_TOKEN" | tr a-z b-za; echo "\$(HOME) \$\$ \$(NOBODY)"' >"$X/carried.tasks"
	play_profile "$who" none carried --secret-env TEAM_TOKEN=team/token --tasks "$X/carried.tasks"
	says "podman ($who): the value of a Secret is a variable of the box" "$SEEN" 'uplfo ijeefo-wbmvf'
	lacks "podman ($who): and not in the exported text" "$(cat "$X/carried.yaml")" hidden-value
	says "podman ($who): words come as they are" "$SEEN" '^\$\(HOME\) \$\$ \$\(NOBODY\)$'
	inner export -p "$X/carried.toml" --to podman --image "$IMAGE" -- 'echo the program ran' 2>/dev/null | sed 's/a check/a chick/' >"$X/changed.yaml"
	play "$who" none "$X/changed.yaml"
	says "podman ($who): one byte of the profile changed: 125" "$SEEN" 'sha256' '^exit 125'
	lacks "podman ($who): and the program did not run" "$SEEN" 'program ran'
}

check_attacks() {
	local who=$1
	instead "$X/carried.yaml" inner verify --attack -p /inner/profile.toml >"$X/attack.yaml"
	sed -i '/^ *env:$/,/^ *securityContext:$/{/TEAM_TOKEN/,/key: token/d}' "$X/attack.yaml"
	PODMAN_TIME=3600 play "$who" none "$X/attack.yaml"
	says "podman ($who): inner verify --attack" "$SEEN" ' 0 leaked' '^exit 0'
	grep -E '^\[(!!|\?\?)\]' <<<"$SEEN" || :
}

X=$P/export
export INNER_HOME=$P/inner
mkdir -p -- "$P/roothome" "$X"
plain_user
for who in root plain; do
	begun=$(now)
	podman_of $who load -q -i "$P/agent.tar" >"$FLEET_STATE/logs/podman-$who" 2>&1 || failed "podman ($who) does not take the image"
	ok "podman ($who) has the image after $(($(now) - begun)) ms: $(podman_of $who images --digests --format '{{.Digest}}' 2>/dev/null | head -n 1)"
	check_box $who
	check_carried $who
	check_attacks $who
done
