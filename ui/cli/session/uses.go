package session

import (
	"context"
	"errors"
	"fmt"

	"zonedeck/keystore"
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

// PasswordUses names what uses a zone's password: what stops when it is replaced, and what goes
// on because it reads the reference anew. What could not be looked through is the error; the
// rest is returned with it.
func (s *Session) PasswordUses(ctx context.Context, p profile.Profile, z model.Zone) (model.PasswordUses, error) {
	uses := model.PasswordUses{Stops: []string{
		"programs, files and browsers that hold the present password itself: copied logins, exported code with the secret in it, other machines",
	}}
	if s.o.Getenv(EnvPassword) != "" && z.Password != "env:"+EnvPassword {
		uses.Stops = append(uses.Stops, "what takes it from "+EnvPassword+", if that holds this password")
	}
	add := func(what, ref string) {
		if ref == z.Password {
			uses.GoOn = append(uses.GoOn, what)
		} else if ref != "" {
			uses.Stops = append(uses.Stops, what+", which takes it from "+keystore.Ref(ref).Label())
		}
	}
	add("profile "+p.Name, z.Password)
	file, err := profile.Load(s.configFile())
	errs := []error{err}
	for _, name := range file.Names() {
		other, err := file.Profile(name)
		if err != nil || name == p.Name || other.Account != p.Account {
			continue
		}
		if known, ok := other.Zone(string(z.Name)); ok {
			add("profile "+name, known.Password)
		}
	}
	entries, err := saved.New(s.Paths.RequestsDir()).List(ctx)
	errs = append(errs, err)
	for _, e := range entries {
		if e.Problem == "" && e.Request.Via == model.ViaNative && e.Request.Zone.Name == z.Name {
			add("saved request "+e.Name, z.Password)
		}
	}
	return uses, errors.Join(errs...)
}
