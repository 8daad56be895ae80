package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// steps is the handling of a diagnosis. What service.md 7 recommends is marked
// Documented; the rest is our advice. Texts are complete by themselves, and a
// step that cannot help (an unlocker zone where one is in use) is left out.
func steps(d Diagnosis, f *facts) []Step {
	var out []Step
	switch {
	case d.Class == ClassOK:
		return nil
	case f.Job != "":
		out = jobSteps(d, f)
	default:
		out = fetchSteps(d, f)
	}
	if f.Unread != "" {
		out = append(out, Step{Action: ActionDialect, Text: "choose the dialect " + f.Unread + " for this profile: it knows headers of this answer"})
	}
	if d.Retry {
		out = append(out, retryStep(d))
	}
	return out
}

// jobSteps are for a call about a job, which has neither a zone nor a product.
func jobSteps(d Diagnosis, f *facts) []Step {
	var out []Step
	switch d.Class {
	case ClassAccessRestricted:
		out = []Step{
			{Action: ActionCheckKey, Text: "check that the key's level permits this call", Documented: true},
			{Action: ActionFixRequest, Text: "check the dataset and the URLs of the inputs", Documented: true},
		}
	case ClassTooFast:
		out = []Step{{Action: ActionSlowDown, Text: "lower the concurrency and back off", Documented: true}}
	case ClassTimeout:
		if f.Broke == BreakConnectTimeout {
			out = connectSteps(f)
		}
	case ClassOutside:
		switch d.Cause {
		case CauseKeyRejected, CauseTLSTrust, CauseNetwork:
			out = outsideSteps(d.Cause, f)
		case CauseRequestRefused:
			out = []Step{{Action: ActionFixRequest, Text: "correct what the service names in its answer"}}
			if f.Job == CallTrigger && f.Unrepeatable { // it is not known to be a refusal
				out = nil
			}
		case CauseIncomplete:
			if !f.Unrepeatable {
				out = []Step{{Action: ActionRetry, Text: "ask again: the answer is not complete"}}
			}
		}
	case ClassCaptcha:
		out = []Step{{Action: ActionCheckNetwork, Text: "check what answers at the base URL: the service's API has no such page"}}
	}
	if f.Unrepeatable {
		return append(out, begunAlready(f.Job))
	}
	if len(out) == 0 && !d.Retry {
		out = []Step{{Action: ActionRetry, Text: "ask again later"}}
	}
	return out
}

// begunAlready is the handling of a call that may have begun a job or a preview, which may be billed.
func begunAlready(call JobCall) Step {
	if call == CallPreview {
		return Step{Action: ActionRetry, Text: "ask for another preview only if it is worth paying twice: this one may be billed, and public sources do not show what a preview costs"}
	}
	return Step{Action: ActionRetry, Text: "look for the job in the service's list before you launch it again: it may have started"}
}

// fetchSteps are for a fetch.
func fetchSteps(d Diagnosis, f *facts) []Step {
	var out []Step
	switch d.Class {
	case ClassAccessRestricted:
		out = restrictedSteps(d.Cause, f)
	case ClassTooFast:
		out = []Step{{Action: ActionSlowDown, Text: "lower the concurrency and back off" + growing(d), Documented: true}}
	case ClassCaptcha:
		out = append(productSteps(f, "use a product made for protected pages"),
			Step{Action: ActionSlowDown, Text: "slow down", Documented: true},
			Step{Action: ActionOtherWay, Text: "compare API and Native for this URL"})
	case ClassTimeout:
		if f.Broke == BreakConnectTimeout {
			return connectSteps(f)
		}
		out = []Step{
			raiseTimeout(f),
			{Action: ActionMakeJob, Text: "move heavy work to an async job", Documented: true},
		}
	case ClassParsingDrift:
		if len(f.MissingFields) > 0 {
			out = []Step{{Action: ActionShowFields, Text: "look at the fields that are missing: " + fieldList(f.MissingFields), Documented: true}}
		}
		out = append(out, Step{Action: ActionSaveSample, Text: "store this page as a sample to compare with", Documented: true})
	default:
		out = outsideSteps(d.Cause, f)
	}
	return out
}

