# shellcheck shell=bash
# slurm.sh: Slurm with two nodes, and an array of boxes. To be sourced, by inside.sh.

S=$FLEET_STATE/slurm
SLURM_HOME=$S/home

# A user of its own, whom only these mounts know.
slurm_user() {
	mkdir -p -- "$S"/{state,spool1,spool2} "$SLURM_HOME"
	cp /etc/passwd /etc/group "$S"
	printf 'fleet:x:61234:61234::%s:/bin/bash\n' "$SLURM_HOME" >>"$S/passwd"
	printf 'fleet:x:61234:\n' >>"$S/group"
	mount --bind "$S/passwd" /etc/passwd
	mount --bind "$S/group" /etc/group
	chown 61234:61234 "$SLURM_HOME"
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
	needed 20 munged test -S /run/munge/munge.socket.2
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
	needed 60 slurmctld slurm_ready
}
slurm_ready() { [ "$(sinfo -h -N -t idle | wc -l)" = 2 ]; }
as_fleet() { setpriv --reuid=61234 --regid=61234 --clear-groups env -i HOME="$SLURM_HOME" PATH=/usr/local/bin:/usr/bin:/bin SLURM_CONF="$SLURM_CONF" LC_ALL=C.UTF-8 "$@"; }

begun=$(now)
slurm_up
ok "Slurm with two nodes is ready after $(($(now) - begun)) ms: $(sinfo --version)"

# An array of four boxes over both nodes: each in a folder of its own.
check_array() {
	local i
	install -m 0755 "$FLEET_REPO/bin/inner" "$S/inner"
	for i in 0 1 2 3; do as_fleet mkdir -p "$SLURM_HOME/work$i"; done
	cat >"$S/array.sh" <<-'B'
		#!/bin/bash
		cd "$HOME/work$SLURM_ARRAY_TASK_ID" || exit 1
		"$INNER" run -p shell-oneshot --timeout 60 -- "echo task $SLURM_ARRAY_TASK_ID on node $SLURMD_NODENAME >result; touch ../work0/from-$SLURM_ARRAY_TASK_ID; test -e /run/.innerenv && echo in a box >>result"
	B
	chmod 0755 "$S/array.sh"
	begun=$(now)
	(cd "$SLURM_HOME" && as_fleet INNER="$S/inner" sbatch --wait --quiet --array=0-3 --ntasks=1 --export=ALL,INNER="$S/inner" --output="$SLURM_HOME/out%a" "$S/array.sh") || failed "the array of Slurm failed: $(cat -- "$SLURM_HOME"/out* 2>/dev/null)"
	local seen
	seen=$(cat -- "$SLURM_HOME"/work?/result 2>/dev/null) || :
	says "Slurm: an array of 4 boxes on two nodes, $(($(now) - begun)) ms" "$(tr '\n' ';' <<<"$seen")" 'task 0 .*task 1 .*task 2 .*task 3 '
	says 'Slurm: both nodes had some' "$seen" 'on node 1' 'on node 2'
	lacks 'Slurm: no box wrote into the folder of another' "$(ls "$SLURM_HOME/work0")" 'from-[123]'
	says 'Slurm: each in a box' "$(grep -c 'in a box' <<<"$seen")" '^4$'
}
check_array
