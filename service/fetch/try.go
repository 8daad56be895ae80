package fetch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/bodytext"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/fields"
	"zonedeck/service/pace"
)

// try is what one attempt showed.
type try struct {
	outcome     model.Outcome
	header      http.Header
	proxyHeader http.Header
	connect     int // the status of the proxy's answer to CONNECT, 0 without one
	connectHead []string
	body        exchange.Received
	fields      []model.Field
	page        []byte // in which they were looked for
	exit        string
	timing      model.Timing
	chain       model.Chain
	phases      []model.Phase
	kind        string             // the type of the body where it is not the outcome's
	held        *pace.TooFastError // why it was not sent
	resent      int                // how often net/http itself sent it before, on kept connections that died
}

// outcomeOf begins the outcome of an attempt.
func (f *flight) outcomeOf() model.Outcome {
	o := model.Outcome{
		Via: f.r.Via, Zone: f.r.Zone, Timeout: f.timeout, ProductTimeout: exchange.Timeout(f.p, f.r.Zone.Product),
		HeadMethod: strings.EqualFold(f.r.Method, http.MethodHead),
	}
	if f.key.Name != "" {
		o.KeyObjections = keystore.Objections(f.key, f.ft.cfg.Now(), model.CapUse)
	}
	if !f.p.Local && f.p.Name != config.FlagsName {
		o.Profile = f.p.Name
	}
	return o
}

// unrepeatable says that the request may change something at the target and that
// bytes of it may have left: only then is a second try the operator's decision.
func (f *flight) unrepeatable(tr *exchange.Trace) bool {
	switch strings.ToUpper(f.r.Method) {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	default:
		return tr.Sent()
	}
}

// headerText bounds a header that is cited, in bytes.
const headerText = 200

// The bounds on what of a target's headers a diagnosis sees, in bytes but for the
// number of cookies.
const (
	locationText = 512
	cookieNames  = 64
	cookieText   = 64
)

// citeTarget adds what a target's headers say of a bot defence: those by which it
// names its own answer, where a redirect leads, and the names of the cookies.
func citeTarget(o *model.Outcome, h http.Header) {
	for _, name := range model.ChallengeHeaders() {
		if v := h.Get(name); v != "" {
			o.HeaderEvidence = append(o.HeaderEvidence, name+": "+model.Line(v, headerText))
		}
	}
	o.Location, o.Cookies = model.Line(h.Get("Location"), locationText), nil
	set := h.Values("Set-Cookie")
	for _, c := range set[:min(len(set), cookieNames)] {
		name, _, _ := strings.Cut(c, "=")
		o.Cookies = append(o.Cookies, model.Line(name, cookieText))
	}
}

// broken fills an outcome from an exchange that broke. It returns every other error:
// the caller's cancellation, a request that cannot be sent.
func broken(o *model.Outcome, mask exchange.Mask, tr *exchange.Trace, err error) error {
	var ce *exchange.Error
	if !errors.As(err, &ce) {
		return err
	}
	o.Broke, o.BrokeText, o.Peer = ce.Broke, mask.Text(ce.Error()), ce.Peer
	o.Elapsed = tr.Timing().Total
	return nil
}

// read fills an outcome from what a dialect read in an answer's headers.
func read(o *model.Outcome, r dialect.Reading) {
	o.TargetStatus = r.TargetStatus
	if o.ServiceCode == "" && o.ServiceText == "" {
		o.ServiceCode, o.ServiceText = r.Code, r.Text
		o.ServiceClass, o.ServiceCause, o.Unanswered = r.Class, r.Cause, r.Unanswered
	}
	o.ReadBy, o.Unread = cmp.Or(o.ReadBy, r.ReadBy), cmp.Or(o.Unread, r.Unread)
	o.RetryAfter = max(o.RetryAfter, r.RetryAfter)
	o.HeaderEvidence = append(o.HeaderEvidence, r.Evidence...)
}

