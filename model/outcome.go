package model

import (
	"net/http"
	"time"
)

// Breakage is where an attempt broke before there was an answer. The zero value
// is "it did not".
type Breakage string

// The ways an attempt can break.
const (
	BreakNone           Breakage = ""
	BreakDNS            Breakage = "dns"             // a name could not be resolved
	BreakConnect        Breakage = "connect"         // no connection
	BreakConnectTimeout Breakage = "connect_timeout" // no connection, or no TLS over it, in the time that these have
	BreakTLSTrust       Breakage = "tls_trust"       // a certificate was not trusted
	BreakTLS            Breakage = "tls"             // any other TLS fault
	BreakTimeout        Breakage = "timeout"         // the client's own deadline passed
	BreakReset          Breakage = "reset"           // the connection ended before the answer was complete
	BreakMalformed      Breakage = "malformed"       // the answer was not HTTP, or broke a bound
)

// Outcome is what one attempt showed, in terms of the domain: a dialect has
// already translated its headers. Diagnose classifies it.
type Outcome struct {
	Via  Via
	Zone Zone
	// URL is what was asked for, and Header what the answer's headers are, with nothing
	// secret of the request in them. Only rules that the operator added look at them.
	URL    string
	Header http.Header
	// Broke and BrokeText say where it broke and what the error said; Peer is the
	// side where it broke: "service" (API address or proxy) or "target" (through a tunnel).
	Broke     Breakage
	BrokeText string
	Peer      string
	// ServiceStatus is the HTTP status of the API, or of the CONNECT answer, or of
	// the proxy's own refusal; 0 when none was received.
	ServiceStatus int
	// TargetStatus is the target's own status; 0 when unknown, which the service's own
	// status never replaces.
	TargetStatus int
	// ServiceCode and ServiceText are the error the service itself reported (from
	// headers or from a body that is its own), or empty.
	ServiceCode string
	ServiceText string
	// ServiceClass is what the dialect knows the code to mean, or empty: a code of
	// a dialect is a profile's knowledge, not the contract's.
	ServiceClass Class
	ServiceCause Cause
	// Unanswered says that the service reports, by a code that the dialect knows, that it got nothing from the target,
	// as where its name cannot be resolved. TargetStatus is then a status that the service made up.
	Unanswered bool
	// ReadBy names the dialect by which the answer's headers were read though the
	// profile names none. Unread names the one that knows them where the profile names
	// another: TargetStatus, ServiceCode and ServiceText are then what headers say that
	// the contract does not show, and it is not known whose status it is.
	ReadBy, Unread string
	// HeaderEvidence holds "name: value" observations worth citing as evidence, those
	// of ChallengeHeaders among them.
	HeaderEvidence []string
	// Location is where a redirect leads, as the answer says it (bounded, with
	// nothing secret in it), or empty. Cookies are the names of the cookies that the
	// target sets.
	Location string
	Cookies  []string
	// ContentType is the answer's type. BodyHead is the beginning of its text in UTF-8 (at most
	// 256 KiB), or of its bytes where they are no text; More says that it goes on. BodySize is all that was received.
	ContentType string
	BodyHead    []byte
	More        bool
	BodySize    int64
	Incomplete  bool
	// Charset is the character set that the text was in, as "gbk"; "" for UTF-8. Undecoded says why bytes that
	// should be text are none: their content coding or character set could not be undone.
	Charset, Undecoded string
	// HeadMethod says that the request asked for no body, so an empty one is fine.
	HeadMethod bool
	// Unrepeatable says that the request may change something at the target (a POST,
	// say) and that it may have got there: it is never sent again unless the operator
	// says so.
	Unrepeatable bool
	// InProgress is what the service itself says of a fetch that it is still at work on.
	InProgress InProgress
	// Job says that the call was about a dataset job, and which; empty for a fetch.
	Job JobCall
	// KeyObjections are what the inventory has against the key that was sent, such as that it has expired.
	KeyObjections []string
	// RequiredFields and MissingFields are the target's required fields, when the
	// operator named any, and those that were not found.
	RequiredFields []string
	MissingFields  []string
	// RetryAfter is what the answer asked for; Elapsed and Timeout are the client's.
	RetryAfter time.Duration
	// TooFastBefore counts the answers of ClassTooFast that came from the same zone and
	// target immediately before this one.
	TooFastBefore int
	Elapsed       time.Duration
	Timeout       time.Duration
	// ProductTimeout is what the zone's product has by the profile, and Profile the name of a profile that can be given
	// another; empty for the emulator's.
	ProductTimeout time.Duration
	Profile        string
}

// InProgress is what the service says of a fetch that it is still at work on, and how its page is collected, "" where that
// is not known. Says is never empty but in the zero value, which is any other answer.
type InProgress struct{ Says, Collect string }

func (p InProgress) said() string {
	if p.Says == "" {
		return ""
	}
	return "the service says: " + p.Says
}

// PageStatus is the status of what came as the page: the target's or, where that is
// unknown, the 2xx by which the service passed the page on; 0 for none.
func (o Outcome) PageStatus() int {
	if o.TargetStatus == 0 && o.Via != ViaNative && isSuccess(o.ServiceStatus) {
		return o.ServiceStatus
	}
	return o.TargetStatus
}
