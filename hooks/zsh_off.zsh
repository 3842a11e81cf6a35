# Takes the hook out of a running zsh: hook functions, PATH element and
# variables. Running it twice does no more than running it once.

__inner_off() {
    emulate -L zsh;
    builtin setopt noxtrace;
    local __inner_dir=@dir@;
    local -a __inner_rest;
    if [[ -n $PATH ]]; then
        __inner_rest=("${(@s.:.)PATH}");
        __inner_rest=("${(@)__inner_rest:#$__inner_dir}");
        PATH=${(j.:.)__inner_rest};
    fi;
    if (( $+precmd_functions )); then precmd_functions=("${(@)precmd_functions:#__inner_prompt}"); fi;
    if (( $+chpwd_functions )); then chpwd_functions=("${(@)chpwd_functions:#__inner_chpwd}"); fi;
};
__inner_off;
if [[ -n "${__inner_made-}" ]]; then builtin unset -f inner; fi;
builtin unset __INNER_SHELL || :;
builtin unset -f -m '__inner_*' || :;
builtin unset -m '__inner_*' || :;
