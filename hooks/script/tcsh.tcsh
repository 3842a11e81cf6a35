# The hook for tcsh 6.22 and newer: eval "`inner hook tcsh`".
#
# bash.sh says what a hook does and by which rules; the same hold here. What
# differs:
#
# - The printed text is this file as one word, which is evaluated where there is a
#   prompt. Its newlines become blanks, so every statement ends in a semicolon;
#   an "if" has its command on the same line, and that command is no alias.
# - The prompt is an alias, precmd. An error in it would remove it.
# - tcsh can neither read a file nor compare times. It compares numbers: whether
#   the state and the mark are one file, and what inner saw of each watched
#   path. Without a mark it looks at the token when the folder changes.
# - tcsh keeps the status of the last command itself.
# - An empty variable is no word in a command substitution: that is a hyphen.
# - An element of PATH that is there twice is there once afterwards.
# - Aliases that stand before a shim are not looked for.
#
# The words between at signs are filled in by Script.

set __inner_bin = @bin@;
set __inner_dir = @dir@;
set __inner_state = @state@;
if (! $?__inner_seen) set __inner_seen = -;
set __inner_pwd = '';
set __inner_mark = @state@;
alias __inner_changed ':';
if (! $?PATH) setenv PATH '';

# The last word is evaluated on its own: the one before may have written it anew.
alias __inner_prompt '
    if ($#path == 0) set path = ( $__inner_dir:q );
    if ($path[1]:q != $__inner_dir:q) set -f path = ( $__inner_dir:q $path:q );
    if (x$cwd:q != x$__inner_pwd:q || -I $__inner_state:q != -I $__inner_mark:q) eval $__inner_update:q;
    eval __inner_changed';

# What was seen is recorded before inner is asked, so that a call that fails is not
# repeated at every prompt. Only what looks like an answer is evaluated.
set __inner_update = '
    set __inner_pwd = $cwd:q;
    set __inner_mark = $__inner_state:q;
    alias __inner_changed ":";
    set __inner_out = ( : : );
    if (! -x $__inner_bin:q && x$__inner_seen:q != xlost) echo
        inner: warning: $__inner_bin:q cannot be run, so nothing is sandboxed in this shell\; type \`inner doctor\`;
    if (! -x $__inner_bin:q) set __inner_seen = lost;
    if (-x $__inner_bin:q) set __inner_out = (
        `$__inner_bin:q __hook tcsh $__inner_seen:q - $cwd:q </dev/null` : : );
    if ($__inner_out[1]:q == set && $__inner_out[2]:q =~ __inner_*) eval $__inner_out:q;
    rehash';

set path = ( $__inner_dir:q $path:q );
set -f path = ( $path:q );
set __inner_was = "`where inner`";
if (x$__inner_was:q == x) alias inner @command@;
set __inner_was = "`alias precmd`";
if (x$__inner_was:q !~ *__inner_prompt*) alias precmd $__inner_was:q\;\ __inner_prompt;
unset __inner_was;
