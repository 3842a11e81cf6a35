# See system.zsh.
if [[ ${__inner_zdot-} == x* ]]; then
	ZDOTDIR=${__inner_zdot#x}
else
	unset ZDOTDIR
fi
unset __inner_zdot
if [[ -r ${ZDOTDIR:-${HOME-}}/@name@ ]]; then
	builtin . "${ZDOTDIR:-${HOME-}}/@name@"
fi
builtin . @start@/path
# More is read by a login shell (to .zlogin) and an interactive one (to .zshrc).
if [[ -o rcs && @name@ != .zlogin && ( -o login || ( -o interactive && @name@ != .zshrc ) ) ]]; then
	__inner_zdot=u
	if [[ -n ${ZDOTDIR+x} ]]; then
		__inner_zdot=x$ZDOTDIR
	fi
	ZDOTDIR=@start@
fi
