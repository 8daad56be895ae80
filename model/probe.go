package model

import (
	"fmt"
	"net/url"
	"time"
)

// ProbeResult is what a test of a proxy login found. Its texts are masked and bounded.
type ProbeResult struct {
	Zone Zone
	// Proves is FetchResult's; WantsRefusal says that it is the refusal which it is made to see.
	Proves       string
	WantsRefusal bool
	Username     string // without the password
	Proxy        string // host:port that was used
	Target       string
	Started      time.Time
	// ConnectStatus and ConnectHeader are the proxy's own answer; ConnectHead is its status
	// line and header as they came, a line each.
	ConnectStatus int
	ConnectHeader map[string][]string
	ConnectHead   []string
	// Code is the error that the proxy named, and Reason what it means in words, as far as
	// a dialect knows it.
	Code, Reason string
	// Chain is what the target, or the proxy in its place, presented in the TLS handshake.
	Chain        Chain
	TargetStatus int
	// Exits are the exit addresses seen, one per round; Sticky says whether the
	// rounds within one session kept theirs, when that was tried.
	Exits     []string
	Sticky    bool
	StickyRun bool
	// Country is where the page or the proxy says the exit is, or empty.
	Country   string
	Timing    Timing
	Diagnosis Diagnosis
	Spend     Spend // of all calls
}

// AsProof is the result as it reads in the history; see FetchResult.AsProof.
func (r ProbeResult) AsProof() ProbeResult {
	if r.WantsRefusal && r.Diagnosis.Cause == CauseLoginRejected {
		r.Diagnosis = r.Diagnosis.wanted("The login is refused, as this proof expects.")
	}
	return r
}

// ProbeState says how far a step of a test came.
type ProbeState string

// The states of a step. A step that was not measured is never done.
const (
	ProbeDone       ProbeState = "done"
	ProbeFailed     ProbeState = "failed"
	ProbeNotReached ProbeState = "not_reached"
	ProbeNotNeeded  ProbeState = "not_needed"
)

// ProbeStep is one step of a test, in the order in which they are taken.
type ProbeStep struct {
	Name     string // "connect", "CONNECT", "TLS", "request"
	State    ProbeState
	Duration time.Duration // negative when it was not measured
	Text     string
}

// Steps are the connection to the proxy, CONNECT, the TLS handshake and the request, each as
// far as the first call, or the one that failed, came.
func (r ProbeResult) Steps() []ProbeStep {
	u, err := url.Parse(r.Target)
	plain := err == nil && u.Scheme == "http"
	opened := r.ConnectStatus >= 200 && r.ConnectStatus <= 299
	connected := r.Timing.Connect >= 0 || r.ConnectStatus != 0 || r.TargetStatus != 0
	secured := r.Timing.TLS >= 0
	steps := []ProbeStep{
		{Name: "connect", State: reached(true, connected), Duration: r.Timing.Connect, Text: "TCP to " + r.Proxy},
		{Name: "CONNECT", State: reached(connected, opened), Duration: r.Timing.ProxyConnect},
		{Name: "TLS", State: reached(opened, secured), Duration: r.Timing.TLS},
		{Name: "request", State: reached(secured, r.TargetStatus != 0), Duration: r.Timing.FirstByte},
	}
	if plain {
		steps[1].State, steps[2].State = ProbeNotNeeded, ProbeNotNeeded
		steps[3].State = reached(connected, r.TargetStatus != 0)
		steps[1].Text, steps[2].Text = "an http page is asked for without a tunnel", "an http page has none"
		if r.ConnectStatus != 0 { // the proxy refused the request itself
			steps[3].Text = fmt.Sprintf("refused by the proxy: %d", r.ConnectStatus)
		}
	} else if r.ConnectStatus != 0 {
		steps[1].Text = fmt.Sprint(r.ConnectStatus)
		if len(r.ConnectHead) > 0 {
			steps[1].Text = r.ConnectHead[0]
		}
	}
	if !plain {
		steps[2].Text = r.chainText(steps[2].State)
	}
	if r.TargetStatus != 0 {
		steps[3].Text = fmt.Sprintf("%d from the target", r.TargetStatus)
	}
	return steps
}

func reached(before, done bool) ProbeState {
	switch {
	case done:
		return ProbeDone
	case before:
		return ProbeFailed
	default:
		return ProbeNotReached
	}
}

// chainText says what was presented and what became of it.
func (r ProbeResult) chainText(s ProbeState) string {
	certs := r.Chain.Certificates
	switch {
	case s == ProbeNotReached:
		return ""
	case len(certs) == 0:
		return "no certificate was seen"
	}
	text := fmt.Sprintf("chain of %d, signed by %s", len(certs), certs[len(certs)-1].IssuerName())
	switch {
	case r.Chain.Unchecked:
		return text + ", not checked (verify = false)"
	case s != ProbeDone:
		return text + ", not accepted"
	case r.Chain.Trust == TrustFile:
		return text + ", trusted by the profile's CA file"
	case r.Chain.Trust == TrustSystem:
		return text + ", trusted by the system"
	default:
		return text + ", accepted"
	}
}
