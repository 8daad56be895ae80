package service

import (
	"context"
	"errors"
	"strings"
	"sync"

	"zonedeck/keystore"
	"zonedeck/model"
)

// schemeAsked begins the reference of a secret that the operator typed: it is in memory
// alone.
const schemeAsked = "asked:"

// variables are the values of a request's variables.
type variables struct {
	*Service
	mu      sync.Mutex
	answers map[string]model.Variable
	secrets map[string]keystore.Secret
}

// Variable is what a variable of a request stands for: what the profile says, else the
// environment. What may be a key, because the keys are not known, is refused. It waits for nothing.
func (s *Service) Variable(name string) (model.Variable, bool) {
	unread := s.Keys.Inventory().Unread()
	v, ok := s.CurrentProfile().Variable(name, s.o.Getenv, s.Keys.Inventory().MayBeKey)
	if unread != nil && v.Refused != "" {
		v.Refused = unread.Error()
	}
	return v, ok
}

// Variable is what the operator answered, else the session's. What must not go to a target is
// refused whatever was answered.
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

// Answer gives a variable a value until the console ends; an empty one takes the answer back.
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

// Resolve gives the value of a reference, or of an answer.
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
