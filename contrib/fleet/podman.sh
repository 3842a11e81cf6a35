# shellcheck shell=bash
# podman.sh: pods by podman kube play, of root and of a plain user. To be sourced, by inside.sh.

P=$FLEET_STATE/podman
FLEET_UID=61234

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
		timeout -k 5 200 podman --root "$home/storage" --runroot "$run/containers" --cgroup-manager=cgroupfs --runtime=runc --events-backend=file "$@")
}

# pod PROFILE-LINES PROGRAM: the pod of a box with that profile, as a file. podman mounts a
# ConfigMap as a folder only, whatever subPath says.
pod() {
	cat <<-Y
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: check}
		data:
		  profile.toml: |
		$(printf 'schema_version = "1"\nname = "check"\n%s\n[env]\ninherit = ["PATH", "HOME"]\n[entrypoint]\ncmd = "bash"\nargs = ["-c"]\ninteractive = false\n' "$1" | sed 's/^/    /')
		---
		apiVersion: v1
		kind: Pod
		metadata: {name: check}
		spec:
		  restartPolicy: Never
		  automountServiceAccountToken: false
		  securityContext: {runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000}
		  containers:
		  - name: box
		    image: localhost/inner-agent:1
		    imagePullPolicy: IfNotPresent
		    workingDir: /work
		    command:
		$(printf '%s\n' "${@:2}" | sed "s/'/''/g; s/.*/    - '&'/")
		    env: [{name: HOME, value: /home/agent}]
		    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
		    volumeMounts: [{name: inner, mountPath: /inner, readOnly: true}, {name: work, mountPath: /work}, {name: home, mountPath: /home/agent}, {name: tmp, mountPath: /tmp}]
		  volumes:
		  - {name: inner, configMap: {name: check}}
		  - {name: work, emptyDir: {}}
		  - {name: home, emptyDir: {}}
		  - {name: tmp, emptyDir: {}}
	Y
}

# play WHO NETWORK PROFILE-LINES COMMAND...: runs such a pod; SEEN is what it printed, and at
# the end "exit CODE".
play() {
	local who=$1 network=$2 code
	shift 2
	pod "$@" >"$P/check.yaml"
	if ! SEEN=$(podman_of "$who" kube play --network "$network" "$P/check.yaml" 2>&1); then return; fi
	code=$(podman_of "$who" wait check-box 2>&1 | tail -n 1) || :
	SEEN=$(podman_of "$who" logs check-box 2>&1)$'\n'"exit $code" || :
	podman_of "$who" kube down "$P/check.yaml" >/dev/null 2>&1 || :
}

run=(inner run -p /inner/profile.toml --no-interactive --)
mkdir -p -- "$P/roothome"
plain_user
for who in root plain; do
	begun=$(now)
	podman_of $who load -q -i "$P/agent.tar" >"$FLEET_STATE/logs/podman-$who" 2>&1 || failed "podman ($who) does not take the image"
	ok "podman ($who) has the image after $(($(now) - begun)) ms: $(podman_of $who images --digests --format '{{.Digest}}' 2>/dev/null | head -n 1)"
	# The network of these namespaces is as good as one that podman makes.
	play $who host $'[sandbox]\nnetwork_mode = "allowlist"\nnetwork_allow = ["allowed.test"]' "${run[@]}" \
		'curl -s http://allowed.test/; curl -s -o /dev/null -w "%{http_code}\n" http://forbidden.test/; world probe directly tcp:11.77.0.10:80 tcp:10.77.0.1:22 tcp:169.254.169.254:80 dns:10.77.0.1:53/allowed.test'
	says "podman ($who): a listed host answers, another is refused" "$SEEN" 'this is allowed.test' '^403'
	says "podman ($who): directly each was tried" "$SEEN" 'directly: tcp:11.77.0.10:80' 'directly: dns:'
	lacks "podman ($who): and nothing was reached" "$SEEN" REACHED
	play $who none $'[output]\ntimeout_seconds = 3' "${run[@]}" 'sleep 100'
	says "podman ($who): timeout" "$SEEN" '^exit 124'
	play $who none $'[sandbox.limits]\ndisk = "8M"' "${run[@]}" 'head -c 32M /dev/zero >/tmp/x; ls -s --block-size=1M /tmp/x'
	says "podman ($who): /tmp is full at its size" "$SEEN" 'No space left' '^[78] /tmp/x'
	# A shell as first process reaps what the attacks leave behind.
	play $who none $'[sandbox]\nnetwork = false' bash -c 'inner verify --attack -p /inner/profile.toml; exit $?'
	says "podman ($who): inner verify --attack" "$SEEN" ' 0 leaked' '^exit 0'
	grep -E '^\[(!!|\?\?)\]' <<<"$SEEN" || :
done
