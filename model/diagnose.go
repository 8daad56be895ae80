package model

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Bounds of what a diagnosis quotes.
const (
	maxQuote   = 300 // bytes of a remote text
	maxHeaders = 8
	maxFields  = 20
)

// RuleNote describes one rule of Diagnose, for help and documents.
type RuleNote struct {
	Name string
	// Class and Cause are the verdict; Class is empty for the one rule that takes
	// what a dialect says.
	Class  Class
	Cause  Cause
	Reason string
}

// DiagnosisRules lists the rules of Diagnose in the order in which they are
// tried: the first that matches decides.
func DiagnosisRules() []RuleNote {
	notes := make([]RuleNote, 0, len(rules))
	for _, r := range rules {
		notes = append(notes, RuleNote{Name: r.name, Class: r.class, Cause: r.cause, Reason: r.reason})
	}
	return notes
}

// Diagnose gives an outcome exactly one class (service.md 7) with the evidence
// it rests on and what to do next. The first rule that matches decides: of the
// operator's, then of DiagnosisRules. It is total: any status and any bytes have a
// class, and time is linear in the body. It is pure and safe for concurrent use.
func Diagnose(o Outcome, added ...UserRule) Diagnosis {
	f := newFacts(o)
	d, again := f.decided()
	for _, r := range added {
		if seen, ok := r.decides(&f); ok {
			return r.verdict(&f, seen, d)
		}
	}
	return f.handled(d, retries(d.Class, d.Cause, &f, again))
}

// decided is the verdict of the console's own rules. again says, for a network cause,
// that the same request may well succeed.
func (f *facts) decided() (d Diagnosis, again bool) {
	for _, r := range rules {
		if !r.applies(f) {
			continue
		}
		d = Diagnosis{Class: r.class, Cause: r.cause, Rule: r.name}
		if r.class == "" {
			d.Class, d.Cause = f.dialectVerdict()
		}
		d.Summary = r.summary(f)
		return d, r.transient
	}
	// Not reached: the last rule matches everything, which a test holds.
	return Diagnosis{Class: ClassOutside, Cause: CauseUnrecognised}, false
}

// handled adds the evidence and the handling to a verdict. again says that the same
// request may be sent once more.
func (f *facts) handled(d Diagnosis, again bool) Diagnosis {
	d.Evidence = append(d.Evidence, f.evidence(d.Class)...)
	d.Retry = again && !f.Unrepeatable
	if d.Retry {
		d.RetryAfter = max(f.RetryAfter, 0)
	}
	if d.Class == ClassTooFast {
		d.InARow = f.TooFastBefore + 1
		d.ByService = f.refused == http.StatusTooManyRequests || f.ServiceClass == ClassTooFast
	}
	d.Steps = steps(d, f)
	if again && !d.Retry && f.Job == "" {
		d.Steps = append(d.Steps, Step{
			Action: ActionRetry,
			Text:   "send it again by hand if that does no harm: it may have reached the target, so it is not repeated automatically",
		})
	}
	return d
}

// facts is an outcome with what follows from it, made once for all rules.
type facts struct {
	Outcome
	page page
	// refused is the status by which the service itself refused, be it the status
	// of the answer or the one reported inside a 200; 0 when it did not.
	refused int
	// target is the target's status as far as it is the target's; 0 when unknown.
	target int
	// unreadStatus is an error status in a header that the profile's dialect does not read: it
	// is not known whose it is; 0 for none.
	unreadStatus int
	// answer is the status of what came as the page: the target's, or the
	// service's 2xx when the target's is unknown.
	answer int
	// reported says that the service reported an error of its own.
	reported bool
	// answered says that an answer began: what broke, broke within it.
	answered bool
}

func newFacts(o Outcome) facts {
	f := facts{Outcome: o, page: scanPage(o.ContentType, o.BodyHead, o.More)}
	f.reported = o.ServiceCode != "" || o.ServiceText != ""
	f.target = o.TargetStatus
	switch {
	case o.ServiceStatus >= 400 && o.ServiceStatus == o.TargetStatus && !f.reported:
		// The service passed the target's status on as its own.
	case o.ServiceStatus >= 400:
		f.refused = o.ServiceStatus
	case o.Unread != "" && o.TargetStatus >= 400:
		f.unreadStatus, f.target = o.TargetStatus, 0
	case f.reported && o.TargetStatus >= 400:
		f.refused, f.target = o.TargetStatus, 0
	}
	if f.unreadStatus == 0 {
		o.TargetStatus = f.target
		f.answer = o.PageStatus()
	}
	f.answered = f.answer != 0 || f.refused != 0 || f.unreadStatus != 0
	var cookies []string
	if isSuccess(f.answer) { // another answer may have no text and yet be what it says
		cookies = o.Cookies
	}
	f.page.weigh(o.BodyHead, cookies)
	return f
}

