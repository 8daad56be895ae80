package model

import (
	"cmp"
	"strings"
	"time"
)

// Class is the failure class of an outcome: exactly one per outcome. The five
// between ok and outside are the operational classes of service.md 7.
type Class string

// The classes, spelled as the JSON output spells them.
const (
	ClassOK               Class = "ok"
	ClassAccessRestricted Class = "access_restricted"
	ClassTooFast          Class = "too_fast"
	ClassCaptcha          Class = "captcha"
	ClassTimeout          Class = "timeout"
	ClassParsingDrift     Class = "parsing_drift"
	ClassOutside          Class = "outside"
)

// Classes lists every class, ok first.
func Classes() []Class {
	return []Class{ClassOK, ClassAccessRestricted, ClassTooFast, ClassCaptcha, ClassTimeout, ClassParsingDrift, ClassOutside}
}

// Label is the class in words for a screen.
func (c Class) Label() string {
	switch c {
	case ClassOK:
		return "ok"
	case ClassAccessRestricted:
		return "access restricted"
	case ClassTooFast:
		return "too fast"
	case ClassCaptcha:
		return "CAPTCHA"
	case ClassTimeout:
		return "timeout"
	case ClassParsingDrift:
		return "parsing drift"
	case ClassOutside:
		return "outside the documented classes"
	default:
		return string(c)
	}
}

// ClassWord names an outcome in at most 17 cells: its class or, outside the documented
// classes, its cause. Without a class it is "no result", or that a proof saw what it was made to see.
func ClassWord(c Class, cause Cause) string {
	switch {
	case c == "" && cause == "":
		return "no result"
	case c != "" && c != ClassOutside:
		return c.Label()
	case cause != "":
		return strings.ReplaceAll(string(cause), "_", " ")
	default:
		return "outside"
	}
}

// Cause narrows a class. For ClassOutside there always is one.
type Cause string

// The causes. Those of ClassOutside come first; the rest narrow a documented class.
const (
	CauseNone           Cause = ""
	CauseKeyRejected    Cause = "key_rejected"    // 401
	CauseLoginRejected  Cause = "login_rejected"  // 407
	CauseTLSTrust       Cause = "tls_trust"       // the certificate is not trusted
	CauseNetwork        Cause = "network"         // DNS, connect, reset
	CauseTargetError    Cause = "target_error"    // the target answered 4xx or 5xx of its own
	CauseServiceError   Cause = "service_error"   // the service answered 5xx of its own
	CauseRequestRefused Cause = "request_refused" // 400, 402, 422 and other 4xx of the service: it did not accept the request
	CauseEmptyBody      Cause = "empty_body"      // success without a body
	CauseIncomplete     Cause = "incomplete"      // the body ended early
	CauseUndecodable    Cause = "undecodable"     // a page in an encoding that is not read
	CauseWaitingRoom    Cause = "waiting_room"    // the site lets visitors wait for their turn
	CauseInProgress     Cause = "in_progress"     // the service is still at work
	CauseUnrecognised   Cause = "unrecognised"    // nothing above fits

	CauseMissingPermission Cause = "missing_permission" // 403 from the service about the key
	CauseSiteBlock         Cause = "site_block"         // the target refuses: by 403, or by a page that says so
	CausePolicy            Cause = "policy"             // 403 from the service about the target
	CauseClientTimeout     Cause = "client_timeout"     // our own deadline
	CauseServiceTimeout    Cause = "service_timeout"    // the service gave up waiting
	CauseMissingFields     Cause = "missing_fields"     // required fields not found

	CauseWanted Cause = "refused_as_wanted" // a rotation's proof was to be refused, and was: no failure, so that it has no class
)

// Causes lists the causes that the class can have, in the order in which they
// are declared. ClassOutside always has one of them, ClassTimeout and
// ClassParsingDrift too; ClassAccessRestricted may have none, when the answer
// does not tell whose refusal it is; the others never have one.
func (c Class) Causes() []Cause {
	switch c {
	case ClassAccessRestricted:
		return []Cause{CauseMissingPermission, CauseSiteBlock, CausePolicy}
	case ClassTimeout:
		return []Cause{CauseClientTimeout, CauseServiceTimeout}
	case ClassParsingDrift:
		return []Cause{CauseMissingFields}
	case ClassOutside:
		return []Cause{
			CauseKeyRejected, CauseLoginRejected, CauseTLSTrust, CauseNetwork, CauseTargetError, CauseServiceError,
			CauseRequestRefused, CauseEmptyBody, CauseIncomplete, CauseUndecodable, CauseWaitingRoom, CauseInProgress, CauseUnrecognised,
		}
	default:
		return nil
	}
}

