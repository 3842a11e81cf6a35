# shellcheck shell=bash
#
# The hook for bash 4.4 and newer: eval "$(inner hook bash)".
#
# What it does, before each prompt: keeps the shim folder first on PATH,
# forgets remembered command places when the set of shims changed, and lets
# inner say one line when the state of the project changed. Which program runs
# is not decided here but by the shim, at the moment it is run.
#
# Rules of this file
#
# 1. The printed text is this file without comments. People also write
#    eval $(inner hook bash), without quotes, so it must survive its newlines
#    becoming blanks (every statement ends in a semicolon) and being matched
#    against the file names of whatever folder the shell starts in (no bare *
#    and no bare ? but the one in "$?").
# 2. A prompt at which nothing changed runs __inner_prompt alone: a few file
#    tests, no fork, no read, no command substitution. Everything else is in
#    __inner_update.
# 3. Nothing that belongs to the user changes: names start with __inner_, locals
#    too (a readonly "i" would make "local i" fail); $?, options and traps stay;
#    only PATH is exported, and __INNER_SHELL while something goes around the shims.
#    Where there is no command inner, a function of that name is made: on Debian a
#    login shell reads this before ~/.local/bin is on PATH.
# 4. Every prompt looks for what stands before the shims of the commands claimed
#    here: aliases, by the text of all of them (BASH_ALIASES is made anew at each
#    use); functions, by "declare -f +t", which neither prints nor forks; and places
#    set by "hash -p", which are forgotten. shadow.go has the rest.
# 5. Comparisons hold under nocasematch, and no expansion depends on IFS.
#
# The words between at signs are filled in by Script.

