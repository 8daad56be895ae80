package jobs

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/exchange"
)

// ErrNoRequest says that the ledger does not have the inputs of a job, so that it cannot be
// launched again from here.
var ErrNoRequest = errors.New("the ledger does not have its inputs: it was adopted or restored, is older than what is kept, or a key or a token stands in them or in an address of its delivery")

// keptRequest is what the ledger keeps of a request. It is nothing if the key is in it or a delivery
// address may hold a token, because a job must not be launched again with half of its settings. An
// address of the inbox is for one job only, so only the wish for one is kept.
func keptRequest(r model.TriggerRequest, mask exchange.Mask) []byte {
	for _, a := range []*string{&r.Settings.Notify, &r.Settings.Endpoint} {
		if model.HookToken(*a) != "" {
			*a = model.HookInbox
		}
	}
	if len(deliverySecrets(r.Settings)) > 0 {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil || mask.Text(string(text)) != string(text) {
		return nil
	}
	return packed(text)
}

func packed(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// unpack reads what keptRequest made.
func unpack(kept []byte, into any) error {
	z, err := gzip.NewReader(bytes.NewReader(kept))
	if err != nil {
		return err
	}
	return json.NewDecoder(z).Decode(into)
}

// Request is what a job of the ledger, by its identifier or its snapshot's, asked for, ready to be launched
// again: it names the job in Repeats, and has model.HookInbox in place of an address of the inbox. If the
// inputs are not kept, the error wraps ErrNoRequest.
func (rn *Runner) Request(ctx context.Context, id string) (model.TriggerRequest, error) {
	job, err := rn.Job(ctx, id)
	if err != nil {
		return model.TriggerRequest{}, err
	}
	kept, err := rn.cfg.Ledger.Request(ctx, job.ID)
	if errors.Is(err, database.ErrNotFound) {
		return model.TriggerRequest{}, fmt.Errorf("job %s: %w", job.ID, ErrNoRequest)
	}
	if err != nil {
		return model.TriggerRequest{}, err
	}
	var r model.TriggerRequest
	if err := unpack(kept, &r); err != nil {
		return model.TriggerRequest{}, fmt.Errorf("what job %s asked for: %w: %w", job.ID, database.ErrCorrupt, err)
	}
	r.Repeats = job.ID
	return r, nil
}