// Evidence is one observation that a diagnosis rests on.
type Evidence struct {
	// Kind is "status", "service_status", "header", "body", "error", "timing" or
	// "note", which says what the verdict as a whole rests on.
	Kind string
	// Text is what was seen, with nothing secret in it. It may hold remote bytes:
	// sanitise it before it reaches a terminal.
	Text string
	// Offset and Length locate a marker in the body, in bytes; Length 0 means the
	// evidence is not a place in the body.
	Offset int64
	Length int64
}

// NoteHeader is the header in which the emulator says what of an answer is not as it was
// asked for: another's results, a field that was let pass.
const NoteHeader = "x-emulator-note"

// Note is the text of an observation that belongs beside a good verdict too, or "".
func (e Evidence) Note() string {
	if e.Kind == "note" {
		return e.Text
	}
	text, ok := strings.CutPrefix(e.Text, NoteHeader+": ")
	if !ok || e.Kind != "header" {
		return ""
	}
	return text
}

// Action is a next step that the console can run.
type Action string

// The actions offered with a diagnosis.
const (
	ActionRetry        Action = "retry"         // send again
	ActionSlowDown     Action = "slow_down"     // lower concurrency, retry after a back-off
	ActionTryUnlocker  Action = "try_unlocker"  // same URL with an unlocker zone
	ActionTryBrowser   Action = "try_browser"   // same URL with a browser zone
	ActionOtherWay     Action = "twin"          // compare API and Native
	ActionWhatRefuses  Action = "split"         // tell the key's level, the zone and the site apart
	ActionCheckKey     Action = "check_key"     // open the key in Keys
	ActionCheckZone    Action = "check_zone"    // check zone and URL in the form
	ActionCheckLogin   Action = "check_login"   // open the credential in Proxy
	ActionTrustCA      Action = "trust_ca"      // how to trust the service's CA
	ActionRaiseTimeout Action = "raise_timeout" // longer client timeout
	ActionMakeJob      Action = "make_job"      // move heavy work to an async job
	ActionShowFields   Action = "show_fields"   // look at the missing fields
	ActionSaveSample   Action = "save_sample"   // store a sample
	ActionCheckNetwork Action = "check_network" // base URL, proxy host, network
	ActionFixRequest   Action = "fix_request"   // correct what the service refused
	ActionDialect      Action = "dialect"       // choose the dialect that knows the answer
	ActionLaunch       Action = "launch"        // launch the job again
)

// Step is one piece of handling: what to do, and the action that does it.
type Step struct {
	Action Action
	Text   string
	// Documented says that service.md 7 recommends it; otherwise it is our advice.
	Documented bool
	// Timeout is what ActionRaiseTimeout gives the product in the profile; 0 where the request alone can be changed.
	Timeout time.Duration
}

// Diagnosis is the verdict over one outcome.
type Diagnosis struct {
	Class Class
	Cause Cause
	// Summary is one sentence in the operator's language.
	Summary string
	// Rule is the name of the rule that decided, for tests and for --json.
	Rule     string
	Evidence []Evidence
	Steps    []Step
	// Retry says that trying again by itself makes sense for this class; RetryAfter
	// is what the answer asked for, 0 when it did not.
	Retry      bool
	RetryAfter time.Duration
	// InARow counts, for ClassTooFast, the answers of this kind that came from the same
	// zone and target with no other between them, this one included.
	InARow int
	// ByService says, for ClassTooFast, that the service itself said it, and not the target.
	ByService bool
}

// wanted is the diagnosis of a refusal that a call was made to see.
func (d Diagnosis) wanted(summary string) Diagnosis {
	return Diagnosis{Cause: CauseWanted, Summary: summary, Rule: d.Rule, Evidence: d.Evidence}
}

// The bounds of Pause.
const (
	firstPause   = 5 * time.Second // the longest of the example delays in service.md 8
	longestPause = 5 * time.Minute
)

// Pause is how long "slow down" waits: as long as the answer asks for, else five seconds,
// twice as long with every answer in a row that said too fast; at most five minutes, and never
// shorter than the answer asks for.
func (d Diagnosis) Pause() time.Duration {
	pause := cmp.Or(d.RetryAfter, firstPause)
	for n := 1; n < d.InARow && pause < longestPause; n++ {
		pause *= 2
	}
	return max(min(pause, longestPause), d.RetryAfter)
}

// Repeated says in a few words that the pause has grown because an answer said too fast
// again, as " (second too fast in a row)"; empty for the first.
func (d Diagnosis) Repeated() string {
	if d.InARow < 2 {
		return ""
	}
	return " (" + ordinal(d.InARow) + " too fast in a row)"
}

// OK reports success.
func (d Diagnosis) OK() bool { return d.Class == ClassOK }

// Next is what to do about it, as the end of a line: " · next: …"; "" for nothing.
func (d Diagnosis) Next() string {
	if len(d.Steps) == 0 {
		return ""
	}
	texts := make([]string, len(d.Steps))
	for i, s := range d.Steps {
		texts[i] = s.Text
	}
	return " · next: " + strings.Join(texts, "; ")
}
