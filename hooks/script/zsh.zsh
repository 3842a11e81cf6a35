# The hook for zsh 5.3 and newer: eval "$(inner hook zsh)".
#
# bash.sh says what a hook does and by which rules; the same hold here. What
# differs:
#
# - precmd runs before each prompt, preexec before each command, which sees what
#   others did at the prompt after the hook. chpwd runs at each change of folder, also
#   one made by a line editor widget, after which no precmd runs. In preexec and chpwd
#   the hook is the last one, also of those that were added later, which may change PATH.
# - chpwd functions also run in subshells, for instance while "cd ../" is being
#   completed; ZSH_SUBSHELL tells, and nothing is done there.
# - Everything but the unchanged prompt runs under "emulate -L zsh". The test of
#   the unchanged prompt means the same under every option.
# - A place that "hash NAME=PATH" set is set to that of the shim, which is silent.
# - Aliases, global aliases and functions of the commands claimed here are one
#   text that is compared; a suffix alias counts for a name that ends so. One that
#   is not defined is a 0 in that text, which costs a third of asking for its value.
# - Aliases are off while an answer is evaluated: a global alias of a claimed name
#   would replace the name in it, and would never be found.
#
# The words between at signs are filled in by Script.

if [[ -o interactive && ! -e /run/.innerenv ]]; then

