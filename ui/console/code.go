package console

import (
	"context"
	"fmt"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/history"
)

// exported are fetches that are written as code.
type exported struct{ service *service.Service }

func (e exported) Source(r model.FetchRequest) history.CodeSource {
	return history.CodeSource{Profile: e.service.CurrentProfile(), Request: r, Key: e.service.Keys.Inventory().Named(r.Key).Secret}
}

func (e exported) SafePace(ctx context.Context, r model.FetchRequest) (atOnce int, probed string) {
	return e.service.Fetch.SafePace(ctx, e.service.CurrentProfile().Name, r)
}

func (e exported) Refused(key string) error {
	s := e.service
	inventory := s.Keys.Inventory()
	if unread := inventory.Unread(); unread != nil && s.Local == nil {
		return unread
	}
	k := inventory.Named(key)
	if err := s.Keys.Owners().Refuse(s.CurrentProfile(), k); err != nil {
		return err
	}
	if refused := s.Keys.Admin(k); refused != nil {
		return fmt.Errorf("key %s is ADMIN, or has an ADMIN key's value, and programs never use one (%s): pick a USER key; 'zonedeck export --admin-reason' records a reason", k.Name, refused.Finding.Source)
	}
	return nil
}

func (e exported) Secret(ctx context.Context, ref string) (keystore.Secret, error) {
	return e.service.Resolver.Resolve(ctx, ref)
}

func (e exported) Write(name, text string, replace bool) (string, error) {
	return writeCode(name, text, replace)
}

func (e exported) Compared(ctx context.Context, r model.FetchRequest) (model.Grid, error) {
	return e.service.History.NewestComparison(ctx, e.service.CurrentProfile().Name, r)
}