// tryAPI is one attempt by API Access (service.md 4.1).
func (f *flight) tryAPI(ctx context.Context, now model.Attempt) (try, error) {
	body, err := f.d.Request(f.written(f.r))
	if err != nil {
		return try{}, err
	}
	t := try{outcome: f.outcomeOf()}
	resp, tr, err := f.wire.API(ctx, exchange.Call{
		Profile: f.p, KeyName: f.key.Name, Key: f.secret,
		Method: http.MethodPost, Path: dialect.RequestPath, Body: body,
	})
	t.outcome.Unrepeatable, t.chain, t.resent = f.unrepeatable(tr), f.maskedChain(tr.Handshake()), tr.Resent()
	if err != nil {
		t.timing = tr.Timing()
		return t, broken(&t.outcome, f.mask, tr, err)
	}
	defer resp.Body.Close()
	o := &t.outcome
	t.header = f.mask.Header(resp.Header)
	o.ServiceStatus, o.ContentType = resp.StatusCode, resp.Header.Get("Content-Type")
	reading := f.d.ReadHeader(resp.Header, f.ft.cfg.Now())
	if reading.Unread != "" && reading.TargetStatus == 0 {
		reading.TargetStatus = reading.Received
	}
	read(o, reading)
	citeTarget(o, t.header)
	t.exit = reading.Exit
	t.body = f.receive(resp, now)
	t.readText()
	f.ended(ctx, &t, tr)
	if good := o.ServiceStatus >= 200 && o.ServiceStatus <= 299; !good && o.ServiceText == "" && o.TargetStatus != o.ServiceStatus {
		o.ServiceText = dialect.ErrorText(o.ContentType, o.BodyHead)
	}
	if !o.More {
		o.InProgress = f.d.InProgress(o.ServiceStatus, resp.Header, reading, o.BodyHead)
	}
	if f.r.Format == model.FormatJSON && o.InProgress.Says == "" && o.ServiceStatus == http.StatusOK && !t.body.Ref.Cut && t.body.Ref.Size > 0 {
		f.unwrap(&t)
	}
	f.finish(&t)
	return t, nil
}

// receive reads the body of an answer and reports its progress.
func (f *flight) receive(resp *http.Response, now model.Attempt) exchange.Received {
	f.on(Event{Phase: PhaseReceiving, Attempt: now})
	s := f.sink()
	if f.bodyCap > 0 {
		s.LimitTo(f.bodyCap)
	}
	masked := f.mask.Reader(resp.Body)
	got := exchange.Receive(s, masked, func(n int64) {
		f.on(Event{Phase: PhaseReceiving, Attempt: now, Bytes: n})
	})
	switch {
	case masked.GaveUp:
		got.Ref.Cut = true
		got.Note("error", "everything after some point is replaced by asterisks: the answer is crafted to be slow to search for secrets")
	case masked.Found:
		got.Note("body", "the answer repeated a secret of the request; it was masked with asterisks")
	}
	return got
}

// sink takes a body of the fetch.
func (f *flight) sink() *exchange.Sink {
	bodies := f.ft.cfg.Bodies
	return bodies.Sink(cmp.Or(f.r.BodyFile, bodies.Path(f.id)))
}

// ended completes timing and outcome once the body was read, or broke off.
func (f *flight) ended(ctx context.Context, t *try, tr *exchange.Trace) {
	tr.Done()
	t.timing = tr.Timing()
	o := &t.outcome
	o.Elapsed, o.Incomplete = t.timing.Total, t.body.Ref.Incomplete
	if t.body.Err == nil {
		return
	}
	o.BrokeText = f.mask.Text(t.body.Err.Error())
	if errors.Is(context.Cause(ctx), exchange.ErrTimeout) {
		o.Broke, o.BrokeText, o.Peer = model.BreakTimeout, exchange.ErrTimeout.Error(), exchange.PeerService
	}
	t.body.Note("error", "the body ended early after %d bytes: %s", t.body.Ref.Size, o.BrokeText)
}