// raiseTimeout is about the timeout that ended the attempt: the request's own, or the product's.
func raiseTimeout(f *facts) Step {
	s := Step{Action: ActionRaiseTimeout, Text: "give this product a longer timeout", Documented: true}
	switch {
	case f.Profile == "" || f.Timeout >= MaxTimeout:
	case f.Timeout < f.ProductTimeout:
		s.Text = fmt.Sprintf("give the request a longer timeout, or none: this product has %v", f.ProductTimeout)
	case f.Timeout > f.ProductTimeout:
		s.Text = fmt.Sprintf("give the request a longer timeout than its own %v", f.Timeout)
	default:
		s.Timeout = min(2*f.Timeout, MaxTimeout)
		s.Text += fmt.Sprintf(": 'zonedeck profiles edit %s --product-timeout %s=%v'", f.Profile, f.Zone.Product, s.Timeout)
	}
	return s
}

// growing says why the pause that is offered has grown, if it has.
func growing(d Diagnosis) string {
	if d.InARow < 2 {
		return ""
	}
	why := ": the " + ordinal(d.InARow) + " answer in a row that says too fast, so the pause "
	switch pause := d.Pause(); d.RetryAfter {
	case 0:
		return why + "grows to " + pause.String()
	case pause:
		return why + "is " + pause.String() + ", as the answer asks"
	default:
		return why + "grows to " + pause.String() + "; the answer asks for " + d.RetryAfter.String()
	}
}

