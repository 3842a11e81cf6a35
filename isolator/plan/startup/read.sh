# shellcheck shell=sh disable=SC1091
# In the box in place of a start-up file, which is read here.
. @original@
. @start@/path