// unwrap replaces the answer to format "json" by the page that it holds. An
// answer of another shape stays as it is.
func (f *flight) unwrap(t *try) {
	src, err := exchange.OpenBody(t.body.Ref)
	if err != nil {
		t.body.Note("error", "the answer could not be read back: %v", err)
		return
	}
	defer src.Close()
	sink := f.sink()
	w, err := dialect.Unwrap(src, sink)
	page, disk := sink.Finish()
	if err = cmp.Or(disk, err); err != nil {
		page.Discard()
		t.body.Note("error", "format json: %v; the answer is shown as it came", err)
		return
	}
	t.body.Discard()
	page.Ref.Incomplete, page.Err, page.Notes = t.body.Ref.Incomplete, t.body.Err, t.body.Notes
	t.body = page
	t.readText()
	if w.StatusCode != 0 {
		t.outcome.TargetStatus = w.StatusCode
	}
	if w.Header == nil {
		return
	}
	t.outcome.ContentType = w.Header.Get("Content-Type")
	t.readText()
	citeTarget(&t.outcome, w.Header)
	t.outcome.RetryAfter = max(t.outcome.RetryAfter, dialect.RetryAfter(w.Header, f.ft.cfg.Now()))
	for name, values := range t.header { // the service's headers stay visible
		if _, ok := w.Header[name]; !ok && strings.HasPrefix(name, "X-") {
			w.Header[name] = values
		}
	}
	t.header = w.Header
}

// tryNative is one attempt by Native Access (service.md 5.2).
func (f *flight) tryNative(ctx context.Context, now model.Attempt) (try, error) {
	t := try{outcome: f.outcomeOf()}
	resp, tun, tr, err := f.wire.Native(ctx, f.p, f.login, f.d.Outgoing(f.written(f.r)))
	o := &t.outcome
	o.Unrepeatable, t.chain, t.resent = f.unrepeatable(tr), f.maskedChain(tr.Handshake()), tr.Resent()
	t.proxyHeader, t.connect = f.mask.Header(tun.Header), tun.Status
	t.connectHead = headLines(string(f.mask.Bytes(tun.Head)))
	f.mask.Bytes(tun.Body)
	t.exit = f.readTunnel(o, tun)
	if err != nil {
		t.timing = tr.Timing()
		o.Elapsed = t.timing.Total
		if errors.Is(err, exchange.ErrRefused) {
			return t, nil
		}
		return t, broken(o, f.mask, tr, err)
	}
	defer resp.Body.Close()
	t.header = f.mask.Header(resp.Header)
	direct, readHeader := f.endToEnd(tun), f.d.ReadHeader
	if direct { // no header in there comes from the service
		readHeader = dialect.ReadShown
	}
	reading := readHeader(resp.Header, f.ft.cfg.Now())
	if reading.TargetStatus == 0 && !reading.Failed() { // the status is the answer's own, and no header tells it
		reading.Unread = ""
	}
	read(o, reading)
	citeTarget(o, t.header)
	if reading.Exit != "" {
		t.exit = reading.Exit
	}
	o.ContentType = resp.Header.Get("Content-Type")
	byProxy := !direct && (resp.StatusCode == http.StatusProxyAuthRequired || reading.Failed())
	switch {
	case byProxy:
		if o.ServiceStatus = resp.StatusCode; tun.Status == 0 { // otherwise CONNECT had its own answer
			t.connect, t.proxyHeader = resp.StatusCode, t.header
		}
	case o.TargetStatus == 0:
		o.TargetStatus = resp.StatusCode
	}
	t.body = f.receive(resp, now)
	t.readText()
	f.ended(ctx, &t, tr)
	if byProxy && o.ServiceText == "" {
		o.ServiceText = dialect.ErrorText(o.ContentType, o.BodyHead)
	}
	if !f.p.Verify && tun.Status != 0 {
		t.body.Note("error", "certificate checks are off for this profile (verify = false): the target's certificate was not verified")
	}
	f.finish(&t)
	return t, nil
}

// The bounds of an answer to CONNECT as it is shown: lines, and bytes of one.
const (
	headLineCount = 64
	headLineText  = 1000
)

