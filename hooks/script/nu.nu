# The hook for Nushell 0.105 and newer, which cannot evaluate text: in config.nu,
# inner hook nu | save -f FILE, where FILE is in a folder that nu reads afterwards.
#
# bash.sh says what a hook does and by which rules; the same hold here. What
# differs:
#
# - What the hook keeps is one record in $env, which nu does not export.
# - It reads no file: open is a command that people replace. The mark tells that the
#   state is another one; without it, new names count when the folder changes.
# - nu remembers no command places. Aliases and commands of nu's own that stand
#   before a shim are not looked for.
# - Where there is no inner on PATH none is made: a definition cannot depend on that.
# - A hook that is text is read anew each time, so what is sourced again counts.
#
# The words between at signs are filled in by Script.

# When a path was last changed; nothing for one that is not there.
def __inner_time [path: string] {
    try { ls -D $path | get 0.modified } catch { null }
}

# Reports whether a watched path changed since the state was last checked.
def __inner_stale [] {
    let known = $env.__inner
    let since = (__inner_time @state@ | default 1970-01-01)
    if ($known.watch | any {|p| (__inner_time $p | default $since) > $since }) { return true }
    if ($known.there | any {|p| not ($p | path exists) }) { return true }
    $known.absent | any {|p| $p | path exists }
}

# Puts the shim folder first on PATH, once, and keeps the rest in order.
def --env __inner_path [] {
    let all = ($env.PATH | split row (char esep))
    if $all.0? != @dir@ { $env.PATH = ($all | where $it != @dir@ | prepend @dir@) }
}

# Asks inner, once, when something changed. What was seen is recorded before, so
# that a call that fails is not repeated at every prompt.
def --env __inner_prompt [] {
    let status = $env.LAST_EXIT_CODE
    __inner_path
    let moved = ($env.PWD != $env.__inner.pwd or ($env.__inner.mark != "" and not ($env.__inner.mark | path exists)))
    if not $moved and not (__inner_stale) { return }
    let before = $env.__inner
    mut known = {pwd: $env.PWD, mark: "", seen: $before.seen, tries: 0, watch: [], there: [], absent: []}
    if (which @bin@ | is-not-empty) {
        try { $known = ($known | merge ("" | ^@bin@ __hook nu $before.seen "" $env.PWD | from nuon)) }
    } else if $before.seen != "lost" {
        $known.seen = "lost"
        print -e ("inner: warning: the program behind the shims cannot be run, " +
            "so nothing is sandboxed in this shell; type `inner doctor`")
    }
    $env.__inner = $known
    # Still stale right after: see bash.sh.
    if (__inner_stale) {
        $env.__inner.tries = (if $moved { 1 } else { $before.tries + 1 })
        if $env.__inner.tries >= 25 { $env.__inner = ($env.__inner | merge {watch: [], there: [], absent: []}) }
    }
    $env.LAST_EXIT_CODE = $status
}

if $nu.is-interactive and not ("/run/.innerenv" | path exists) {
    let seen = ($env.__inner?.seen? | default "")
    $env.__inner = {pwd: "", mark: "", seen: $seen, tries: 0, watch: [], there: [], absent: []}
    __inner_path
    let others = ([$env.config.hooks.pre_prompt] | flatten | compact
        | where {|h| ($h | describe) != "string" or $h != "__inner_prompt" })
    $env.config.hooks.pre_prompt = ($others | append "__inner_prompt")
}
