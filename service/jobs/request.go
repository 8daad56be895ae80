package jobs

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

// ErrNoRequest says that the ledger does not have the inputs of a job, so that it cannot be
// launched again from here.
var ErrNoRequest = errors.New("the ledger does not have its inputs: the job was adopted or restored, is too old, or has a key or a token in its inputs or in an address of its delivery")

// keptRequest is what the ledger keeps of a request. It is nothing if the key is in it or a delivery
// address may hold a token, because a job must not be launched again with half of its settings. An
// address of the inbox is for one job only, so only the wish for one is kept.
func keptRequest(r model.TriggerRequest, mask exchange.Mask) []byte {
	for _, a := range []*string{&r.Settings.Notify, &r.Settings.Endpoint} {
		if model.WebhookToken(*a) != "" {
			*a = model.InboxEndpoint
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
	if err = json.NewDecoder(z).Decode(into); err == nil {
		_, err = io.Copy(io.Discard, z) // to the checksum at the end
	}
	return err
}

// Request is what a job of the ledger, by its identifier or its snapshot's, asked for, ready to be launched
// again: it names the job in Repeats, and has model.InboxEndpoint in place of an address of the inbox. If the
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

// fieldAuth names the authorization of a job's addresses in errors.
const fieldAuth = "auth_header"

// refuseAuth reports why the service must not send what a reference refers to along to a job's
// addresses: keys and passwords of the console are only for the service. Nothing is resolved.
func (rn *Runner) refuseAuth(p model.Profile, ref string) error {
	if ref == "" {
		return nil
	}
	parsed, err := keystore.ParseRef(ref)
	if err != nil {
		return model.BadField(fieldAuth, "%w", err)
	}
	password := slices.ContainsFunc(p.Zones, func(z model.Zone) bool { return z.Password == ref })
	if password || rn.cfg.Inventory != nil && rn.cfg.Inventory.MayBeKey(ref) || strings.HasPrefix(ref, "env:ZONEDECK_") || parsed.Scheme() == keystore.SchemeDemo {
		return errOwn(parsed)
	}
	return nil
}

func errOwn(ref keystore.Ref) error {
	return model.BadField(fieldAuth, "%s is a key or a password of the console, which goes to no address of a job: give a secret of the receiver", ref.Label())
}

// minToken is the least number of characters of a part of a path that counts as a token.
const minToken = 20

// minQueryToken is the same for values in a query.
const minQueryToken = 8

// deliverySecrets are the parts of a job's addresses that may be credentials of their owner: values in
// the query and long parts of the path. A login in an address is refused.
func deliverySecrets(s model.JobSettings) (out []keystore.Secret) {
	for _, address := range []string{s.Notify, s.Endpoint} {
		u, err := url.Parse(address)
		if err != nil {
			continue
		}
		for _, values := range u.Query() {
			for _, v := range values {
				if len(v) >= minQueryToken {
					out = append(out, keystore.NewSecret(v))
				}
			}
		}
		for part := range strings.SplitSeq(u.Path, "/") {
			if len(part) >= minToken {
				out = append(out, keystore.NewSecret(part))
			}
		}
	}
	return out
}

// digest identifies what a job asks for: the same inputs for the same dataset at
// the same place, whatever their order.
func digest(p model.Profile, r model.TriggerRequest) string {
	lines := make([]string, len(r.Inputs))
	for i, in := range r.Inputs {
		lines[i] = string(rows.Input(in))
	}
	slices.Sort(lines)
	head := []string{place(p), string(p.Account), r.Dataset}
	if r.Settings.Discover != "" {
		head = append(head, "discover_by="+r.Settings.Discover)
	}
	h := sha256.New()
	for _, part := range append(head, lines...) {
		h.Write([]byte(part))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// placeOf is where a call of a profile goes with a key's value.
func placeOf(p model.Profile, key keystore.Secret) model.JobPlace {
	return model.JobPlace{Service: place(p), Version: p.APIVersion, Account: string(p.Account), Key: key.Fingerprint()}
}

// place names the service of a profile.
func place(p model.Profile) string {
	if p.Local { // the embedded emulator has other addresses after each start
		return "the embedded emulator"
	}
	return p.BaseURL
}

// KeptRequests is the part of ledger.Ledger that AuthUses and SwitchAuth use.
type KeptRequests interface {
	Request(ctx context.Context, id string) ([]byte, error)
	EachRequest(ctx context.Context, take func(id string, state model.JobState, request []byte) error) error
	ReplaceRequest(ctx context.Context, id string, was, now []byte) error
}

// AuthUses are the references of the requests that the ledger keeps, newest first. It reads all requests. A damaged one
// cannot be launched again, and is left out.
func AuthUses(ctx context.Context, l KeptRequests) (out []model.AuthUse, err error) {
	err = l.EachRequest(ctx, func(id string, state model.JobState, request []byte) error {
		if ref := authOf(request); ref != "" {
			out = append(out, model.AuthUse{Ref: ref, Job: id, State: state})
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
