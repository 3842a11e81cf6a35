# Completion of inner for tcsh: put this into a file, and source it in ~/.tcshrc. It offers no file names.
# The words of the line are handed over as blanks part them: nothing on it is evaluated.
complete inner 'p,*,`sh -c '\''set -f; IFS=" "; case $COMMAND_LINE in *" ") set -- $COMMAND_LINE "" ;; *) set -- $COMMAND_LINE ;; esac; shift; inner __complete "$@" 2>/dev/null'\'' | grep -v "^:" | cut -f 1`,'
