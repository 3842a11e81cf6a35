# shellcheck shell=bash disable=SC1091,SC2178
# In the box in place of a system's bashrc, which is read here.
. @original@
. @start@/path
# An interactive bash now reads ~/.bashrc; see profile.sh. Not when it was started
# with --rcfile, and not when a login shell's profile reads this file.
if [[ $- == *i* && -z ${__inner_start-} && -n ${HOME-} && -r /proc/$$/cmdline ]] && ! shopt -q login_shell; then
	__inner_start=1
	mapfile -d '' -t __inner_home <"/proc/$$/cmdline"
	if [[ " ${__inner_home[*]} " != *" --rcfile "* && " ${__inner_home[*]} " != *" --init-file "* ]]; then
		unset __inner_home
		__inner_home=$HOME
		HOME=@start@
	else
		unset __inner_home
	fi
fi
