# shellcheck shell=sh disable=SC1090,SC1091,SC2154
HOME=$__inner_home
unset __inner_home
if [ -r "$HOME/@name@" ]; then
	. "$HOME/@name@"
fi
. @start@/path
