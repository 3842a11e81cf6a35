# shellcheck shell=bash
#
# Takes the hook out of a running bash: PROMPT_COMMAND entry, PATH element,
# functions and variables. Running it twice does no more than running it once.
# It follows the rules of bash.sh.

__inner_dir=@dir@;
__inner_off() {
    local __inner_rest=${PATH:+:$PATH:} __inner_was='' __inner_i __inner_v __inner_e __inner_nl=$'\n' __inner_case='';
    if builtin shopt -q nocasematch; then builtin shopt -u nocasematch; __inner_case=1; fi;
    while [[ $__inner_rest != "$__inner_was" ]]; do
        __inner_was=$__inner_rest;
        __inner_rest=${__inner_rest//":$__inner_dir:"/:};
    done;
    __inner_rest=${__inner_rest#:};
    builtin printf -v PATH %s "${__inner_rest%:}" 2>/dev/null || :;
    # shellcheck disable=SC2016
    for __inner_e in '${__inner_bin:+__inner_prompt}' __inner_prompt; do
        for __inner_i in "${!PROMPT_COMMAND[@]}"; do
            __inner_v=${PROMPT_COMMAND[$__inner_i]};
            __inner_v=${__inner_v//"$__inner_nl$__inner_e"/};
            __inner_v=${__inner_v//"$__inner_e"/:};
            if [[ $__inner_v == "${PROMPT_COMMAND[$__inner_i]}" ]]; then
                :;
            elif [[ $__inner_v == : ]]; then
                builtin unset "PROMPT_COMMAND[$__inner_i]" 2>/dev/null || :;
            else
                builtin printf -v "PROMPT_COMMAND[$__inner_i]" %s "$__inner_v" 2>/dev/null || :;
            fi;
        done;
    done;
    [[ -z ${STARSHIP_PROMPT_COMMAND+x} ]] || STARSHIP_PROMPT_COMMAND=${STARSHIP_PROMPT_COMMAND//__inner_prompt/:};
    [[ -z $__inner_case ]] || builtin shopt -s nocasematch;
};
__inner_off;
if [[ -n ${__inner_made-} ]]; then builtin unset -f inner; fi;
builtin unset -f __inner_off __inner_around __inner_prompt __inner_path __inner_stale __inner_compile __inner_update __inner_install __inner_setup;
builtin unset -v __INNER_SHELL __inner_made __inner_command __inner_names __inner_shadows __inner_aliases __inner_asked __inner_told __inner_bin __inner_dir __inner_state __inner_first __inner_seen __inner_pwd __inner_token __inner_mark __inner_flush __inner_tries __inner_watch __inner_there __inner_absent;