func isSuccess(status int) bool { return status >= 200 && status < 300 }

// either reports whether the service or the target answered with the status, or one
// of them that cannot be told.
func (f *facts) either(status int) bool {
	return f.refused == status || f.target == status || f.unreadStatus == status
}

// unknown reports whether a page came without a word about the target's status.
func (f *facts) unknown() bool { return f.answer != 0 && f.TargetStatus == 0 }

// empty reports whether there is nothing to use in the body: no bytes, or
// nothing but white space, a byte order mark and characters without width.
func (f *facts) empty() bool {
	return !f.More && f.InProgress.Says == "" && !bytes.ContainsFunc(f.BodyHead, visible)
}

// visible reports whether a character of a text can be seen.
func visible(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }

// aboutPermission reports whether the service said that a permission is missing
// for the key: by its dialect, or in a 403 of the API itself, whose texts are
// about the key. The error body is not shown by the contract (service.md 7).
func (f *facts) aboutPermission() bool {
	if f.ServiceClass == ClassAccessRestricted && f.ServiceCause == CauseMissingPermission {
		return true
	}
	if f.Via.Login() || f.ServiceStatus != http.StatusForbidden {
		return false
	}
	if looksLikeHTML(f.BodyHead) {
		return false // a page that speaks of permissions may be the site's
	}
	return containsFold(f.ServiceText, "permission") || len(f.BodyHead) < 4<<10 && containsFold(string(f.BodyHead), "permission")
}

// blockedBySite reports whether the dialect reads the service's error as a
// defence of the target.
func (f *facts) blockedBySite() bool {
	return f.ServiceClass == ClassCaptcha || f.ServiceClass == ClassAccessRestricted && f.ServiceCause == CauseSiteBlock
}

func containsFold(s, lower string) bool { return strings.Contains(strings.ToLower(s), lower) }

// challengeHeader reports whether a header is there by which a defence names its
// own answer.
func (f *facts) challengeHeader() bool {
	return slices.ContainsFunc(f.HeaderEvidence, func(h string) bool {
		name, value, _ := strings.Cut(h, ":")
		return slices.Contains(challengeHeaders, strings.ToLower(strings.TrimSpace(name)+":"+strings.TrimSpace(value)))
	})
}

// ledToChallenge reports whether the answer leads to an address that a defence is
// known for, as evidence. Of a query it tells the sign alone, because the rest may
// repeat what was asked for.
func (f *facts) ledToChallenge() (evidence string, waits, ok bool) {
	status := f.target
	if status == 0 {
		status = f.ServiceStatus
	}
	if status < 300 || status > 399 {
		return "", false, false
	}
	of, at, length, ok := leadsTo(f.Location)
	if !ok {
		return "", false, false
	}
	to, _, _ := strings.Cut(f.Location, "?")
	if at > len(to) {
		to += "?…" + f.Location[at:at+length] + "…"
	}
	return fmt.Sprintf("location: %s: the address of %s", to, of.name), of.waits, true
}

// dialectVerdict is what the dialect says, brought into the form that holds for
// every diagnosis: a cause where the class has one, none where it has none.
func (f *facts) dialectVerdict() (Class, Cause) {
	causes := f.ServiceClass.Causes()
	switch {
	case slices.Contains(causes, f.ServiceCause):
		return f.ServiceClass, f.ServiceCause
	case f.ServiceClass == ClassOutside:
		return ClassOutside, CauseServiceError
	case f.ServiceClass == ClassTimeout:
		return ClassTimeout, CauseServiceTimeout
	case f.ServiceClass == ClassParsingDrift:
		return ClassParsingDrift, CauseMissingFields
	default:
		return f.ServiceClass, CauseNone
	}
}

// MayRetry reports whether trying again by itself can make sense after a failure of a class and, if it is named, a cause.
func MayRetry(class Class, cause Cause) bool {
	switch class {
	case ClassTooFast, ClassTimeout:
		return true
	case ClassOutside:
		return cause == CauseNone || cause == CauseNetwork || cause == CauseServiceError || cause == CauseTargetError
	default:
		return false
	}
}

// retries says whether trying again by itself makes sense. Refusals (401, 403,
// 407, 400) and CAPTCHAs stay what they are, so they never do.
func retries(class Class, cause Cause, f *facts, again bool) bool {
	if class != ClassOutside || !MayRetry(class, cause) {
		return MayRetry(class, cause)
	}
	switch cause {
	case CauseNetwork:
		return again
	case CauseServiceError:
		return f.refused == http.StatusBadGateway || f.refused == http.StatusServiceUnavailable
	case CauseTargetError:
		return f.target == http.StatusBadGateway || f.target == http.StatusServiceUnavailable || f.target == http.StatusGatewayTimeout
	default:
		return false
	}
}

