# shellcheck shell=sh
# What follows runs the next program called $__inner_name on PATH. Nothing is expanded
# outside quotes but in assignments and after case, where nothing is split, so IFS and
# wildcards do not matter and no option is set that SHELLOPTS would carry on. -ef
# compares device and inode (test of dash, bash, ksh and busybox; POSIX 2024): this
# folder is known by any name, and so is a link to this script.
__inner_rest=${PATH-}:
__inner_code=127
__inner_why='command not found'
# shellcheck disable=SC3013,SC2154 # -ef: see above; the two names come from the head
while [ -n "$__inner_rest" ]; do
	__inner_dir=${__inner_rest%%:*}
	__inner_rest=${__inner_rest#*:}
	case $__inner_dir in
	/*) ;;
	'') __inner_dir=. ;;
	*) __inner_dir=./$__inner_dir ;;
	esac
	__inner_file=$__inner_dir/$__inner_name
	if [ ! -f "$__inner_file" ] || [ "$__inner_dir" -ef "$__inner_noop" ] ||
		[ "$__inner_file" -ef "$__inner_noop/$__inner_name" ]; then
		continue
	fi
	if [ -x "$__inner_file" ]; then
		exec "$__inner_file" "$@"
	fi
	__inner_code=126
	__inner_why='permission denied'
done
# shellcheck disable=SC2154
printf 'inner: %s: %s\n' "$__inner_name" "$__inner_why" >&2
exit "$__inner_code"
