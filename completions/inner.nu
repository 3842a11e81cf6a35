# Completion of inner for Nushell: in config.nu,
# inner completion nu | save -f FILE, where FILE is in a folder that nu reads afterwards.
# nu has one external completer for all commands: the one before is asked about the others.
# The words of the line are handed over as they stand: nothing on it is evaluated.
$env.config.completions.external.completer = (
    let before = $env.config.completions.external.completer;
    {|spans|
        if ($spans.0 | path basename) != "inner" {
            return (if $before != null { do $before $spans })
        }
        let lines = (try { ^$spans.0 __complete ...($spans | skip 1) e> /dev/null | lines } catch { [] })
        let directive = ($lines | where $it =~ '^:\d+$' | append ":0" | first | str substring 1.. | into int)
        # Bit 2 of the last line: the word goes on.
        let end = (if ($directive | bits and 2) == 0 { " " } else { "" })
        let found = ($lines | where $it !~ '^(:\d+)?$' | parse --regex '^(?<value>[^\t]*)\t?(?<description>.*)$'
            | where value starts-with ($spans | last) | update value {|found| $found.value + $end })
        # Bit 4: no file names (cobra's ShellCompDirectiveNoFileComp).
        if ($found | is-empty) and ($directive | bits and 4) == 0 { null } else { $found }
    }
)
