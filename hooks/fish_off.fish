# Takes the hook out of a running fish: event handlers, PATH element and
# variables. Running it twice does no more than running it once.

set -q __inner_made; and functions --query inner; and functions --erase inner
set -e __INNER_SHELL
for f in find_around prompt changed_path changed_pwd update compile settle stale path
    functions --query __inner_$f; and functions --erase __inner_$f
end
begin
    set -l rest
    for p in $PATH
        test "$p" = @dir@; or set rest $rest $p
    end
    set -gx PATH $rest
end
for v in made command names asked told around say bin dir state new seen pwd token link mark flush tries watch there absent
    set -e __inner_$v
end
