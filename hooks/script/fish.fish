# The hook for fish: inner hook fish | source.
#
# bash.sh says what a hook does and by which rules; the same hold here. What
# differs:
#
# - Folder and PATH are variables with events, so the unchanged prompt need not
#   look at them: their handlers clear __inner_mark, which fails its test.
# - A change of folder is acted on at once: one made by Alt-arrow is followed
#   by no prompt event. Not inside a command substitution, where prompts change
#   folders for a moment; the next prompt notices.
# - The prompt function runs before each command, too, and sees what others did after it.
# - fish reads config.fish in every fish, also in fish -c, and there it often
#   puts folders first on PATH: unless it is interactive, nothing is defined,
#   but the shim folder is put before them.
# - fish remembers no command places.
# - Before 3.6, test can neither compare times nor tell whether two names are
#   one file. There only changes of folder and PATH are noticed, which is what
#   the shims need; a line about an edited profile waits for the next cd.
# - An abbreviation becomes what it stands for while it is typed, so it counts as
#   an alias; what fish calls an alias is a function.
#
# The words between at signs are filled in by Script.

if status is-interactive; and not test -e /run/.innerenv

set -g __inner_bin @bin@
set -g __inner_dir @dir@
set -g __inner_state @state@
set -g __inner_new
test / -ef / 2>/dev/null; and set __inner_new 1
set -q __inner_seen; or set -g __inner_seen ''
set -g __inner_pwd ''
set -g __inner_token ''
set -g __inner_link ''
set -g __inner_mark ''
set -g __inner_flush ''
set -g __inner_tries 0
set -g __inner_watch
set -g __inner_files
set -g __inner_queue
set -g __inner_there
set -g __inner_absent
set -g __inner_names
set -g __inner_asked ''
set -q __inner_told; or set -g __inner_told
set -g __inner_command @command@
if not type -q inner
    set -g __inner_made 1
    function inner
        $__inner_command $argv
    end
end

# Puts the shim folder first on PATH, once, and keeps the rest in order.
function __inner_path
    set -l rest
    for p in $PATH
        test "$p" = "$__inner_dir"; or set rest $rest $p
    end
    set -gx PATH $__inner_dir $rest
end

# Reports whether a watched path changed since the state was last checked.
function __inner_stale
    set -q __inner_new[1]; or return 1
    for p in $__inner_watch
        test $p -nt $__inner_state; and return 0
    end
    for p in $__inner_there
        test -e $p; or return 0
    end
    for p in $__inner_absent
        test -e $p; and return 0
    end
    return 1
end

# Writes __inner_prompt anew for the paths now watched. One test with words
# written out is the cheapest form fish has (measured: 3 us a comparison in one
# test, 8 us in a test of its own).
function __inner_compile
    set -l t -n '"$__inner_mark"'
    set -l turn
    set -g __inner_files
    set -g __inner_queue
    set -q __inner_new[1]; or set -g __inner_watch
    for p in $__inner_watch
        if test -d $p
            set t $t -a ! (string escape -- $p) -nt '"$__inner_mark"'
        else
            set __inner_files $__inner_files $p
        end
    end
    if set -q __inner_files[3]
        set turn 'set -q __inner_queue[2]; and set -e __inner_queue[1]; or set -g __inner_queue $__inner_files'
        set t $t -a ! '"$__inner_queue[1]"' -nt '"$__inner_mark"'
    else
        for p in $__inner_files
            set t $t -a ! (string escape -- $p) -nt '"$__inner_mark"'
        end
    end
    if set -q t[3]
        set -e t[1..3]
    else if set -q __inner_new[1]
        set t -e '"$__inner_mark"'
    end
    for p in $__inner_there
        set t $t -a -e (string escape -- $p)
    end
    for p in $__inner_absent
        set t $t -a ! -e (string escape -- $p)
    end
    set -l functionless
    set -l abbrless
    for n in $__inner_names
        functions --query $n; and set t "$t; and functions --query $n"; or set functionless $functionless $n
        set -q __inner_new[1]; or continue
        abbr --query $n; and set t "$t; and abbr --query $n"; or set abbrless $abbrless $n
    end
    # The status of this query is how many of the names are no functions (measured
    # with fish 3.6; functions.rs of fish 4).
    if set -q functionless[1]
        set turn "$turn
        functions --query $functionless"
        set t '$status' = (count $functionless) -a $t
    end
    set -q abbrless[1]; and set t "$t; and not abbr --query $abbrless"
    eval "function __inner_prompt --on-event fish_prompt --on-event fish_preexec
        $turn
        test $t
        or __inner_update
    end"
