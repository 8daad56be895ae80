package jobs

import (
	"context"
	"encoding/json"
	"errors"

	"zonedeck/model"
	"zonedeck/service/database"
)

// AuthUse is the reference to the secret that a job of the ledger has its addresses called with, see
// model.JobSettings.Auth: to launch the job again needs it.
type AuthUse struct {
	Ref   string
	Job   string
	State model.JobState
}

// KeptRequests is the part of ledger.Ledger that AuthUses and SwitchAuth work with.
type KeptRequests interface {
	Request(ctx context.Context, id string) ([]byte, error)
	EachRequest(ctx context.Context, take func(id string, state model.JobState, request []byte) error) error
	ReplaceRequest(ctx context.Context, id string, was, now []byte) error
}

// AuthUses are the references of the requests that the ledger keeps, newest first. It reads all of them; one that is
// damaged launches nothing again, and is left out.
func AuthUses(ctx context.Context, l KeptRequests) (out []AuthUse, err error) {
	err = l.EachRequest(ctx, func(id string, state model.JobState, request []byte) error {
		if ref := authOf(request); ref != "" {
			out = append(out, AuthUse{ref, id, state})
		}
		return ctx.Err()
	})
	return out, err
}

// SwitchAuth puts the reference to in the place of from in every request that the ledger keeps. One request at a time is in
// memory. It may be called again after it was cut short.
func SwitchAuth(ctx context.Context, l KeptRequests, from, to string) error {
	uses, err := AuthUses(ctx, l)
	if err != nil {
		return err
	}
	var errs []error
	for _, use := range uses { // not while the requests are read
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
		if use.Ref == from {
			errs = append(errs, switchOne(ctx, l, use.Job, from, to))
		}
	}
	return errors.Join(errs...)
}

// switchOne is SwitchAuth for the request of one job. One that is no longer kept, or has another reference by now, stays.
func switchOne(ctx context.Context, l KeptRequests, id, from, to string) error {
	was, err := l.Request(ctx, id)
	if errors.Is(err, database.ErrNotFound) || err == nil && authOf(was) != from {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := withAuth(was, to)
	if err != nil {
		return err
	}
	return l.ReplaceRequest(ctx, id, was, now)
}

func authOf(kept []byte) string {
	var r struct {
		Settings struct {
			Auth string `json:"auth"`
		}
	}
	if unpack(kept, &r) != nil {
		return ""
	}
	return r.Settings.Auth
}

// withAuth is a kept request with another reference, and all else as it was.
func withAuth(kept []byte, ref string) ([]byte, error) {
	r, settings := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := unpack(kept, &r); err != nil {
		return nil, err
	}
	err := json.Unmarshal(r["Settings"], &settings)
	if err == nil {
		settings["auth"], err = json.Marshal(ref)
	}
	if err == nil {
		r["Settings"], err = json.Marshal(settings)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	return packed(text), err
}