if [[ ${-//i/} != "$-" && ! -e /run/.innerenv ]]; then

__inner_bin=@bin@;
__inner_dir=@dir@;
__inner_state=@state@;
# A pattern: the shim folder, a colon, anything. Matched against "$PATH:".
__inner_first=@first@;
__inner_seen=${__inner_seen-};
__inner_pwd=; __inner_token=; __inner_mark=; __inner_flush=; __inner_tries=0;
__inner_watch=(); __inner_there=(); __inner_absent=(); __inner_files=(); __inner_turn=0;
__inner_names=(); __inner_shadows=(); __inner_aliases=; __inner_asked=;
__inner_told=${__inner_told-};

# Puts the shim folder first on PATH, once, and keeps the rest in order. bash
# forgets its command hash whenever PATH is assigned. printf -v, unlike an
# assignment, only fails when PATH is read-only. Needs nocasematch off.
__inner_path() {
    local __inner_rest=${PATH:+:$PATH:} __inner_was=;
    while [[ $__inner_rest != "$__inner_was" ]]; do
        __inner_was=$__inner_rest;
        __inner_rest=${__inner_rest//":$__inner_dir:"/:};
    done;
    __inner_rest=${__inner_rest#:};
    builtin printf -v PATH %s "$__inner_dir${__inner_rest:+:${__inner_rest%:}}" 2>/dev/null;
};

# Reports whether a watched path changed since the state was last checked.
__inner_stale() {
    local __inner_p;
    for __inner_p in "${__inner_watch[@]}"; do
        [[ ! $__inner_p -nt $__inner_state ]] || return 0;
    done;
    for __inner_p in "${__inner_there[@]}"; do
        [[ -e $__inner_p ]] || return 0;
    done;
    for __inner_p in "${__inner_absent[@]}"; do
        [[ ! -e $__inner_p ]] || return 0;
    done;
    return 1;
};

# Writes __inner_prompt anew for the paths now watched. One [[ ]] with every
# test in it is the cheapest form bash has (measured: a loop over four paths
# costs 12 us, the same tests in line 7 us).
#
# - "a != A" is false under nocasematch, when == cannot be trusted.
# - The mark is a second link to the state file inner last read for this
#   shell: as long as it is there, the token has not changed. It has the time of
#   the state, and what is there is newer than a mark that is not (test(1)), so with
#   a watched path there is no test of its own.
# - Standard error is closed meanwhile, so that set -x prints two lines a
#   prompt and not ten; nothing in there opens a file.
# - A test of a file costs two stats. With more than two files, each prompt tests
#   one of them, in turn: an edit in place is noticed some prompts later, which
#   delays the line of notice and nothing else. Each prompt tests all folders: most
#   editors write a new file, and a new name changes its folder.
# - It returns the last command's status to the entries after it. Those who call it
#   write "&& :" behind it: else a failure would count twice for a trap on ERR,
#   and end the shell under set -e.
__inner_compile() {
    local __inner_i __inner_t='' __inner_f='' __inner_h='';
    __inner_files=(); __inner_turn=0;
    for __inner_i in "${!__inner_watch[@]}"; do
        if [[ -d ${__inner_watch[$__inner_i]} ]]; then
            __inner_t+=" && ! \${__inner_watch[$__inner_i]-} -nt \$__inner_mark";
        else
            __inner_files+=("${__inner_watch[$__inner_i]}");
        fi;
    done;
    if ((${#__inner_files[@]} > 2)); then
        __inner_t+=" && ! \${__inner_files[__inner_turn=(__inner_turn+1)%${#__inner_files[@]}]-} -nt \$__inner_mark";
    else
        for __inner_i in "${!__inner_files[@]}"; do
            __inner_t+=" && ! \${__inner_files[$__inner_i]-} -nt \$__inner_mark";
        done;
    fi;
    [[ -n $__inner_t ]] || __inner_t=" && -e \$__inner_mark";
    for __inner_i in "${!__inner_there[@]}"; do
        __inner_t+=" && -e \${__inner_there[$__inner_i]-}";
    done;
    for __inner_i in "${!__inner_absent[@]}"; do
        __inner_t+=" && ! -e \${__inner_absent[$__inner_i]-}";
    done;
    for __inner_i in "${__inner_names[@]}"; do
        __inner_h+=" $__inner_i";
        if builtin declare -f +t "$__inner_i"; then __inner_f+=" && builtin declare -f +t $__inner_i"; else __inner_f+=" && ! builtin declare -f +t $__inner_i"; fi;
    done;
    if [[ -n $__inner_h ]]; then
        __inner_h="builtin hash -d$__inner_h || :;";
        # shellcheck disable=SC2016
        __inner_t+=' && "${BASH_ALIASES[@]-}" == "$__inner_aliases"';
    fi;
    builtin eval '__inner_prompt() {
        {
            local __inner_rc=$?;
            '"$__inner_h"'
            if [[ a != A && $PWD == "$__inner_pwd" && $PATH: == $__inner_first '"$__inner_t"' ]]'"$__inner_f"'; then
                return "$__inner_rc";
            fi;
        } 2>&-;
        __inner_update || :;
        return "$__inner_rc";
    }';
    builtin export -n __inner_made __inner_names __inner_shadows __inner_aliases __inner_asked __inner_told __inner_watch __inner_there __inner_absent __inner_files __inner_turn __inner_seen __inner_pwd __inner_token __inner_mark __inner_flush __inner_tries;
    builtin export -nf __inner_prompt;
};

# Something may have changed: finds out what with builtins, and only then asks
# inner, once. What was seen is recorded before inner is asked, so that a call
# that fails or is interrupted is not repeated at every prompt; changing
# folder tries again.
__inner_update() {
    { local -; set +x; } 2>/dev/null;
    local __inner_go='' __inner_line='' __inner_out='' __inner_case='';
    if builtin shopt -q nocasematch; then builtin shopt -u nocasematch; __inner_case=1; fi;
    # shellcheck disable=SC2053
    [[ $PATH: == $__inner_first ]] || __inner_path || :;
    [[ $PWD == "$__inner_pwd" ]] || __inner_go=1;
    [[ ! -r $__inner_state ]] || builtin read -r __inner_line <"$__inner_state" || :;
    if [[ $__inner_line != "$__inner_token" ]]; then
        __inner_go=1;
        builtin hash -r 2>/dev/null || :;
    fi;
    [[ -z $__inner_case ]] || builtin shopt -s nocasematch;
    if [[ -n $__inner_go ]]; then
        __inner_tries=0;
    elif __inner_stale; then
        __inner_go=1;
    fi;
    if [[ -z $__inner_go ]]; then
        [[ -n ${__inner_names[0]-} ]] || return 0;
        __inner_around;
        __inner_compile;
        return 0;
    fi;
    __inner_pwd=$PWD; __inner_token=$__inner_line; __inner_mark=; __inner_flush=;
    __inner_watch=(); __inner_there=(); __inner_absent=();
    if [[ -x $__inner_bin ]] && __inner_out=$("$__inner_bin" __hook bash "$__inner_seen" "$__inner_token" "$PWD" </dev/null); then
        builtin eval "$__inner_out" || :;
        [[ -z $__inner_flush ]] || builtin hash -r 2>/dev/null || :;
    elif [[ ! -x $__inner_bin && $__inner_seen != lost ]]; then
        __inner_seen=lost;
        builtin printf '%s\n' "inner: warning: $__inner_bin cannot be run, so nothing is sandboxed in this shell; type \`inner doctor\`" >&2 || :;
    fi;
    # Still stale right after: either something was saved at this very moment, and
    # one of the next prompts settles it; or the time of the state cannot be moved,
    # and after 25 tries in a row the shell stops watching until the next cd.
    if ! __inner_stale; then
        __inner_tries=0;
    elif ((++__inner_tries >= 25)); then
        __inner_watch=(); __inner_there=(); __inner_absent=();
    fi;
    __inner_around;
    __inner_compile;
};

# Finds the aliases and functions that stand before the shims of the commands
# claimed here, and asks inner about them when they have changed. A shell prints
# each line once.
__inner_around() {
    local __inner_n='' __inner_w='' __inner_text='' __inner_end=0 __inner_around='' __inner_say=() __inner_out='';
    local -A __inner_used=();
    __inner_shadows=();
    # Joined by a blank, whatever IFS is.
    # shellcheck disable=SC2124
    __inner_aliases="${BASH_ALIASES[@]-}";
    for __inner_n in "${__inner_names[@]}"; do
        if [[ -n ${BASH_ALIASES[$__inner_n]+x} ]]; then
            # The first word may be an alias again, each once (bash(1), ALIASES).
            __inner_text=${BASH_ALIASES[$__inner_n]} __inner_used=([$__inner_n]=1);
            for (( ; ; )); do
                for ((__inner_end = 0; __inner_end < ${#__inner_text}; __inner_end += 1)); do
                    case ${__inner_text:__inner_end:1} in ' ' | $'\t' | $'\n') break ;; esac;
                done;
                __inner_w=${__inner_text:0:__inner_end};
                if [[ -z $__inner_w || -z ${BASH_ALIASES[$__inner_w]+x} || -n ${__inner_used[$__inner_w]+x} ]]; then break; fi;
                __inner_used[$__inner_w]=1;
                __inner_text=${BASH_ALIASES[$__inner_w]}${__inner_text:__inner_end};
            done;
            __inner_shadows+=(alias "$__inner_n" "$__inner_text");
        fi;
        if builtin declare -f +t "$__inner_n"; then __inner_shadows+=("function" "$__inner_n" "$(builtin declare -f "$__inner_n")"); fi;
    done;
    if [[ -z ${__inner_shadows[0]-} ]]; then
        __inner_asked=;
        builtin unset -v __INNER_SHELL;
        return 0;
    fi;
    # shellcheck disable=SC2199
    [[ "${__inner_shadows[@]}" != "$__inner_asked" ]] || return 0;
    # shellcheck disable=SC2124
    __inner_asked="${__inner_shadows[@]}";
    if [[ -x $__inner_bin ]] && __inner_out=$("$__inner_bin" __hook bash "$__inner_seen" "$__inner_token" "$PWD" "${__inner_shadows[@]}" </dev/null); then
        builtin eval "$__inner_out" || :;
    fi;
    for __inner_n in "${__inner_say[@]}"; do
        if [[ ${__inner_told//"$__inner_n"/} == "$__inner_told" ]]; then
            __inner_told+=$__inner_n;
            builtin printf '%s\n' "$__inner_n" >&2 || :;
        fi;
    done;
    if [[ -n $__inner_around ]]; then
        builtin export __INNER_SHELL="$$ $__inner_around" || :;
    else
        builtin unset -v __INNER_SHELL;
    fi;
};

# Appends the hook to PROMPT_COMMAND, unless it is there or where starship and
# VS Code keep the value they replaced. A newline parts it from what is there
# already, which may end in a semicolon, a comment or an ampersand. An
# exported PROMPT_COMMAND reaches shells that have no hook: there the entry is
# one that vanishes.
__inner_install() {
    # shellcheck disable=SC2124
    local __inner_all="${PROMPT_COMMAND[@]-} ${STARSHIP_PROMPT_COMMAND[@]-} ${__vsc_original_prompt_command[@]-}";
    local __inner_a='' __inner_e='__inner_prompt && :' __inner_n __inner_nl=$'\n';
    [[ ${__inner_all//__inner_prompt/} == "$__inner_all" ]] || return 0;
    # shellcheck disable=SC2199,SC2124
    [[ -z ${PROMPT_COMMAND[@]+x} ]] || __inner_a="${PROMPT_COMMAND[@]@a}";
    # shellcheck disable=SC2016
    [[ ${__inner_a//x/} == "$__inner_a" ]] || __inner_e='${__inner_bin:+__inner_prompt} && :';
    if [[ ${__inner_a//a/} != "$__inner_a" ]] && ((BASH_VERSINFO[0] > 5 || (BASH_VERSINFO[0] == 5 && BASH_VERSINFO[1] > 0))); then
        for __inner_n in "${!PROMPT_COMMAND[@]}"; do :; done;
        builtin printf -v "PROMPT_COMMAND[$((__inner_n + 1))]" %s "$__inner_e" 2>/dev/null;
    else
        # shellcheck disable=SC2128
        builtin printf -v PROMPT_COMMAND %s "${PROMPT_COMMAND:+$PROMPT_COMMAND$__inner_nl}$__inner_e" 2>/dev/null;
    fi || builtin printf '%s\n' 'inner: warning: PROMPT_COMMAND is read-only, so the hook cannot run at the prompt; shims work as long as PATH stays' >&2;
};

__inner_setup() {
    local __inner_case=;
    if builtin shopt -q nocasematch; then builtin shopt -u nocasematch; __inner_case=1; fi;
    # The path as a word: `jobs` shows what the function calls as it stands here.
    if [[ -n ${__inner_made-} ]] || ! builtin type inner >/dev/null 2>&1; then __inner_made=1; function inner { @command@ "$@"; }; builtin export -nf inner; fi;
    if __inner_path; then
        builtin export PATH;
        __inner_compile;
        # A restricted shell runs no program by its path, so it could ask nothing.
        builtin shopt -q restricted_shell || __inner_install || :;
    else
        builtin printf '%s\n' 'inner: warning: PATH is read-only, so the shims cannot be put first' >&2;
    fi || :;
    builtin export -n __inner_bin __inner_dir __inner_state __inner_first;
    builtin export -nf __inner_around __inner_path __inner_stale __inner_compile __inner_update __inner_install __inner_setup;
    [[ -z $__inner_case ]] || builtin shopt -s nocasematch;
};
__inner_setup;
builtin unset -f __inner_install __inner_setup;

fi;
