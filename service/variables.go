package service

import (
	"context"
	"errors"
	"strings"
	"sync"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
)

// schemeAsked begins the reference of a secret that the operator typed. The secret is only
// in memory.
const schemeAsked = "asked:"

// variables gives the values of a request's variables.
type variables struct {
	*Service
	mu      sync.Mutex
	answers map[string]model.Variable
	secrets map[string]keystore.Secret
}

// Variable returns a request's variable, from the profile or else the environment. It refuses keys and
// passwords, and every reference while the keys are unknown. It does not wait.
func (s *Service) Variable(name string) (model.Variable, bool) {
	unread := s.Keys.Inventory().Unread()
	v, ok := config.Variable(s.CurrentProfile(), name, s.o.Getenv, s.Keys.Inventory().MayBeKey)
	if unread != nil && v.Refused != "" {
		v.Refused = unread.Error()
	}
	return v, ok
}

// Variable returns the operator's answer, else the Service's value. A refused variable stays refused,
// whatever the answer.
func (v *variables) Variable(name string) (model.Variable, bool) {
	known, ok := v.Service.Variable(name)
	if known.Refused != "" {
		return known, ok
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if answer, is := v.answers[name]; is {
		return answer, true
	}
	return known, ok
}

// Answer gives a variable a value until the console ends. An empty value removes the answer.
func (v *variables) Answer(name, value string, secret bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case value == "":
		delete(v.answers, name)
		return
	case !secret:
		v.answers[name] = model.Variable{Value: value}
		return
	}
	v.answers[name] = model.Variable{Ref: schemeAsked + name}
	v.secrets[name] = keystore.NewSecret(value)
}

// errNotAnswered says that a secret was typed in another console.
var errNotAnswered = errors.New("its value was typed in another console, and is asked for again")

// Resolve returns the value of a reference, which may be an answer's.
func (v *variables) Resolve(ctx context.Context, ref string) (keystore.Secret, error) {
	name, is := strings.CutPrefix(ref, schemeAsked)
	if !is {
		return v.Resolver.Resolve(ctx, ref)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.secrets[name]
	if !ok {
		return s, errNotAnswered
	}
	return s, nil
}
