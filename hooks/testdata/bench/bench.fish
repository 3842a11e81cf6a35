# What one unchanged prompt costs in fish; see bench.bash.
#
#     fish --no-config -i bench.fish HOOK PLAIN PROJECT [SHORTER]

set -g hook $argv[1]
set -g plain $argv[2]
set -g project $argv[3]
set -g shorter $argv[4]
set -q shorter[1]; or set shorter 1

# fish has no clock of its own; one date is spread over the whole loop.
function measure --argument-names name where n call
    set n (math $n / $shorter)
    set -l times
    set -l turns (seq $n)
    $call
    $call
    for k in (seq 7)
        set -l start (date +%s%N)
        for i in $turns
            $call
        end
        set -l end (date +%s%N)
        set -a times (math "floor(($end - $start) / 10 / $n)")
    end
    set times (printf '%s\n' $times | sort -n)
    printf 'fish %s %s %s\n' $name $where (math "$times[4] / 100")
end

function nothing
end

cd $plain; or exit 1
measure nothing plain 5000 nothing
if command -q direnv
    direnv hook fish | source
    __direnv_export_eval
    measure direnv plain 100 __direnv_export_eval
    cd $project; or exit 1
    measure direnv project 100 __direnv_export_eval
    cd $plain; or exit 1
    __direnv_export_eval
    functions --erase __direnv_export_eval
end
source $hook
measure inner plain 5000 __inner_prompt
cd $project; or exit 1
measure inner project 5000 __inner_prompt