// headLines are the lines of an answer's head, each made printable.
func headLines(head string) []string {
	var out []string
	for line := range strings.Lines(strings.TrimRight(head, "\r\n")) {
		if len(out) == headLineCount {
			return append(out, "…")
		}
		out = append(out, model.Line(line, headLineText))
	}
	return out
}

// maskedChain masks what a peer wrote into its certificates.
func (f *flight) maskedChain(chain model.Chain) model.Chain {
	for i, c := range chain.Certificates {
		chain.Certificates[i].Subject, chain.Certificates[i].Issuer = f.mask.Text(c.Subject), f.mask.Text(c.Issuer)
		for n, name := range c.Names {
			c.Names[n] = f.mask.Text(name)
		}
	}
	chain.UntrustedReason = f.mask.Text(chain.UntrustedReason)
	return chain
}

// endToEnd reports whether what came through the tunnel is the target's alone: the
// service looks into the tunnels of zones that need its CA (service.md 5.2 rule 3)
// and, as far as is known, into those of its products beyond the networks. A target
// whose headers were taken for the service's could choose its verdict.
func (f *flight) endToEnd(tun exchange.Tunnel) bool {
	z := f.r.Zone
	return tun.Status != 0 && z.Product.Network() && !z.NeedsCA()
}

// readTunnel fills an outcome from the proxy's answer to CONNECT, if there was one, and gives the
// exit it names.
func (f *flight) readTunnel(o *model.Outcome, tun exchange.Tunnel) string {
	o.ServiceStatus = tun.Status
	reading := f.d.ReadHeader(tun.Header, f.ft.cfg.Now())
	if !tun.Refused() { // an open tunnel is not an error, whatever its headers say
		reading.Code, reading.Text, reading.Class, reading.Cause, reading.TargetStatus = "", "", "", "", 0
		reading.RetryAfter, reading.Unread = 0, ""
	}
	read(o, reading)
	if tun.Refused() && o.ServiceText == "" {
		o.ServiceText = dialect.ErrorText(tun.Header.Get("Content-Type"), tun.Body)
	}
	return reading.Exit
}

// fieldBytes bounds the bodies that required fields are looked for in.
const fieldBytes = 8 << 20

// readText gives the outcome the text of the body.
func (t *try) readText() {
	o := &t.outcome
	c := bodytext.Detect(o.ContentType, t.body.Head)
	o.BodyHead, o.BodySize, o.Charset, o.Undecoded = c.Text(t.body.Head), t.body.Ref.Size, c.Name, ""
	t.body.Ref.Charset = o.Charset
	o.More = o.BodySize > int64(len(t.body.Head)) || len(o.BodyHead) > bodytext.MaxHead-utf8.UTFMax
	switch {
	case t.body.Coding != nil:
		o.Undecoded = t.body.Coding.Error()
	case c.Unreadable != "":
		o.Undecoded = "the body could not be read as text: " + c.Unreadable
	}
}

// finish looks for the required fields in a page that came.
func (f *flight) finish(t *try) {
	o := &t.outcome
	if status := o.PageStatus(); len(f.r.Required) == 0 || status < 200 || status > 299 || t.body.Ref.Size == 0 || o.Undecoded != "" {
		return
	}
	if t.body.Ref.Size > fieldBytes { // half a page would show fields as missing that are not
		t.body.Note("note", "the required fields were not looked for: the body is larger than %d bytes", fieldBytes)
		return
	}
	src, err := exchange.OpenText(t.body.Ref)
	if err != nil {
		t.body.Note("note", "the required fields were not looked for: %v", err)
		return
	}
	defer src.Close()
	body, err := io.ReadAll(src)
	if err == nil {
		t.page = body
		t.fields, err = fields.Find(o.ContentType, body, f.r.Required)
	}
	if err != nil {
		t.body.Note("note", "the required fields were not looked for: %v", err)
		return
	}
	o.RequiredFields, o.MissingFields = f.r.Required, model.MissingFields(t.fields)
}
