// Package runlog keeps the records of runs and the audit log.
//
// Every run has a folder of its own, LOGS/RUNID, 0700:
//
//	run.jsonl     JSON lines: what was started (Start), how it ended (End)
//	output.log    what the program wrote to its terminals, as it came, and their sizes
//	session.cast  instead of it, with [output] record: the session, asciicast v2
//
// Beside them is the audit log, audit.jsonl, one chained line per decision (a
// start, a refusal, an answer to inner allow…; audit.go), always in INNER_HOME/logs; a refusal
// and a bypass have no folder.
//
// Package records reads all that.
//
// What it promises: arguments and values of variables are never in a record.
// In what is captured, the values of variables that look like secrets are
// replaced by ***. Input is never captured. A run's captured output is cut at
// MaxOutput; a folder holds at most about MaxRuns runs and MaxTotal bytes,
// oldest gone first. A run that was killed has a start and no end, and its
// lock is free. Nothing is opened through a link that the box could have made.
// A line of the audit log that was edited, taken out or put in shows, and so does
// an end that was cut off.
//
// What it does not: nothing is synced to the disk while a program waits, and a
// secret stays where it is shorter than eight bytes, where a program spells it in
// another way or shows a part of it. Whoever can write the folder can write the
// audit log anew, with its head.
package runlog

// What is kept at most. A folder is looked through only now and then, so it
// may hold a little more.
const (
	MaxOutput = 16 << 20 // bytes of captured output, per run
	MaxRuns   = 1000     // runs, per folder
	MaxTotal  = 256 << 20
)
