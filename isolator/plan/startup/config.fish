# In the box in place of the system's config.fish, which is read here. From then on
# every change of PATH puts the shims of [noop] first again.
source @original@
function __inner_noop --on-variable PATH
    test "$PATH[1]" = @noop@
    or set -gx PATH @noop@ (string match --invert -- @noop@ $PATH)
end
__inner_noop
