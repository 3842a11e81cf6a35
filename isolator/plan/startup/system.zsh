# In the box in place of a system's start-up file of zsh, which is read here. The file
# of the same name in ZDOTDIR comes next: it is ours, which reads the user's. While
# files that are not ours are read, ZDOTDIR is what they expect; __inner_zdot has that
# (u: unset, x: what follows) and is set while zsh starts only.
if [[ ${__inner_zdot-} == x* ]]; then
	ZDOTDIR=${__inner_zdot#x}
elif [[ ${__inner_zdot-} == u ]]; then
	unset ZDOTDIR
fi
builtin . @original@
builtin . @start@/path
if [[ -o rcs && ( -n ${__inner_zdot-} || ( @name@ == zshenv && -z ${__inner_start-} ) ) ]]; then
	__inner_start=1
	__inner_zdot=u
	if [[ -n ${ZDOTDIR+x} ]]; then
		__inner_zdot=x$ZDOTDIR
	fi
	ZDOTDIR=@start@
fi