# Puts the shim folder first on PATH, once, and keeps the rest in order. zsh
# forgets its command hash whenever PATH is assigned.
__inner_path() {
    emulate -L zsh;
    local -a __inner_rest;
    if [[ -n $PATH ]]; then
        __inner_rest=("${(@s.:.)PATH}");
        __inner_rest=("${(@)__inner_rest:#$__inner_dir}");
    fi;
    if (( $#__inner_rest )); then
        PATH=$__inner_dir:${(j.:.)__inner_rest};
    else
        PATH=$__inner_dir;
    fi;
};

# Reports whether a watched path changed since the state was last checked.
__inner_stale() {
    emulate -L zsh;
    local __inner_p;
    for __inner_p in "${__inner_watch[@]}"; do
        if [[ $__inner_p -nt $__inner_state ]]; then return 0; fi;
    done;
    for __inner_p in "${__inner_there[@]}"; do
        if [[ ! -e $__inner_p ]]; then return 0; fi;
    done;
    for __inner_p in "${__inner_absent[@]}"; do
        if [[ -e $__inner_p ]]; then return 0; fi;
    done;
    return 1;
};

# Writes __inner_prompt anew for the paths now watched; see bash.sh. The one
# setopt keeps set -x down to one line a prompt. On one line each, because
# under cshjunkiequotes no quoted text has two. The files are in a table, since
# ksharrays counts the items of a list otherwise. In zsh a file is only newer than
# one that is there, so the mark being newer says that both are.
__inner_compile() {
    emulate -L zsh -o noaliases;
    local __inner_p __inner_t= __inner_h=;
    __inner_files=() __inner_turn=0;
    for __inner_p in "${__inner_watch[@]}"; do
        if [[ -d $__inner_p ]]; then
            __inner_t+=" && \"\$__inner_mark\" -nt ${(qqqq)__inner_p}";
        else
            __inner_files[$(( $#__inner_files + 1 ))]=$__inner_p;
        fi;
    done;
    if (( $#__inner_files > 2 )); then
        __inner_h="(( __inner_turn = __inner_turn % $#__inner_files + 1 )); ";
        __inner_t+=' && "$__inner_mark" -nt "${__inner_files[$__inner_turn]}"';
    else
        for __inner_p in "${__inner_files[@]}"; do
            __inner_t+=" && \"\$__inner_mark\" -nt ${(qqqq)__inner_p}";
        done;
    fi;
    if [[ -z $__inner_t ]]; then __inner_t=' && -e "$__inner_mark"'; fi;
    for __inner_p in "${__inner_absent[@]}"; do
        __inner_t+=" && ! -e ${(qqqq)__inner_p}";
    done;
    local __inner_s= __inner_k= __inner_hash=;
    for __inner_p in "${__inner_names[@]}"; do
        __inner_hash+=" ${(qqqq)__inner_p}=${(qqqq)__inner_dir}/${(qqqq)__inner_p}";
        for __inner_k in aliases galiases functions; do
            if builtin eval "(( \${+${__inner_k}[$__inner_p]} ))"; then
                __inner_s+="\${${__inner_k}[$__inner_p]-}/";
            else
                __inner_s+="\${+${__inner_k}[$__inner_p]}";
            fi;
        done;
        if [[ $__inner_p == *.* ]]; then __inner_s+="\${saliases[${__inner_p##*.}]-}/"; fi;
    done;
    if [[ -n $__inner_s ]]; then
        __inner_h+="builtin hash$__inner_hash; ";
        builtin eval "__inner_sign=\"$__inner_s\"";
        __inner_t+=" && \"$__inner_s\" == \"\$__inner_sign\"";
    fi;
    __inner_t='"$PWD" == "$__inner_pwd" && "$PATH:" == "$__inner_dir:"*'$__inner_t;
    builtin eval '__inner_prompt() { builtin setopt localoptions noxtrace; '$__inner_h'if [[ '$__inner_t' ]]; then return 0; fi; __inner_update; return 0; }';
};

# Something may have changed: finds out what with builtins, and only then asks
# inner, once. What was seen is recorded before inner is asked, so that a call
# that fails or is interrupted is not repeated at every prompt; changing
# folder tries again.
__inner_update() {
    emulate -L zsh -o noaliases;
    local __inner_go= __inner_line= __inner_out=;
    if [[ $PATH: != $__inner_dir:* && ${(t)PATH} != *readonly* ]]; then __inner_path; fi;
    if [[ $PWD != "$__inner_pwd" ]]; then __inner_go=1; fi;
    preexec_functions=("${(@)preexec_functions:#__inner_prompt}" __inner_prompt);
    chpwd_functions=("${(@)chpwd_functions:#__inner_chpwd}" __inner_chpwd);
    if [[ -r $__inner_state ]]; then builtin read -r __inner_line <$__inner_state; fi;
    if [[ $__inner_line != "$__inner_token" ]]; then
        __inner_go=1;
        builtin rehash;
    fi;
    if [[ -n $__inner_go ]]; then
        __inner_tries=0;
    elif __inner_stale; then
        __inner_go=1;
    fi;
    if [[ -z $__inner_go ]]; then
        if (( $#__inner_names )); then __inner_around; __inner_compile; fi;
        return 0;
    fi;
    __inner_pwd=$PWD; __inner_token=$__inner_line; __inner_mark=; __inner_flush=;
    __inner_watch=(); __inner_there=(); __inner_absent=();
    if [[ -x $__inner_bin ]] && __inner_out=$($__inner_bin __hook zsh "$__inner_seen" "$__inner_token" "$PWD" </dev/null); then
        builtin eval "$__inner_out";
        if [[ -n $__inner_flush ]]; then builtin rehash; fi;
    elif [[ ! -x $__inner_bin && $__inner_seen != lost ]]; then
        __inner_seen=lost;
        builtin print -ru2 -- "inner: warning: $__inner_bin cannot be run, so nothing is sandboxed in this shell; type \`inner doctor\`";
    fi;
    # Still stale right after: see bash.sh.
    if ! __inner_stale; then
        __inner_tries=0;
    elif (( ++__inner_tries >= 25 )); then
        __inner_watch=(); __inner_there=(); __inner_absent=();
    fi;
    __inner_around;
    __inner_compile;
    return 0;
};

# Finds what stands before the shims of the commands claimed here, and asks inner
# about it when it has changed. A shell prints each line once.
__inner_around() {
    emulate -L zsh -o noaliases;
    local __inner_n= __inner_out= __inner_around=;
    local -a __inner_say __inner_shadows;
    for __inner_n in "${__inner_names[@]}"; do
        if (( $+aliases[$__inner_n] )); then __inner_shadows+=(alias "$__inner_n" "${aliases[$__inner_n]}"); fi;
        if (( $+galiases[$__inner_n] )); then __inner_shadows+=("global alias" "$__inner_n" "${galiases[$__inner_n]}"); fi;
        if (( $+functions[$__inner_n] )); then __inner_shadows+=("function" "$__inner_n" "${functions[$__inner_n]}"); fi;
        if [[ $__inner_n == *.* && -n ${saliases[${__inner_n##*.}]-} ]]; then __inner_shadows+=("suffix alias" "$__inner_n" "${saliases[${__inner_n##*.}]}"); fi;
    done;
    if (( ! $#__inner_shadows )); then
        __inner_asked=;
        builtin unset __INNER_SHELL;
        return 0;
    fi;
    if [[ "${(j:/:)__inner_shadows}" == "$__inner_asked" ]]; then return 0; fi;
    __inner_asked="${(j:/:)__inner_shadows}";
    if [[ -x $__inner_bin ]] && __inner_out=$($__inner_bin __hook zsh "$__inner_seen" "$__inner_token" "$PWD" "${__inner_shadows[@]}" </dev/null); then
        builtin eval "$__inner_out";
    fi;
    for __inner_n in "${__inner_say[@]}"; do
        if [[ $__inner_told != *"$__inner_n"* ]]; then
            __inner_told+=$__inner_n;
            builtin print -ru2 -- "$__inner_n";
        fi;
    done;
    if [[ -n $__inner_around ]]; then
        builtin typeset -gx __INNER_SHELL="$$ $__inner_around";
    else
        builtin unset __INNER_SHELL;
    fi;
    return 0;
};

# A notice printed while a line is being edited would be drawn over it;
# zle -I moves the prompt out of the way first.
__inner_chpwd() {
    if [[ "$ZSH_SUBSHELL" == 0 && "$PWD" != "$__inner_pwd" ]]; then
        if [[ -n "${WIDGET-}" ]]; then builtin zle -I 2>/dev/null; fi;
        __inner_prompt;
    fi;
    return 0;
};

__inner_setup() {
    emulate -L zsh;
    if [[ ${(t)PATH}${(t)precmd_functions}${(t)preexec_functions}${(t)chpwd_functions} == *readonly* ]]; then
        builtin print -ru2 -- 'inner: warning: PATH or a hook array is read-only, so the hook cannot be installed';
        return 0;
    fi;
    builtin typeset -g __inner_command=@command@ __inner_asked= __inner_sign= __inner_told=${__inner_told-};
    builtin typeset -g __inner_bin=@bin@ __inner_dir=@dir@ __inner_state=@state@;
    builtin typeset -g __inner_seen=${__inner_seen-};
    builtin typeset -g __inner_pwd= __inner_token= __inner_mark= __inner_flush=;
    builtin typeset -gi __inner_tries=0 __inner_turn=0;
    builtin typeset -gA __inner_files;
    builtin typeset -ga __inner_names __inner_watch __inner_there __inner_absent precmd_functions preexec_functions chpwd_functions;
    __inner_watch=(); __inner_there=(); __inner_absent=(); __inner_names=();
    if ! builtin whence inner >/dev/null; then builtin typeset -g __inner_made=1; function inner { "$__inner_command" "$@"; }; fi;
    __inner_path;
    builtin typeset -gx PATH;
    __inner_compile;
    precmd_functions=("${(@)precmd_functions:#__inner_prompt}" __inner_prompt);
};
__inner_setup;
builtin unset -f __inner_setup;

fi;
