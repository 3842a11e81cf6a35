package wire

import "syscall"

// Exit codes that are not the program's own, as in timeout(1), env(1) and the shells.
const (
	Timeout       = 124 // the time limit was reached
	NoSandbox     = 125 // the box could not be made; the program did not run
	NotExecutable = 126 // the program cannot be executed
	NotFound      = 127 // the program does not exist
)

// ExitCode is what a shell makes of a wait status.
func ExitCode(st syscall.WaitStatus) int {
	if st.Signaled() {
		return 128 + int(st.Signal())
	}
	return st.ExitStatus()
}
