# shellcheck shell=sh
# The shims of [noop] come first on PATH.
case ${PATH-} in
@noop@:*) ;;
*)
	PATH=@noop@${PATH:+:$PATH}
	export PATH
	;;
esac
