package fetch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fetch/async"
	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/serp"
	"zonedeck/service/emulator/state"
)

// maxNote bounds the note, in bytes: a body of a few megabytes can have as many unknown names.
const maxNote = 4 << 10

// ServeRequest is POST /request (service.md 4.1), and with ?async=true its asynchronous
// form (public documentation).
func (f *Fetcher) ServeRequest(w http.ResponseWriter, r *http.Request) {
	fields, err := document.Object(w, r, maxRequestBytes, f.conf.Loose)
	if err != nil {
		answer.WriteInvalid(w, err)
		return
	}
	at := requestEndpoint(r.URL.Query(), fields)
	f.serve(w, r, at, fields, f.parameters(r, fields, func(name string, _ []string) bool { return name == "async" }))
}

// parameters calls take for each query parameter. It refuses those that take leaves; a loose
// service notes them.
func (f *Fetcher) parameters(r *http.Request, fields *document.Table, take func(name string, values []string) bool) (notes []string) {
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case take(name, query[name]):
		case f.conf.Loose:
			notes = append(notes, "query parameter "+name+" is ignored")
		default:
			fields.Refuse("", "query parameter %s is not allowed", name)
		}
	}
	return notes
}

// ServeGet is GET /request: the same fields as query parameters (public
// documentation); headers is a JSON object there.
func (f *Fetcher) ServeGet(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	fields := queryFields(query)
	if err != nil {
		fields.Refuse("query", "could not be read")
	}
	f.serve(w, r, requestEndpoint(query, fields), fields, nil)
}

func requestEndpoint(query url.Values, fields *document.Table) endpoint {
	v := query.Get("async")
	switch {
	case !query.Has("async"), v == "false", v == "0":
	case v == "true", v == "1", v == "":
		return atAsync
	default:
		fields.Refuse("async", "must be true or false")
	}
	return atRequest
}

func queryFields(query url.Values) *document.Table {
	fields := document.Fields(map[string]jsontext.Value{})
	for name, vs := range query {
		if len(vs) > 1 {
			fields.Refuse(name, "is given more than once")
		}
		v := jsontext.Value(vs[0])
		switch name {
		case "async": // which was read before
			continue
		case "headers", "direct", "render", "multi", "debug":
			if !v.IsValid() {
				fields.Refuse(name, "is not valid JSON")
				continue
			}
		default:
			v, _ = jsontext.AppendQuote(nil, vs[0]) // what is not UTF-8 is replaced
		}
		fields.Set(name, v)
	}
	return fields
}

// serve answers one call, or queues an asynchronous one.
func (f *Fetcher) serve(w http.ResponseWriter, r *http.Request, at endpoint, fields *document.Table, notes []string) {
	z, c, ok := f.accept(w, at, fields)
	if !ok {
		return
	}
	record.FromContext(r.Context()).Set(func(e *record.Entry) { e.Zone, e.Target = z.Name, c.url.String() })
	c.notes = append(notes, c.notes...)
	switch mode := f.conf.Async(z); {
	case at.async() && mode == AsyncOff:
		answer.Text(w, http.StatusBadRequest, answer.BasisAsync, fmt.Sprintf("zone %q does not take asynchronous requests", z.Name))
		return
	case !at.async() && mode == AsyncOnly:
		answer.Text(w, http.StatusBadRequest, answer.BasisAsync, fmt.Sprintf("zone %q takes asynchronous requests only", z.Name))
		return
	case at.async():
		f.submit(w, r, z, c, fields, at)
		return
	}
	if err := f.answer(r.Context(), w, z, c, answer.Caller(r)); err != nil {
		f.conf.Log.Debug("an answer was cut off", "error", err)
		panic(http.ErrAbortHandler) // so that the client sees the cut
	}
}

// accept checks a call and finds its zone; where it returns false, it has answered.
func (f *Fetcher) accept(w http.ResponseWriter, at endpoint, fields *document.Table) (account.Zone, call, bool) {
	z, unknown := f.conf.Account.Zone(fields.Peek("zone"))
	p := parser{endpoint: at, loose: f.conf.Loose, product: z.Product, Table: fields}
	c, err := p.parse()
	switch {
	case err != nil:
	case c.zone == "":
		answer.Text(w, http.StatusBadRequest, answer.BasisZone, "Missing zone parameter")
		return account.Zone{}, call{}, false
	case unknown != nil:
		answer.Text(w, http.StatusBadRequest, answer.BasisZone, fmt.Sprintf("zone %q not found", c.zone))
		return account.Zone{}, call{}, false
	default:
		err = f.complete(z, &c)
	}
	switch {
	case err == nil:
		f.standFor(&c)
		return z, c, true
	case errors.Is(err, serp.ErrNoJSON):
		answer.Text(w, http.StatusBadRequest, answer.BasisSearch, serp.ErrNoJSON.Error())
	default:
		answer.WriteInvalid(w, err)
	}
	return account.Zone{}, call{}, false
}

// answer fetches a page and writes the answer. An error means that the answer was cut
// off halfway; what went wrong before that has been answered.
func (f *Fetcher) answer(ctx context.Context, w http.ResponseWriter, z account.Zone, c call, caller netip.Addr) error {
	h := w.Header()
	f.note(w, c)
	t, err := f.begin(z, c, caller)
	if err != nil {
		if bad := flagRefused(err); bad != nil {
			answer.WriteInvalid(w, bad)
		} else {
			answer.RefuseInside(w, route.RefusalOf(err))
		}
		return nil
	}
	resp, err := t.get(ctx)
	if err == nil {
		resp, err = t.shape(resp)
	}
	t.end(resp, err) // before the client knows of it
	if err != nil {
		f.conf.Route.Describe(h, t.firstHost(), t.exit, c.flags, t.id)
		answer.RefuseInside(w, route.RefusalOf(err))
		return nil
	}
	defer resp.Body.Close()
	f.conf.Route.Describe(h, t.firstHost(), t.exit, c.flags, t.id)
	h.Set("x-brd-status-code", strconv.Itoa(resp.StatusCode))
	h.Set(answer.BasisHeader, basisOf(z.Product, c))
	if c.format == "json" {
		return answerWrapped(w, resp, c.form == formScreenshot)
	}
	return answerRaw(w, resp)
}

// note says what a loose service let pass.
func (f *Fetcher) note(w http.ResponseWriter, c call) {
	if len(c.notes) > 0 {
		text := answer.HeaderText(strings.Join(c.notes, "; "))
		if len(text) > maxNote {
			text = text[:maxNote] + "..."
		}
		w.Header().Set(answer.NoteHeader, text)
	}
}

// basisOf says what a page by the product rests on.
func basisOf(product string, c call) string {
	switch {
	case c.labPage != nil:
		return answer.BasisStandIn
	case isParsed(c.form):
		return answer.BasisSearch
	}
	return cmp.Or(products[product].basis, answer.BasisOtherPage)
}

// laterTimeout bounds one asynchronous fetch, body and all. The public service takes minutes, and
// hours at its peaks; here an endless target is cut.
const laterTimeout = 10 * time.Minute

const maxWebhookBytes = 16 << 10

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
		id, err = f.later.Submit(async.Ask{Zone: z.Name, Endpoint: int(at), Fields: b, URL: c.url.Redacted(), Webhook: c.webhook})
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
		answer.WriteInvalid(w, answer.Invalid("response_id is required"))
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