// evidence lists what was seen, the statuses first. Every range lies within the body.
func (f *facts) evidence(class Class) []Evidence {
	var all []Evidence
	add := func(kind, text string) {
		if text != "" {
			all = append(all, Evidence{Kind: kind, Text: quote(text)})
		}
	}
	if f.ServiceStatus != 0 {
		add("service_status", statusText(f.ServiceStatus)+" from the service")
	}
	if f.TargetStatus != 0 {
		from := " from the target"
		if f.target == 0 || f.Unread != "" {
			from = " reported by the service"
		}
		add("status", statusText(f.TargetStatus)+from)
	} else if f.unknown() && f.Job == "" { // a call about a job has no target
		add("status", "the target's status is not shown")
	}
	if f.ReadBy != "" {
		add("note", "read by dialect "+f.ReadBy+"; the contract does not show it")
	}
	if f.reported {
		add("error", strings.TrimSpace("the service says: "+strings.TrimSpace(f.ServiceCode+" "+f.ServiceText)))
	}
	if f.Broke != BreakNone {
		add("error", strings.TrimSpace(fmt.Sprintf("%s (%s) %s", f.Broke, peerText(f.Peer), f.BrokeText)))
	}
	for _, o := range f.KeyObjections {
		add("note", "known here, not shown by the service: "+o)
	}
	for _, h := range f.HeaderEvidence[:min(len(f.HeaderEvidence), maxHeaders)] {
		add("header", h)
	}
	if sign, _, ok := f.ledToChallenge(); ok {
		add("header", sign)
	}
	if class == ClassCaptcha || f.page.verdict != ordinary && !f.saidByStatus() {
		all = append(all, f.pageEvidence()...)
	}
	if class == ClassParsingDrift {
		for _, name := range f.MissingFields[:min(len(f.MissingFields), maxFields)] {
			add("body", fmt.Sprintf("required field %q was not found", quote(name)))
		}
	}
	add("body", f.Undecoded)
	add("body", f.InProgress.said())
	if f.Incomplete {
		add("body", fmt.Sprintf("the body ended after %d bytes, before it was complete", f.BodySize))
	} else if f.Broke == BreakNone && isSuccess(f.answer) && f.empty() {
		add("body", fmt.Sprintf("the body is empty: %d bytes", f.BodySize))
	}
	if class == ClassTooFast && f.TooFastBefore > 0 {
		add("timing", "the "+ordinal(f.TooFastBefore+1)+" answer in a row that says too fast, by this zone for this target")
	}
	if class == ClassTooFast && f.RetryAfter > 0 {
		add("timing", fmt.Sprintf("the answer asks to wait %v", f.RetryAfter))
	}
	if class == ClassTimeout && f.Elapsed > 0 {
		add("timing", f.timing())
	}
	return all
}

// saidByStatus reports whether a page says in words no more than its status does.
func (f *facts) saidByStatus() bool {
	if !f.page.shape.byWords || isSuccess(f.answer) {
		return false
	}
	return f.refused != 0 || f.page.verdict == siteError || f.either(http.StatusForbidden) || f.either(http.StatusTooManyRequests)
}

// pageEvidence is what the page shows that speaks for its verdict, and how its text was read.
func (f *facts) pageEvidence() []Evidence {
	var all []Evidence
	charset := f.Charset
	for _, m := range f.page.marks {
		all = append(all, m.observed())
		if strings.Contains(m.name, inLanguage) { // what it says depends on how it was read
			charset = cmp.Or(charset, "utf-8")
		}
	}
	if charset != "" {
		all = append(all, Evidence{Kind: "body", Text: "the text was read as " + charset})
	}
	return all
}

func (f *facts) timing() string {
	if f.Timeout > 0 {
		return fmt.Sprintf("%v passed; the client's limit is %v", f.Elapsed.Round(time.Millisecond), f.Timeout)
	}
	return fmt.Sprintf("%v passed", f.Elapsed.Round(time.Millisecond))
}

func statusText(status int) string {
	if text := http.StatusText(status); text != "" {
		return fmt.Sprintf("%d %s", status, text)
	}
	return fmt.Sprintf("%d", status)
}

func peerText(peer string) string {
	switch peer {
	case "service":
		return "at the service"
	case "target":
		return "at the target"
	default:
		return "peer not known"
	}
}

// quote bounds a remote text.
func quote(s string) string { return Cut(s, maxQuote) }
