# shellcheck shell=bash
#
# What one unchanged prompt costs in bash, inner's hook beside direnv's, in
# microseconds, median of seven loops each:
#
#     bash --norc --noprofile -i bench.bash HOOK PLAIN PROJECT [SHORTER]
#
# HOOK is a file with what "inner hook bash" prints, PLAIN a folder without a
# project, PROJECT one with a profile (and an allowed .envrc); loops are SHORTER
# times shorter. The shell must be interactive, or there is no hook. One line
# per figure:
# SHELL HOOK FOLDER MICROSECONDS.

hook=$1 plain=$2 project=$3 shorter=${4:-1}

measure() {
    local name=$1 where=$2 n=$(($3 / shorter)) call=$4 start end i k times=()
    "$call"
    "$call"
    for ((k = 0; k < 7; k++)); do
        start=${EPOCHREALTIME//[!0-9]/}
        for ((i = 0; i < n; i++)); do "$call"; done
        end=${EPOCHREALTIME//[!0-9]/}
        times+=("$(((end - start) * 100 / n))")
    done
    mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
    printf 'bash %s %s %d.%02d\n' "$name" "$where" "$((times[3] / 100))" "$((times[3] % 100))"
}

nothing() { :; }

cd -- "$plain" || exit 1
measure nothing plain 5000 nothing
if command -v direnv >/dev/null; then
    eval "$(direnv hook bash)"
    measure direnv plain 100 _direnv_hook
    cd -- "$project" || exit 1
    measure direnv project 100 _direnv_hook
    cd -- "$plain" || exit 1
    _direnv_hook
fi
eval "$(cat "$hook")"
measure inner plain 5000 __inner_prompt
cd -- "$project" || exit 1
measure inner project 5000 __inner_prompt
