package runlog

import "time"

// Types of events.
const (
	EventStart       = "start"        // a program is about to be started in its box
	EventExit        = "exit"         // it has ended
	EventCall        = "call"         // a program ran in its box: start and end in one line, with record = "audit"
	EventRefused     = "refused"      // inner did not start it
	EventBlocked     = "blocked"      // [noop] blocked calls of a command, Count times
	EventHostRefused = "host_refused" // the box asked for a host it does not get
	EventHostAllowed = "host_allowed" // a person granted a host during the run
	EventGranted     = "granted"      // a person gave a box that runs more
	EventCredential  = "credential"   // a login was used at a host, or refused there
	EventLimit       = "limit"        // a limit of the run was reached
	EventBypass      = "bypass"       // a program runs outside, on purpose
	EventAllow       = "allow"        // a profile, or a project's config.toml, was approved
	EventDeny        = "deny"
	EventRevoke      = "revoke"
	EventInstall     = "install"   // a profile was fetched and kept
	EventVerify      = "verify"    // a box was checked from inside
	EventRecovered   = "recovered" // the log itself was not as its last writer left it
)

// EventTypes returns all types of events.
func EventTypes() []string {
	return []string{
		EventStart, EventExit, EventCall, EventRefused, EventBlocked, EventHostRefused, EventHostAllowed, EventGranted, EventCredential, EventLimit,
		EventBypass, EventAllow, EventDeny, EventRevoke, EventInstall, EventVerify, EventRecovered,
	}
}

// Event is one line of the audit log. Append fills in Seq, Prev and Time; what is written
// later than it happened has At.
type Event struct {
	Seq  int64     `json:"seq"`
	Prev string    `json:"prev"`
	Time time.Time `json:"time"`
	Type string    `json:"type"`
	At   time.Time `json:"at,omitzero"`

	Run     string   `json:"run,omitempty"`
	Profile string   `json:"profile,omitempty"`
	Scope   string   `json:"scope,omitempty"`
	Path    string   `json:"path,omitempty"`   // of the profile; of the program for a bypass
	Digest  string   `json:"digest,omitempty"` // of the profile
	Command string   `json:"command,omitempty"`
	Program string   `json:"program,omitempty"`
	Args    int      `json:"args,omitempty"` // how many
	Cwd     string   `json:"cwd,omitempty"`  // the project for allow, deny and revoke
	Network string   `json:"network,omitempty"`
	Allow   []string `json:"allow,omitempty"` // what was lifted for this run
	Host    string   `json:"host,omitempty"`
	Count   int      `json:"count,omitempty"`
	Code    int      `json:"code"` // of exit, call, refused and verify; of others 0
	Signal  string   `json:"signal,omitempty"`
	Millis  int64    `json:"ms,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Backend string   `json:"backend,omitempty"` // what made the box

	By

	// Of a recovered line: the length and hash of the piece of a line before it, and whether
	// the head was lost.
	Torn    int    `json:"torn,omitempty"`
	TornSum string `json:"torn_sha256,omitempty"`
	Lost    string `json:"lost,omitempty"`
}

// By is for whom a program runs, as its caller says.
type By struct {
	Role    string `json:"role,omitempty"`       // of the table [roles]
	Asked   string `json:"role_asked,omitempty"` // the role that was asked for, where that is another
	Actor   string `json:"actor,omitempty"`      // a name of the caller's own
	Session string `json:"session,omitempty"`
}

// LostHead is what a recovered line says is lost when there was no head: so it is not known what
// else.
const LostHead = "head"
