# shellcheck shell=bash disable=SC1091
# In the box in place of a system's profile, which is read here.
. @original@
. @start@/path
# A login bash now reads ~/.bash_profile, ~/.bash_login or ~/.profile, whichever is
# there first, by the HOME of this moment: it reads ours, which reads that file. Not
# when the profile is read by hand later on.
if [ -n "${BASH_VERSION-}" ] && [ -z "${__inner_start-}" ] && [ -n "${HOME-}" ] && shopt -q login_shell; then
	__inner_start=1
	__inner_home=$HOME
	HOME=@start@
fi
