# Completion of inner for elvish: eval (inner completion elvish | slurp), in rc.elv.
# The words of the line are handed over as they stand: nothing on it is evaluated.
use str

set edit:completion:arg-completer[inner] = {|@words|
    var found = []
    var directive = 0
    try {
        e:inner __complete (all $words[1..]) 2>/dev/null | each {|line|
            if (str:has-prefix $line :) {
                set directive = (num $line[1..])
            } elif (not-eq $line '') {
                set found = [$@found (str:split "\t" $line | take 1)]
            }
        }
    } catch e { }
    # Bit 4 of the last line: no file names (cobra's ShellCompDirectiveNoFileComp).
    if (and (== (count $found) 0) (< (% $directive 8) 4)) {
        edit:complete-filename $@words
    }
    # Bit 2: the word goes on.
    var end = (if (>= (% $directive 4) 2) { put '' } else { put ' ' })
    each {|word| edit:complex-candidate $word &code-suffix=$end } $found
}
