# shellcheck shell=sh disable=SC1090,SC1091,SC2154
# The file that the profile's @name@ names is read here. The shell would have expanded
# its value, too.
eval "__inner_env=\"\${INNER_@name@-}\""
eval "__inner_env=\"$__inner_env\""
if [ -r "$__inner_env" ]; then
	. "$__inner_env"
fi
unset __inner_env
. @start@/path
