package jobs

import (
	"context"
	"encoding/json"
	"errors"

	"zonedeck/model"
	"zonedeck/service/database"
)

// AuthUse is the reference to the secret with which the addresses of a job of the ledger are called (see
// model.JobSettings.Auth). Launching the job again needs it.
type AuthUse struct {
	Ref   string
	Job   string
	State model.JobState
}

// KeptRequests is the part of ledger.Ledger that AuthUses and SwitchAuth use.
type KeptRequests interface {
	Request(ctx context.Context, id string) ([]byte, error)
	EachRequest(ctx context.Context, take func(id string, state model.JobState, request []byte) error) error
	ReplaceRequest(ctx context.Context, id string, was, now []byte) error
}

// AuthUses are the references of the requests that the ledger keeps, newest first. It reads all requests. A damaged one
// cannot be launched again, and is left out.
func AuthUses(ctx context.Context, l KeptRequests) (out []AuthUse, err error) {
	err = l.EachRequest(ctx, func(id string, state model.JobState, request []byte) error {
		if ref := authOf(request); ref != "" {
			out = append(out, AuthUse{ref, id, state})
		}
		return ctx.Err()
	})
	return out, err
}

// SwitchAuth replaces the reference from by to in every request that the ledger keeps, with one request at a time in
// memory. It may be called again after an interruption.
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

// switchOne is SwitchAuth for the request of one job. It leaves a request that is no longer kept or now has another
// reference.
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

// withAuth is a kept request with another reference and no other change.
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