// ordinal is "second", or "12th".
func ordinal(n int) string {
	words := [...]string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"}
	if n < len(words) {
		return words[n]
	}
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

// restrictedSteps orders "check zone, key permission and URL; consider the
// unlocker or the browser product" (service.md 7) by what is known of the cause.
func restrictedSteps(cause Cause, f *facts) []Step {
	key := Step{Action: ActionCheckKey, Text: "check that the key's level permits this call", Documented: true}
	zone := Step{Action: ActionCheckZone, Text: "check the zone and the URL", Documented: true}
	if f.Via == ViaNative {
		key = Step{Action: ActionCheckLogin, Text: "check the login and what its zone permits", Documented: true}
	}
	products := productSteps(f, "consider a product made for protected pages")
	otherWay := Step{Action: ActionOtherWay, Text: "compare API and Native for this URL"}
	var refuses []Step
	if f.Via != ViaAgent && f.Via != ViaBrowser {
		refuses = []Step{{Action: ActionWhatRefuses, Text: "find out what refuses: the key's level, the zone or the site"}}
	}
	switch cause {
	case CauseMissingPermission:
		return slices.Concat([]Step{key, zone}, refuses)
	case CausePolicy:
		return slices.Concat([]Step{zone}, products, []Step{key}, refuses)
	case CauseSiteBlock:
		return slices.Concat(products, []Step{zone}, refuses, []Step{otherWay})
	default:
		return slices.Concat(refuses, []Step{zone, key}, products, []Step{otherWay})
	}
}

// productSteps offers the products that the zone is not already.
func productSteps(f *facts, why string) []Step {
	var out []Step
	if f.Zone.Product != ProductUnlocker {
		out = append(out, Step{Action: ActionTryUnlocker, Text: why + ": try an unlocker zone", Documented: true})
	}
	if f.Zone.Product != ProductBrowser {
		out = append(out, Step{Action: ActionTryBrowser, Text: why + ": try a browser zone", Documented: true})
	}
	return out
}

// outsideSteps are all our advice: service.md 7 says nothing of these.
func outsideSteps(cause Cause, f *facts) []Step {
	switch cause {
	case CauseKeyRejected:
		return []Step{{Action: ActionCheckKey, Text: "check the key: its value, its expiry, and whether someone refreshed it"}}
	case CauseLoginRejected:
		return []Step{{Action: ActionCheckLogin, Text: "check the login: prefix, account, zone and the zone's password"}}
	case CauseTLSTrust:
		text := "see whose certificate it is, and trust its CA only if it is the one you expect"
		if f.Via == ViaNative && f.Zone.NeedsCA() {
			text = "trust the service's CA certificate: this zone needs it without an identity check (contract 5.2 rule 3)"
		}
		return []Step{{Action: ActionTrustCA, Text: text}}
	case CauseNetwork:
		return connectSteps(f)
	case CauseRequestRefused:
		out := []Step{
			{Action: ActionFixRequest, Text: "correct what the service names in its answer"},
			{Action: ActionCheckZone, Text: "check that the zone's name is written as the service has it"},
		}
		if f.namesZone() {
			slices.Reverse(out)
		}
		return out
	case CauseTargetError:
		why := "check the URL: the target itself answers with an error"
		if f.ServiceCause == CauseTargetError { // which need not have answered at all
			why = "check the URL: the service reports that the target failed"
		}
		return []Step{
			{Action: ActionCheckZone, Text: why},
			{Action: ActionOtherWay, Text: "compare API and Native for this URL"},
		}
	case CauseEmptyBody:
		return append(productAdvice(f), Step{Action: ActionOtherWay, Text: "compare API and Native for this URL"})
	case CauseIncomplete:
		return []Step{{Action: ActionRetry, Text: "send it again: the body is not complete"}}
	case CauseWaitingRoom:
		when := "later"
		if f.RetryAfter > 0 {
			when = "after " + f.RetryAfter.String()
		}
		return []Step{{Action: ActionRetry, Text: "send it again " + when + ": the site makes visitors wait in a queue"}}
	case CauseInProgress:
		how := cmp.Or(f.InProgress.Collect, "sent again, it is a new request and may be billed again")
		return []Step{{Action: ActionRetry, Text: fmt.Sprintf("ask again after %v: %s", cmp.Or(f.RetryAfter, unhurried), how)}}
	case CauseServiceError:
		return []Step{{Action: ActionOtherWay, Text: "see whether the other access method answers"}}
	default:
		return []Step{{Action: ActionOtherWay, Text: "compare API and Native for this URL"}}
	}
}

// namesZone reports whether a short answer says that the zone is what is wrong.
func (f *facts) namesZone() bool {
	said := strings.ToLower(f.ServiceText + " " + string(f.BodyHead[:min(len(f.BodyHead), 400)]))
	return strings.Contains(said, "zone") && !strings.Contains(said, "url")
}

// unhurried is how long to wait for a page that the service is at work on, where it does not say: public documentation has
// it for the first question.
const unhurried = 20 * time.Second

// connectSteps are for a connection that was not made or did not last. A longer timeout of
// the request would not help.
func connectSteps(f *facts) []Step {
	if f.Peer == "target" {
		return []Step{
			{Action: ActionCheckZone, Text: "check the scheme, host and port of the URL: the proxy itself answered"},
			{Action: ActionOtherWay, Text: "compare API and Native for this URL"},
		}
	}
	return []Step{{Action: ActionCheckNetwork, Text: "check the base URL, the proxy host and port, and the network"}}
}

// productAdvice is productSteps where the contract recommends nothing.
func productAdvice(f *facts) []Step {
	out := productSteps(f, "the page may need one that renders")
	for i := range out {
		out[i].Documented = false
	}
	return out
}

// retryStep: capping retries is documented for timeouts, backing off for too
// fast (service.md 7, 8); elsewhere trying again is our advice.
func retryStep(d Diagnosis) Step {
	s := Step{Action: ActionRetry, Text: "try again, a few times at most", Documented: d.Class == ClassTimeout || d.Class == ClassTooFast}
	if d.RetryAfter > 0 {
		s.Text = fmt.Sprintf("try again after %v, as the answer asks", d.RetryAfter)
	}
	return s
}

func fieldList(names []string) string {
	const most = 5
	if len(names) <= most {
		return quote(strings.Join(names, ", "))
	}
	return quote(strings.Join(names[:most], ", ")) + fmt.Sprintf(" and %d more", len(names)-most)
}

// UsualStep is the first step about a failure, as far as class and cause say what to do; its text is empty for a good end.
func UsualStep(class Class, cause Cause, via Via, zone Zone) Step {
	for _, s := range steps(Diagnosis{Class: class, Cause: cause}, &facts{Outcome: Outcome{Via: via, Zone: zone}}) {
		return s
	}
	return Step{}
}
