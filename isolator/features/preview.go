package features

// In a preview nothing is made: what would be has a mark in the place of its path.
const (
	DryEmpty = "\x00empty"            // the file that masks are bound from
	DryStage = "\x00staged:"          // before what it would be
	DryClone = DryStage + "clone of " // before the folder it is of
	DryNoop  = DryStage + "noop shims"
	DryStart = DryStage + "start-up files"
	DryPipe  = DryStage + "pipe"
	DryBus   = DryStage + "bus"
)
