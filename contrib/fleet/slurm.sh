# shellcheck shell=bash
# slurm.sh: Slurm with two nodes, and an array of boxes. To be sourced, by inside.sh.

S=$FLEET_STATE/slurm
SLURM_HOME=$S/home

# A user of its own, whom only these mounts know.
slurm_user() {
	mkdir -p -- "$S"/{state,spool1,spool2} "$SLURM_HOME"
	cp /etc/passwd /etc/group "$S"
	printf 'fleet:x:%s:%s::%s:/bin/bash\n' "$FLEET_UID" "$FLEET_UID" "$SLURM_HOME" >>"$S/passwd"
	printf 'fleet:x:%s:\n' "$FLEET_UID" >>"$S/group"
	mount --bind "$S/passwd" /etc/passwd
	mount --bind "$S/group" /etc/group
	chown "$FLEET_UID:$FLEET_UID" "$SLURM_HOME"
	chmod 0755 "$S"
}

slurm_up() {
	slurm_user
	hostname fleet
	printf '127.0.0.1 localhost fleet\n' >"$S/hosts"
	mount --bind "$S/hosts" /etc/hosts
	head -c 1024 /dev/urandom >"$S/munge.key"
	chmod 0600 "$S/munge.key"
	mkdir -p /run/munge
	start munged munged --foreground --force --key-file="$S/munge.key" --socket=/run/munge/munge.socket.2 \
		--pid-file="$S/munged.pid" --log-file="$S/munged.log" --seed-file="$S/munged.seed"
	needed munged test -S /run/munge/munge.socket.2
	mkdir -p /etc/slurm
	cat >"$S/slurm.conf" <<-C
		ClusterName=fleet
		SlurmctldHost=fleet(127.0.0.1)
		SlurmUser=root
		AuthType=auth/munge
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		ReturnToService=2
		StateSaveLocation=$S/state
		SlurmdSpoolDir=$S/spool%n
		SlurmctldPidFile=$S/slurmctld.pid
		SlurmdPidFile=$S/slurmd%n.pid
		SlurmdParameters=config_overrides
		NodeName=1 NodeHostname=fleet NodeAddr=127.0.0.1 Port=17001 CPUs=2 State=UNKNOWN
		NodeName=2 NodeHostname=fleet NodeAddr=127.0.0.1 Port=17002 CPUs=2 State=UNKNOWN
		PartitionName=all Nodes=1,2 Default=YES State=UP
	C
	export SLURM_CONF=$S/slurm.conf
	start slurmctld slurmctld -D
	start slurmd1 slurmd -D -N 1
	start slurmd2 slurmd -D -N 2
	needed slurmctld slurm_ready
}
slurm_ready() { [ "$(sinfo -h -N -t idle | wc -l)" = 2 ]; }
as_fleet() { setpriv "--reuid=$FLEET_UID" "--regid=$FLEET_UID" --clear-groups env -i HOME="$SLURM_HOME" "PATH=$S:/usr/local/bin:/usr/bin:/bin" SLURM_CONF="$SLURM_CONF" LC_ALL=C.UTF-8 "$@"; }

begun=$(now)
slurm_up
ok "Slurm with two nodes is ready after $(($(now) - begun)) ms: $(sinfo --version)"

# What inner export writes, four tasks over both nodes.
check_array() {
	local i seen
	install -m 0755 "$FLEET_REPO/bin/inner" "$S/inner"
	as_fleet mkdir -p "$SLURM_HOME/work"
	printf 'schema_version = "1"\nname = "array"\n[env]\ninherit = ["PATH", "HOME", "SLURMD_NODENAME"]\n[entrypoint]\ncmd = "bash"\nargs = ["-c"]\ninteractive = false\n[output]\ntimeout_seconds = 600\n' >"$S/array.toml"
	for i in 0 1 2 3; do
		# shellcheck disable=SC2016 # the box's shell expands
		printf '[[task]]\nprompt = "echo task %s on node $SLURMD_NODENAME >result%s; test -e /run/.innerenv && echo in a box >>result%s; sleep 1"\n' "$i" "$i" "$i"
	done >"$S/tasks.toml"
	INNER_HOME=$S/inner.d inner export -p "$S/array.toml" --to slurm --tasks "$S/tasks.toml" >"$S/array.sh" 2>"$S/said" || failed "inner export --to slurm: $(cat -- "$S/said")"
	begun=$(now)
	(cd "$SLURM_HOME/work" && as_fleet sbatch --wait --quiet --ntasks=1 --export=ALL --output="$SLURM_HOME/out%a" <"$S/array.sh") || failed "the array of Slurm failed: $(cat -- "$SLURM_HOME"/out* 2>/dev/null)"
	seen=$(cat -- "$SLURM_HOME"/work/result? 2>/dev/null) || :
	says "Slurm: an array of 4 boxes on two nodes, $(($(now) - begun)) ms" "$(tr '\n' ';' <<<"$seen")" 'task 0 .*task 1 .*task 2 .*task 3 '
	says 'Slurm: both nodes had some' "$seen" 'on node 1' 'on node 2'
	says 'Slurm: each in a box' "$(grep -c 'in a box' <<<"$seen")" '^4$'
	# One byte of the profile changed: no box, and the job fails.
	sed 's/name = "array"/name = "arrax"/' "$S/array.sh" >"$S/changed.sh"
	i=0
	(cd "$SLURM_HOME/work" && as_fleet sbatch --wait --quiet --ntasks=1 --array=0 --export=ALL --output="$SLURM_HOME/changed%a" <"$S/changed.sh") || i=$?
	says 'Slurm: one byte of the profile changed: 125' "$i $(cat -- "$SLURM_HOME"/changed0)" '^125' 'has the sha256'
}
check_array
