# Completion of inner for tcsh, of its first word alone: put this into a file, and source it in ~/.tcshrc.
complete inner 'p@1@`sh -c "inner __complete '\'\'' 2>/dev/null" | grep -v "^:" | cut -f 1`@'
