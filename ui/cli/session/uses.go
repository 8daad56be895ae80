package session

import (
	"context"
	"errors"
	"fmt"

	"zonedeck/model"
	"zonedeck/service/profile"
	"zonedeck/service/saved"
)

// keyUses names what uses each key, by the key's name: the profile in use, every profile of
// the config file, the saved requests that name one, and the jobs in flight. What could not
// be looked through is the error; the rest is returned with it.
func (s *Session) keyUses(ctx context.Context) (map[string][]string, error) {
	uses := map[string][]string{}
	add := func(key, what string) {
		if key != "" {
			uses[key] = append(uses[key], what)
		}
	}
	current := s.CurrentProfile()
	add(current.Key, "profile "+current.Name)
	file, err := profile.Load(s.configFile())
	errs := []error{err}
	for _, name := range file.Names() {
		if p, err := file.Profile(name); err == nil && name != current.Name {
			add(p.Key, "profile "+name)
		}
	}
	entries, err := saved.New(s.Paths.RequestsDir()).List(ctx)
	errs = append(errs, err)
	for _, e := range entries {
		if e.Problem != "" {
			errs = append(errs, fmt.Errorf("saved request %s: %s", e.Name, e.Problem))
		} else if e.Request.Via == model.ViaAPI {
			add(e.Request.Key, "saved request "+e.Name)
		}
	}
	if s.ledger != nil {
		jobs, err := s.ledger.InFlight(ctx)
		errs = append(errs, err)
		for _, j := range jobs {
			add(j.KeyName, j.ID+" ("+j.State.Label()+")")
		}
	}
	return uses, errors.Join(errs...)
}
