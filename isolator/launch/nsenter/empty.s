// Without a file of assembly the compiler refuses functions that have no body.