end

# Makes the test of the unchanged prompt hold again.
function __inner_settle
    set -q __inner_new[1]; and set -g __inner_mark "$__inner_link"; or set -g __inner_mark seen
end

# Something may have changed: finds out what with builtins, and only then asks
# inner, once. What was seen is recorded before inner is asked, so that a call
# that fails or is interrupted is not repeated at every prompt; changing
# folder tries again.
function __inner_update
    set -l go
    set -l line
    test "$PATH[1]" = "$__inner_dir"; or __inner_path
    test "$PWD" = "$__inner_pwd"; or set go 1
    test -r $__inner_state; and read line <$__inner_state
    test "$line" = "$__inner_token"; or set go 1
    if set -q go[1]
        set -g __inner_tries 0
    else if __inner_stale
        set go 1
    end
    __inner_settle
    if not set -q go[1]
        if set -q __inner_names[1]
            __inner_find_around
            __inner_compile
        end
        return 0
    end
    set -g __inner_pwd $PWD
    set -g __inner_token "$line"
    set -g __inner_link ''
    set -g __inner_watch
    set -g __inner_there
    set -g __inner_absent
    if test -x $__inner_bin
        $__inner_bin __hook fish "$__inner_seen" "$__inner_token" "$PWD" </dev/null | source
    else if test "$__inner_seen" != lost
        set -g __inner_seen lost
        echo "inner: warning: $__inner_bin cannot be run, so nothing is sandboxed in this shell; type `inner doctor`" >&2
    end
    __inner_settle
    # Still stale right after: see bash.sh.
    if __inner_stale
        set -g __inner_tries (math $__inner_tries + 1)
        if test $__inner_tries -ge 25
            set -g __inner_watch
            set -g __inner_there
            set -g __inner_absent
        end
    else
        set -g __inner_tries 0
    end
    __inner_find_around
    __inner_compile
end

# Finds what stands before the shims of the commands claimed here, and asks inner
# about it when it has changed. A shell prints each line once.
function __inner_find_around
    set -l shadows
    for n in $__inner_names
        if functions --query $n
            set shadows $shadows function $n (functions $n | string collect)
        end
        if set -q __inner_new[1]; and abbr --query $n
            set shadows $shadows abbreviation $n (abbr --show | string replace --filter --regex -- "^abbr .*-- $n (.*)\$" '$1' | string unescape | string collect --allow-empty)
        end
    end
    if not set -q shadows[1]
        set -g __inner_asked ''
        set -e __INNER_SHELL
        return 0
    end
    test "$shadows" = "$__inner_asked"; and return 0
    set -g __inner_asked "$shadows"
    set -g __inner_around ''
    set -g __inner_say
    if test -x $__inner_bin
        $__inner_bin __hook fish "$__inner_seen" "$__inner_token" "$PWD" $shadows </dev/null | source
    end
    for line in $__inner_say
        if not contains -- $line $__inner_told
            set -g __inner_told $__inner_told $line
            echo $line >&2
        end
    end
    if test -n "$__inner_around"
        set -gx __INNER_SHELL "$fish_pid $__inner_around"
    else
        set -e __INNER_SHELL
    end
    return 0
end

function __inner_changed_path --on-variable PATH
    set -g __inner_mark ''
end

function __inner_changed_pwd --on-variable PWD
    set -g __inner_mark ''
    status is-command-substitution; or __inner_update
end

__inner_path
__inner_compile

else if not test -e /run/.innerenv; and test "$PATH[1]" != @dir@

for __inner_p in (contains -i -- @dir@ $PATH)
    set -e PATH[$__inner_p]
end
set -gx PATH @dir@ $PATH

end
