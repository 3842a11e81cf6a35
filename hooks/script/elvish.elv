# The hook for elvish 0.18 and newer: eval (inner hook elvish | slurp), in rc.elv.
#
# bash.sh says what a hook does and by which rules; the same hold here. What
# differs:
#
# - elvish cannot ask for the time of a file. What is watched is compared by what
#   is in it: the names in a folder, the text of a file. No program is started.
# - What is evaluated has a name space of its own, so nothing of the hook is seen
#   in the shell. One that is evaluated again finds the earlier one by the name of
#   its option, takes what that has said already, and takes its place.
# - elvish remembers no command places, and has no status of the last command.
# - Functions that stand before a shim are not looked for. Whether there is a function
#   inner is asked first of all: further down, only what is named can be seen.
#
# The words between at signs are filled in by Script.

use path
use str

fn exists {|p| bool ?(path:eval-symlinks $p | nop) }

var named = (bool ?(eval 'nop $inner~'))

if (and (bool ?(eval 'nop $edit:before-readline')) (not (exists /run/.innerenv))) {

var bin = @bin@
var dir = @dir@
var state = @state@
var seen = ''
var known = (ns [&])
var here = ''
var looked = $nil

# Puts the shim folder first on PATH, once, and keeps the rest in order.
fn first {
    if (or (== (count $paths) 0) (not-eq $paths[0] $dir)) {
        set paths = [$dir (each {|p| if (not-eq $p $dir) { put $p } } $paths)]
    }
}

# Forgets the last answer: a name space in which the next one is evaluated.
fn forget {
    set known = (ns [&token='' &mark='' &seen=$seen &flush='' &watch=[] &there=[] &absent=[] &names=[]])
}

# The token in the state file.
fn token { try { str:split "\n" (slurp <$state) | take 1 } catch e { put '' } }

# All that is watched, as a value to compare.
fn look {
    put [(token) (each {|p|
        if (path:is-dir &follow-symlink=$true $p) {
            put [$p/*[nomatch-ok][match-hidden]]
        } elif (path:is-regular &follow-symlink=$true $p) {
            try { slurp <$p } catch e { put unreadable }
        } else {
            put $false
        }
    } $known[watch]) (each $exists~ $known[absent])]
}

# Asks inner, once, when something changed. What was seen is recorded also when
# that fails, so that it is not repeated at every prompt.
fn prompt {
    first
    var now = ''
    try { set now = $pwd } catch e { }
    if (and (eq $now $here) (eq (look) $looked)) { return }
    set here = $now
    forget
    if (has-external $bin) {
        try {
            var answer = ((external $bin) __hook elvish $seen (token) $now </dev/null | slurp)
            eval &ns=$known $answer
            set seen = $known[seen]
        } catch e {
            forget
        }
    } elif (not-eq $seen lost) {
        set seen = lost
        echo 'inner: warning: '$bin' cannot be run, so nothing is sandboxed in this shell; type `inner doctor`' >&2
    }
    set looked = (look)
}

fn hook {|&__inner_seen=$false| if $__inner_seen { put $seen } else { prompt } }

# What is a builtin function has no options to look at.
var others = [(each {|f|
    var ours = $false
    try { set ours = (has-value $f[opt-names] __inner_seen) } catch e { }
    if $ours { set seen = ($f &__inner_seen=$true) } else { put $f }
} (eval 'put $edit:before-readline'))]
forget
eval 'set edit:before-readline = [$@others $hook~]'
first
if (not (or $named (has-external inner))) {
    var program = (external @command@)
    eval 'edit:add-var inner~ {|@words| $program $@words }'
}

}
