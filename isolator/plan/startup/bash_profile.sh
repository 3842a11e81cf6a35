# shellcheck shell=bash disable=SC1090,SC1091,SC2154
HOME=$__inner_home
unset __inner_home
if [[ -r $HOME/.bash_profile ]]; then
	. "$HOME/.bash_profile"
elif [[ -r $HOME/.bash_login ]]; then
	. "$HOME/.bash_login"
elif [[ -r $HOME/.profile ]]; then
	. "$HOME/.profile"
fi
. @start@/path
