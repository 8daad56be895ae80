package session

import (
	"slices"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/config"
)

// others are the accounts besides the one in use, whose jobs are followed too.
func (s *Session) others() *service.Others {
	return &service.Others{
		Profiles: func() []config.Profile {
			profiles, _ := s.Configured()
			return slices.DeleteFunc(profiles, func(p config.Profile) bool { return p.Name == s.Base.Name })
		},
		Unread: s.readKeys,
		Key: func(name string) (model.Key, bool) {
			k := named(s.recorded(), name)
			return k, k.Name != ""
		},
		Permit: s.permitOther,
		Now:    s.o.Now,
	}
}
