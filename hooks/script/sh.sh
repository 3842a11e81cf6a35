# shellcheck shell=sh disable=SC3013,SC3034,SC3044,SC2317
#
# The hook for other shells that follow POSIX: eval "$(inner hook sh)", in
# ~/.profile or the file that $ENV names.
#
# bash.sh says what a hook does and by which rules; the same hold here. What
# differs:
#
# - dash and busybox run nothing before a prompt without starting a process, so
#   there PATH is put right where this is evaluated, and nothing follows.
# - ksh93 calls the function PS1.get for each prompt. mksh runs ${|...} in PS1
#   in the shell itself; other shells would not understand that text, so PS1 is
#   not exported there.
# - Neither aliases nor functions that stand before a shim are looked for.
#
# The words between at signs are filled in by Script.

case $- in *i*) if [ ! -e /run/.innerenv ]; then

__inner_bin=@bin@;
__inner_dir=@dir@;
__inner_state=@state@;
__inner_seen=${__inner_seen-};
__inner_pwd=; __inner_token=; __inner_mark=; __inner_tries=0;
__inner_changed() { return 1; };

# Puts the shim folder first on PATH, once, and keeps the rest in order. Places of
# commands are forgotten whenever PATH is assigned. command keeps a PATH that is
# read-only from ending this.
__inner_path() {
    __inner_rest=${PATH:+:$PATH:};
    while :; do
        case $__inner_rest in
            *":$__inner_dir:"*) __inner_rest=${__inner_rest%%":$__inner_dir:"*}:${__inner_rest#*":$__inner_dir:"} ;;
            *) break ;;
        esac;
    done;
    __inner_rest=${__inner_rest#:};
    { command export "PATH=$__inner_dir${__inner_rest:+:${__inner_rest%:}}"; } 2>/dev/null;
};

# Before each prompt, in ksh93 and mksh.
__inner_prompt() {
    __inner_rc=$?;
    case $PATH: in "$__inner_dir":*) ;; *) __inner_path || : ;; esac;
    if [ "$PWD" != "$__inner_pwd" ] || ! [ "$__inner_state" -ef "$__inner_mark" ] || __inner_changed; then
        __inner_update;
    fi;
    return "$__inner_rc";
};

# Something may have changed: finds out what, and only then asks inner, once. What
# was seen is recorded before, so that a call that fails is not repeated. ksh93 loses
# the prompt at times when read has another standard input meanwhile.
__inner_update() {
    __inner_line='';
    [ ! -r "$__inner_state" ] || __inner_line=$(<"$__inner_state") || :;
    __inner_line=${__inner_line%%[!0-9A-Za-z]*};
    if [ "$PWD" != "$__inner_pwd" ] || [ "$__inner_line" != "$__inner_token" ]; then
        __inner_tries=0;
    elif ! __inner_changed; then
        return 0;
    fi;
    __inner_pwd=$PWD; __inner_token=$__inner_line; __inner_mark=;
    __inner_changed() { return 1; };
    if [ ! -x "$__inner_bin" ]; then
        [ "$__inner_seen" = lost ] || \printf '%s%s\n' "inner: warning: $__inner_bin cannot be run, " \
            "so nothing is sandboxed in this shell; type \`inner doctor\`" >&2;
        __inner_seen=lost;
    elif __inner_out=$("$__inner_bin" __hook sh "$__inner_seen" "$__inner_token" "$PWD" </dev/null); then
        \eval "$__inner_out" || :;
    fi;
    hash -r;
    # Still stale right after: see bash.sh.
    if ! __inner_changed; then
        __inner_tries=0;
    elif [ $((__inner_tries += 1)) -ge 25 ]; then
        __inner_changed() { return 1; };
    fi;
};

__inner_path || \printf '%s\n' 'inner: warning: PATH is read-only, so the shims cannot be put first' >&2;
__inner_command=@command@;
command -v inner >/dev/null 2>&1 || inner() { "$__inner_command" "$@"; };
case ${KSH_VERSION-} in
    *MIRBSD* | *LEGACY*)
        typeset +x PS1;
        case ${PS1-} in *__inner_prompt*) ;; *) PS1='${|__inner_prompt && :;}'${PS1-} ;; esac ;;
    *93*) eval 'function PS1.get { __inner_prompt; }' ;;
esac;
fi ;; esac;
