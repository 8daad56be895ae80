package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fetch/async"
	"zonedeck/service/emulator/state"
)

// laterTimeout bounds one asynchronous fetch, body and all. The public service takes minutes, and
// hours at its peaks; here an endless target is cut.
const laterTimeout = 10 * time.Minute

const maxHookBytes = 16 << 10

// OpenLater loads the stored asynchronous fetches and continues them. It is called once, when
// targets can be reached. Close ends them.
func (f *Fetcher) OpenLater(ctx context.Context, kept *state.Dir) error {
	s, err := async.Open(ctx, async.Config{State: kept, Now: f.conf.Now, Log: f.conf.Log, Do: f.doLater, Send: f.sendNotice})
	f.later = s
	return err
}

// Close ends the asynchronous fetches, which continue at the next start.
func (f *Fetcher) Close() {
	if f.later != nil {
		f.later.Close()
	}
}

// ServeUnblock is POST /unblocker/req?zone=, ServeSearch POST /serp/req?zone= (public
// documentation). Public clients send search pages to both, so both accept them.
func (f *Fetcher) ServeUnblock(w http.ResponseWriter, r *http.Request) { f.serveReq(w, r, atUnblock) }

// ServeSearch is POST /serp/req.
func (f *Fetcher) ServeSearch(w http.ResponseWriter, r *http.Request) { f.serveReq(w, r, atSERP) }

func (f *Fetcher) serveReq(w http.ResponseWriter, r *http.Request, at endpoint) {
	fields, err := document.Object(w, r, maxRequestBytes, f.conf.Loose)
	if err != nil {
		answer.WriteInvalid(w, err)
		return
	}
	notes := f.parameters(r, fields, func(name string, values []string) bool {
		switch {
		case name == "zone" && fields.Raw("zone") == nil && len(values) == 1:
			zone, _ := jsontext.AppendQuote(nil, values[0]) // what is not UTF-8 is replaced
			fields.Set("zone", zone)
		case name == "customer" && len(values) == 1:
			if values[0] != f.conf.Account.ID {
				fields.Refuse("customer", "is not this account")
			}
		default:
			return false
		}
		return true
	})
	f.serve(w, r, at, fields, notes)
}

func (f *Fetcher) submit(w http.ResponseWriter, r *http.Request, z account.Zone, c call, fields *document.Table, at endpoint) {
	if at != atAsync && z.Product != "unlocker" && z.Product != "serp" {
		answer.Text(w, http.StatusBadRequest, answer.BasisAsync, fmt.Sprintf("zone %q is of product %s: this endpoint is for unlocker and SERP zones", z.Name, z.Product))
		return
	}
	if refused := f.conf.Account.Admit(z.Name, answer.Caller(r), c.url.Hostname()); refused != nil {
		answer.RefuseInside(w, *refused)
		return
	}
	b, err := json.Marshal(fields)
	if err == nil {
		var id string
		id, err = f.later.Submit(async.Ask{Zone: z.Name, Endpoint: int(at), Fields: b, URL: c.url.Redacted(), Hook: c.hook})
		if err == nil {
			w.Header().Set("x-response-id", id)
			f.note(w, c)
			answer.JSON(w, http.StatusOK, answer.BasisAsync, map[string]string{"response_id": id})
			return
		}
	}
	if errors.Is(err, async.ErrFull) {
		answer.Text(w, http.StatusTooManyRequests, answer.BasisTarget, err.Error())
		return
	}
	f.conf.Log.Error("an asynchronous request was not kept", "error", err)
	answer.Text(w, http.StatusInternalServerError, answer.BasisTarget, "the request could not be kept")
}

// ServeResult is GET /response, /unblocker/get_result and /serp/get_result: 202 until the answer
// is there, then the answer that POST /request would have given (public documentation).
// Collecting is free and can be repeated.
func (f *Fetcher) ServeResult(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	id := q.Get("response_id")
	if id == "" {
		answer.WriteInvalid(w, &answer.InvalidError{Details: []string{"response_id is required"}})
		return
	}
	got, err := f.later.Collect(id, q.Get("zone"))
	switch {
	case errors.Is(err, async.ErrPending):
		answer.Text(w, http.StatusAccepted, answer.BasisAsync, "Request is pending")
		return
	case errors.Is(err, async.ErrUnknown):
		answer.Text(w, http.StatusNotFound, answer.BasisAsyncGone, "Response does not exist")
		return
	case err != nil:
		f.conf.Log.Error("a response could not be read", "error", err)
		answer.Text(w, http.StatusInternalServerError, answer.BasisTarget, "the response could not be read")
		return
	}
	defer got.Body.Close()
	h := w.Header()
	for name, vs := range got.Header {
		h[name] = vs
	}
	if h.Get("Content-Type") == "" {
		h["Content-Type"] = nil
	}
	h.Set("x-response-id", id)
	w.WriteHeader(got.Status)
	out := answer.NewPatient(w)
	if err := answer.CopyBody(out, out, got.Body); err != nil {
		f.conf.Log.Debug("an answer was cut off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// doLater makes one asynchronous fetch. Its answer may also be a refusal: the zone may have been
// deleted since it was submitted.
func (f *Fetcher) doLater(ctx context.Context, a async.Ask, to *async.Recorder) {
	fields, err := document.JSON(a.Fields)
	if err != nil {
		answer.WriteInvalid(to, err)
		return
	}
	z, c, ok := f.accept(to, endpoint(a.Endpoint), fields)
	if !ok {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, laterTimeout)
	defer cancel()
	err = f.answer(bounded, to, z, c, netip.Addr{})
	if err == nil || ctx.Err() != nil {
		return
	}
	refused := cutOff()
	if errors.Is(err, async.ErrTooLarge) || errors.Is(err, async.ErrFull) {
		refused = answer.NewRefusal(http.StatusBadGateway, "document_load_failed", err.Error(), answer.BasisTarget)
	}
	if err := to.Reset(); err != nil {
		f.conf.Log.Error("a response could not be written", "error", err)
	}
	answer.RefuseInside(to, refused)
}

// sendNotice sends a webhook directly, after checking its receiver like a target.
func (f *Fetcher) sendNotice(req *http.Request) (*http.Response, error) {
	if refused := f.conf.Route.PortRefused(req.URL.Hostname(), req.URL.Port()); refused != nil {
		return nil, *refused
	}
	exit, err := f.conf.Route.Pool.Pick(exits.Want{Direct: true})
	if err != nil {
		return nil, err
	}
	return f.conf.Route.Dialer.Transport(req.URL.Hostname(), exit).RoundTrip(req)
}
