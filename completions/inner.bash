# shellcheck shell=bash
# Completion of inner for bash; needs nothing but bash. The words of the line
# are handed over as they stand: nothing on it is evaluated.
__inner_complete() {
    local __inner_line __inner_out __inner_cur=${COMP_WORDS[COMP_CWORD]} __inner_do=0
    COMPREPLY=()
    __inner_out=$(inner __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return 0
    while IFS= read -r __inner_line; do
        case $__inner_line in
            :[0-9]*) __inner_do=${__inner_line#:} ;;
            "$__inner_cur"*) COMPREPLY+=("${__inner_line%%$'\t'*}") ;;
        esac
    done <<<"$__inner_out"
    # Bit 2 of the last line: the word goes on (ShellCompDirectiveNoSpace).
    if ((__inner_do & 2)); then
        compopt -o nospace 2>/dev/null || :
    fi
    # Bit 4 of the last line: no file names (cobra's ShellCompDirectiveNoFileComp).
    if ((${#COMPREPLY[@]} == 0 && !(__inner_do & 4))); then
        compopt -o default 2>/dev/null || :
    fi
}
complete -F __inner_complete inner
