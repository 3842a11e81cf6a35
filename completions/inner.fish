# Completion of inner for fish. The words of the line are handed over as they
# stand: nothing on it is evaluated.
function __inner_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l directive 0
    set -l found
    for line in (inner __complete $words[2..-1] 2>/dev/null)
        if string match -qr '^:[0-9]+$' -- $line
            set directive (string sub -s 2 -- $line)
        else if test -n "$line"
            set -a found $line
        end
    end
    if test (count $found) -gt 0
        printf '%s\n' $found
    else if test (math "bitand($directive, 4)") -eq 0
        __fish_complete_path (commandline -ct)
    end
end
complete -c inner -f -a '(__inner_complete)'
