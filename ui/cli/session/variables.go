package session

import (
	"slices"

	"zonedeck/model"
)

// Variable is what a variable of a request stands for: what the profile says, else the
// environment.
func (s *Session) Variable(name string) (model.Variable, bool) {
	keys := s.Keys()
	return s.CurrentProfile().Variable(name, s.o.Getenv, func(ref string) bool {
		return slices.ContainsFunc(keys, func(k model.Key) bool { return k.Secret == ref })
	})
}
