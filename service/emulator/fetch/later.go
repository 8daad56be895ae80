package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fetch/async"
)

// laterTimeout bounds one asynchronous fetch, body and all. The public service takes
// minutes, and hours at its peaks; here a target that goes on for ever is cut.
const laterTimeout = 10 * time.Minute

// maxHookBytes bounds what a caller wants repeated in the notice.
const maxHookBytes = 16 << 10

// OpenLater loads the asynchronous fetches of a folder and goes on with them. It is
// called once, when targets can be reached; the store ends with Close.
func (f *Fetcher) OpenLater(ctx context.Context, dir string) error {
	s, err := async.Open(ctx, async.Config{Dir: dir, Now: f.conf.Now, Log: f.conf.Log, Do: f.doLater, Send: f.sendNotice})
	f.later = s
	return err
}

// Notes tells what was found broken among the asynchronous fetches.
func (f *Fetcher) Notes() []string {
	if f.later == nil {
		return nil
	}
	return f.later.Notes()
}

// Close ends what runs asynchronously; it goes on at the next start.
func (f *Fetcher) Close() {
	if f.later != nil {
		f.later.Close()
	}
}

// asyncField reads the fields that only asynchronous calls have (public
// documentation); false means that there is no such field.
func (p *parser) asyncField(name string, raw json.RawMessage) bool {
	c, bad := &p.c, p.bad
	switch name {
	case "webhook_url":
		c.hook.URL = textField(name, raw, bad)
		if u, err := url.Parse(c.hook.URL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
			bad.Add("webhook_url must be an absolute http or https address")
		}
	case "webhook_method":
		c.hook.Method = textField(name, raw, bad)
		if c.hook.Method != http.MethodGet && c.hook.Method != http.MethodPost {
			bad.Add("webhook_method must be GET or POST")
		}
	case "webhook_data":
		var b bytes.Buffer
		if json.Compact(&b, raw) != nil || b.Len() > maxHookBytes {
			bad.Add("webhook_data must be JSON of at most %d bytes", maxHookBytes)
		}
		c.hook.Payload = b.Bytes()
	case "debug": // asks the service's own staff for more; nothing to be seen of it
	case "customer":
		// Named by older clients; the key says whose request it is.
		_ = textField(name, raw, bad)
	default:
		return p.at == atSERP && p.serpField(name, raw)
	}
	return true
}

// serpField reads what POST /serp/req takes beyond that.
func (p *parser) serpField(name string, raw json.RawMessage) bool {
	c, bad := &p.c, p.bad
	switch name {
	case "brd_json":
		switch string(bytes.Trim(bytes.TrimSpace(raw), `"`)) {
		case "1", "true":
			c.form = formParsed
		case "html":
			c.form = formParsedHTML
		default:
			bad.Add("brd_json must be 1 or html")
		}
	case "query":
		p.query(raw)
	case "multi":
		if boolField(name, raw, bad) {
			bad.Add("multi is not done by this emulator: send two requests")
		}
	default:
		return false
	}
	return true
}

// query turns {"q", "hl", "gl", …} into the address of a result page.
func (p *parser) query(raw json.RawMessage) {
	var q map[string]any
	if json.Unmarshal(raw, &q) != nil || q == nil {
		p.bad.Add("query must be an object like {\"q\":\"…\"}")
		return
	}
	values := url.Values{}
	for name, v := range q {
		switch v := v.(type) {
		case string:
			values.Set(name, v)
		case float64:
			values.Set(name, strconv.FormatFloat(v, 'f', -1, 64))
		case bool:
			values.Set(name, strconv.FormatBool(v))
		default:
			p.bad.Add("query: %s must be a string, a number or true or false", strconv.QuoteToASCII(name))
		}
	}
	if values.Get("q") == "" {
		p.bad.Add("query: q is required")
	}
	u := *p.search
	u.RawQuery = values.Encode()
	p.c.setURL(u.String(), p.bad)
}

// ServeUnblock is POST /unblocker/req?zone=, ServeSearch POST /serp/req?zone= (public
// documentation). Public clients send search pages to either, so both take both.
func (f *Fetcher) ServeUnblock(w http.ResponseWriter, r *http.Request) { f.serveReq(w, r, atUnblock) }

// ServeSearch is POST /serp/req.
func (f *Fetcher) ServeSearch(w http.ResponseWriter, r *http.Request) { f.serveReq(w, r, atSERP) }

func (f *Fetcher) serveReq(w http.ResponseWriter, r *http.Request, at endpoint) {
	bad := &answer.InvalidError{}
	fields := f.bodyFields(w, r, bad)
	if fields == nil {
		answer.WriteInvalid(w, bad)
		return
	}
	var notes []string
	for name, vs := range r.URL.Query() {
		switch {
		case name == "zone" && fields["zone"] == nil && len(vs) == 1:
			fields["zone"], _ = json.Marshal(vs[0]) // a string always encodes
		case name == "customer" && len(vs) == 1:
			if vs[0] != f.conf.Account.ID {
				bad.Add("customer is not this account")
			}
		case f.conf.Loose:
			notes = append(notes, "query parameter "+name+" is ignored")
		default:
			bad.Add("query parameter %s is not allowed", name)
		}
	}
	f.serve(w, r, fields, parser{at: at, loose: f.conf.Loose, bad: bad, search: f.conf.Search}, notes)
}

// submit takes an asynchronous call and answers with its response id.
func (f *Fetcher) submit(w http.ResponseWriter, r *http.Request, z account.Zone, c call, fields map[string]json.RawMessage, at endpoint) {
	if at != atAsync && z.Product != "unlocker" && z.Product != "serp" {
		answer.Text(w, http.StatusBadRequest, answer.BasisAsync, fmt.Sprintf("zone %q is of product %s: this endpoint is for unlocker and SERP zones", z.Name, z.Product))
		return
	}
	if f.later == nil {
		answer.Text(w, http.StatusServiceUnavailable, answer.BasisAsync, "asynchronous requests are not set up")
		return
	}
	if refused := f.conf.Account.Admit(z.Name, callerOf(r), c.url.Hostname()); refused != nil {
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

// ServeResult is GET /response, /unblocker/get_result and /serp/get_result: 202 while
// the answer is not there, then the answer as POST /request would have given it (public
// documentation). Collecting is free, and can be done again.
func (f *Fetcher) ServeResult(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	id := q.Get("response_id")
	if id == "" {
		answer.WriteInvalid(w, &answer.InvalidError{Details: []string{"response_id is required"}})
		return
	}
	if f.later == nil {
		answer.Text(w, http.StatusNotFound, answer.BasisAsyncGone, "Response does not exist")
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

// doLater makes one asynchronous fetch. It was checked when it was submitted; what has
// changed since then (its zone is gone) is an answer, too.
func (f *Fetcher) doLater(ctx context.Context, a async.Ask, to *async.Recorder) {
	fields, err := parseObject(a.Fields)
	if err != nil {
		answer.WriteInvalid(to, err)
		return
	}
	z, c, ok := f.accept(to, fields, parser{at: endpoint(a.Endpoint), loose: f.conf.Loose, search: f.conf.Search})
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

// sendNotice sends a webhook out directly; its receiver is checked as a target is.
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
