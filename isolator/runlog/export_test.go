package runlog

import "errors"

// What the tests of the audit log use of the inside: they read it by package records.
const (
	NoLine    = noLine
	MaxText   = maxText
	KeptAudit = keptAudit
)

var (
	Line       = line
	AuditLines = auditLines
)

// AppendAtMost is Append with files of another size.
func AppendAtMost(dir string, most int64, events ...Event) error {
	l, err := lockAudit(dir, true)
	if err == nil {
		err = errors.Join(l.append(events, most), l.file.Close())
	}
	return err
}
