package settings

import (
	"strconv"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
)

// organisationRead is what was read of profile.OrganisationFile.
type organisationRead struct {
	it  *profile.Organisation
	err error
}

// Organisation is what the administrator of this computer takes from every run, read now or
// before; nil for nothing. On an error nothing may run: it is not known what is forbidden.
func (s *Settings) Organisation() (*profile.Organisation, error) {
	if s.organisation == nil {
		o, err := config.LoadOrganisation()
		s.organisation = &organisationRead{o, err}
	}
	return s.organisation.it, s.organisation.err
}

// Permitted refuses what is forbidden, where that is about no box.
func (s *Settings) Permitted(f profile.Forbidden, what string) error {
	o, err := s.Organisation()
	switch {
	case err != nil && fault.AsRefusal(err) == nil:
		return &fault.Refusal{
			Code: 125, Kind: fault.KindProfile,
			Msg:  fault.First(err),
			Hint: "edit " + profile.OrganisationFile,
		}
	case err != nil:
		return err
	}
	if at, ok := o.Forbidden(f); ok {
		return &fault.Refusal{
			Code: 126, Kind: fault.KindNotTrusted,
			Msg:  what + " is forbidden by " + profile.At(at) + " (forbid " + strconv.Quote(f.String()) + ")",
			Hint: "ask who administers this computer",
		}
	}
	return nil
}
