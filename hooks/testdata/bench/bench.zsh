# What one unchanged prompt costs in zsh; see bench.bash.
#
#     zsh -f -i bench.zsh HOOK PLAIN PROJECT [SHORTER]

hook=$1 plain=$2 project=$3 shorter=${4:-1}
zmodload zsh/datetime

measure() {
    local name=$1 where=$2 n=$(( $3 / shorter )) call=$4 start end i k
    local -a times
    $call
    $call
    for (( k = 0; k < 7; k++ )); do
        start=$EPOCHREALTIME
        for (( i = 0; i < n; i++ )); do $call; done
        end=$EPOCHREALTIME
        times+=($(( int((end - start) * 1e8 / n) )))
    done
    times=(${(n)times})
    printf 'zsh %s %s %.2f\n' $name $where $(( times[4] / 100.0 ))
}

zmodload zsh/mathfunc
nothing() { :; }

cd -- $plain || exit 1
measure nothing plain 5000 nothing
if (( $+commands[direnv] )); then
    eval "$(direnv hook zsh)"
    measure direnv plain 100 _direnv_hook
    cd -- $project || exit 1
    measure direnv project 100 _direnv_hook
    cd -- $plain || exit 1
    _direnv_hook
    chpwd_functions=() precmd_functions=()
fi
eval "$(cat $hook)"
measure inner plain 5000 __inner_prompt
cd -- $project || exit 1
measure inner project 5000 __inner_prompt
