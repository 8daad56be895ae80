package model

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// rule is one line of the classification. The first that applies decides.
type rule struct {
	name  string
	class Class // empty: as the dialect says
	cause Cause
	// reason says why the rule is right, for help and documents.
	reason  string
	applies func(*facts) bool
	// summary is the summary: one sentence in the operator's language, with nothing
	// remote in it.
	summary func(*facts) string
	// transient says, for a network cause, that the same request may well succeed.
	transient bool
}

// rules is the whole classification, in order: statuses that mean one thing
// wherever they come from, then what the dialect knows, then what the body
// shows, then what broke, then the remaining statuses.
var rules = slices.Concat(refusalRules, knowledgeRules, breakageRules, answerRules)

func always(text string) func(*facts) string { return func(*facts) string { return text } }

// refusalRules: any 403 is an access restriction and any 429 is sending too
// fast (service.md 7), whatever else the answer shows.
var refusalRules = []rule{
	{
		name: "target_403", class: ClassAccessRestricted, cause: CauseSiteBlock,
		reason:  "403 is the signal for access restriction (contract 7); this one is the target's own",
		applies: func(f *facts) bool { return f.target == http.StatusForbidden },
		summary: always("The site itself refuses this request (403)."),
	},
	{
		name: "permission_403", class: ClassAccessRestricted, cause: CauseMissingPermission,
		reason:  "403 from the service that speaks of a permission: the key's level does not allow this call (contract 5.3, 7)",
		applies: func(f *facts) bool { return f.refused == http.StatusForbidden && f.aboutPermission() },
		summary: always("The service says that the key lacks the permission for this call (403)."),
	},
	{
		name: "page_403", class: ClassAccessRestricted, cause: CauseSiteBlock,
		reason: "403 from the service whose body is a challenge page, or whose code the dialect reads as a block by the site: it is the site's, passed on",
		applies: func(f *facts) bool {
			return f.refused == http.StatusForbidden && (f.blockedBySite() || f.page.verdict != ordinary && !f.page.shape.byWords)
		},
		summary: always("The site blocks this request (403), as the service passes it on."),
	},
	{
		name: "policy_403", class: ClassAccessRestricted, cause: CausePolicy,
		reason: "403 by which the proxy refused the target, or that a dialect or an error code inside the answer marks as policy",
		applies: func(f *facts) bool {
			return f.refused == http.StatusForbidden &&
				(f.Via.Login() || f.ServiceCause == CausePolicy || f.ServiceStatus != http.StatusForbidden)
		},
		summary: always("The service does not let this zone reach this target (403)."),
	},
	{
		name: "service_403", class: ClassAccessRestricted,
		reason:  "403 from the API that does not say whose it is: the key's permission, the zone or the site (contract 7 names all three)",
		applies: func(f *facts) bool { return f.refused == http.StatusForbidden },
		summary: always("Access is restricted (403); the answer does not say whether by the key's permission, the zone or the site."),
	},
	{
		name: "told_403", class: ClassAccessRestricted,
		reason:  "403 in a header that the contract does not show and the profile's dialect does not read: the signal of contract 7, and it is not known whose",
		applies: func(f *facts) bool { return f.unreadStatus == http.StatusForbidden },
		summary: always("A header of the answer that the contract does not show reports 403: access is restricted, but it does not say by whom."),
	},
	{
		name: "defence_status", class: ClassAccessRestricted, cause: CauseSiteBlock,
		reason:  "a status that HTTP does not know, by which defences refuse: 468, 498, 999",
		applies: func(f *facts) bool { return f.target == 468 || f.target == 498 || f.target == 999 },
		summary: func(f *facts) string {
			return fmt.Sprintf("The site refuses this request with a status that defences use (%d).", f.target)
		},
	},
	{
		name: "too_fast_429", class: ClassTooFast,
		reason:  "429 is the signal for sending too fast (contract 7), from the service or from the target",
		applies: func(f *facts) bool { return f.either(http.StatusTooManyRequests) },
		summary: func(f *facts) string {
			sender := "The site"
			switch http.StatusTooManyRequests {
			case f.refused:
				sender = "The service"
			case f.unreadStatus:
				sender = "A header of the answer"
			}
			if f.RetryAfter > 0 {
				return fmt.Sprintf("%s says that requests come too fast (429) and asks to wait %v.", sender, f.RetryAfter)
			}
			return sender + " says that requests come too fast (429)."
		},
	},
	{
		name: "login_407", class: ClassOutside, cause: CauseLoginRejected,
		reason: "407 means that the proxy did not accept the login (username or password of contract 5.2)",
		applies: func(f *facts) bool {
			return f.refused == http.StatusProxyAuthRequired || f.Via.Login() && f.refused == http.StatusUnauthorized
		},
		summary: func(f *facts) string { return fmt.Sprintf("The proxy rejected the login (%d).", f.refused) },
	},
	{
		name: "key_401", class: ClassOutside, cause: CauseKeyRejected,
		reason: "401 from the API: the key is wrong, expired or was refreshed (the status is not shown by contract 7; 401 is what HTTP says)",
		applies: func(f *facts) bool {
			return !f.Via.Login() && f.refused == http.StatusUnauthorized && f.ServiceStatus == http.StatusUnauthorized
		},
		summary: always("The service rejected the API key (401)."),
	},
}

// knowledgeRules: what a dialect or a challenge page tells.
var knowledgeRules = []rule{
	{
		name:   "dialect",
		reason: "the service reported an error code that the profile's dialect knows",
		applies: func(f *facts) bool {
			switch f.ServiceClass {
			case ClassAccessRestricted, ClassTooFast, ClassCaptcha, ClassTimeout, ClassParsingDrift, ClassOutside:
				return true
			default:
				return false
			}
		},
		summary: func(f *facts) string {
			class, cause := f.dialectVerdict()
			words := strings.ReplaceAll(string(cause), "_", " ")
			switch {
			case cause == CauseNone:
				words = class.Label()
			case class != ClassOutside: // which says nothing beside its cause
				words = class.Label() + ", " + words
			}
			return "The service reports an error that means: " + words + "."
		},
	},
	{
		name: "captcha_header", class: ClassCaptcha,
		reason:  "a header by which the target's bot defence names its own answer, whatever the status but 403 and 429",
		applies: func(f *facts) bool { return f.challengeHeader() },
		summary: always("The target answered with a bot challenge, not with the page."),
	},
	{
		name: "captcha_page", class: ClassCaptcha,
		reason:  "the body is a challenge page by one sign that only such pages have, or by two that agree, whatever the status but 403 and 429: a CAPTCHA with 200 is a failure",
		applies: func(f *facts) bool { return f.page.verdict == challenge },
		summary: always("The target shows a CAPTCHA instead of the page."),
	},
	{
		name: "captcha_redirect", class: ClassCaptcha,
		reason:  "a redirect to an address that a bot defence is known for: what is there is a challenge, not the page",
		applies: func(f *facts) bool { _, waits, ok := f.ledToChallenge(); return ok && !waits },
		summary: always("The target leads to a bot challenge, not to the page."),
	},
	{
		name: "refusal_page", class: ClassAccessRestricted, cause: CauseSiteBlock,
		reason:  "the body is a refusal by its text and a second sign, whatever the status but 429: a refusal with 200 is a failure",
		applies: func(f *facts) bool { return f.refused == 0 && f.page.verdict == refusal },
		summary: always("The site refuses this request: the page says so."),
	},
	{
		name: "too_fast_page", class: ClassTooFast,
		reason:  "the body says that requests come too fast, and a second sign or nothing else is there, whatever the status but 403",
		applies: func(f *facts) bool { return f.refused == 0 && f.page.verdict == tooFast },
		summary: always("The page says that requests come too fast."),
	},
	{
		name: "waiting_room", class: ClassOutside, cause: CauseWaitingRoom,
		reason: "the body lets people wait for their turn, or the answer leads to where they do: the page comes later",
		applies: func(f *facts) bool {
			_, waits, _ := f.ledToChallenge()
			return waits || f.refused == 0 && f.page.verdict == waiting
		},
		summary: always("The site makes visitors wait in a queue: the page comes later."),
	},
}

// breakageRules: the attempt broke.
var breakageRules = []rule{
	{
		name: "client_timeout", class: ClassTimeout, cause: CauseClientTimeout,
		reason:  "the client's own deadline passed (contract 7: slow target, heavy browser run, or short client timeout)",
		applies: func(f *facts) bool { return f.Broke == BreakTimeout },
		summary: func(f *facts) string {
			if f.Timeout <= 0 {
				return "No complete answer within the client's limit."
			}
			return fmt.Sprintf("No complete answer within the client's limit of %v.", f.Timeout)
		},
	},
	{
		name: "connect_timeout", class: ClassTimeout, cause: CauseClientTimeout,
		reason:  "a connection, or TLS over it, was not there in the time that connecting has, whatever the request's limit",
		applies: func(f *facts) bool { return f.Broke == BreakConnectTimeout },
		summary: func(f *facts) string { return "Connecting to " + peerNoun(f.Peer) + " took too long and was given up." },
	},
	{
		name: "tls_trust", class: ClassOutside, cause: CauseTLSTrust,
		reason:  "a certificate that the client does not trust; residential and unlocker zones without identity check need the service's CA (contract 5.2 rule 3)",
		applies: func(f *facts) bool { return f.Broke == BreakTLSTrust },
		summary: func(f *facts) string {
			switch {
			case f.Via == ViaNative && f.Zone.NeedsCA():
				return "The certificate is not trusted: this zone needs the service's CA certificate."
			case f.Peer == "target":
				return "The certificate that was presented for the target is not trusted."
			default:
				return "The service's certificate is not trusted."
			}
		},
	},
	{
		name: "no_connection", class: ClassOutside, cause: CauseNetwork, transient: true,
		reason:  "a name did not resolve or nobody accepted the connection, so there was no answer",
		applies: func(f *facts) bool { return f.Broke == BreakDNS || f.Broke == BreakConnect },
		summary: func(f *facts) string {
			if f.Broke == BreakDNS {
				return "The name of " + peerNoun(f.Peer) + " could not be resolved."
			}
			return "No connection to " + peerNoun(f.Peer) + "."
		},
	},
	{
		name: "reset_before_answer", class: ClassOutside, cause: CauseNetwork, transient: true,
		reason:  "the connection ended before an answer began",
		applies: func(f *facts) bool { return f.Broke == BreakReset && !f.answered },
		summary: func(f *facts) string {
			return "The connection to " + peerNoun(f.Peer) + " ended before there was an answer."
		},
	},
	{
		name: "tls_fault", class: ClassOutside, cause: CauseNetwork,
		reason:  "a TLS fault that is not about trust, such as a peer that does not speak TLS: the same again gives the same",
		applies: func(f *facts) bool { return f.Broke == BreakTLS },
		summary: func(f *facts) string { return "TLS with " + peerNoun(f.Peer) + " could not be set up." },
	},
	{
		name: "malformed_answer", class: ClassOutside, cause: CauseNetwork,
		reason:  "what answered does not speak HTTP as it must, or broke a bound: often a wrong port",
		applies: func(f *facts) bool { return f.Broke == BreakMalformed },
		summary: func(f *facts) string {
			return "The answer of " + peerNoun(f.Peer) + " cannot be used."
		},
	},
}

func peerNoun(peer string) string {
	switch peer {
	case "service":
		return "the service"
	case "target":
		return "the target"
	default:
		return "the other side"
	}
}

// answerRules: there is an answer, and nothing above is true of it.
var answerRules = []rule{
	{
		name: "service_timeout", class: ClassTimeout, cause: CauseServiceTimeout,
		reason: "408 or 504 from the service: it gave up waiting for the target",
		applies: func(f *facts) bool {
			return f.refused == http.StatusRequestTimeout || f.refused == http.StatusGatewayTimeout
		},
		summary: func(f *facts) string {
			return fmt.Sprintf("The service gave up waiting for the target (%d).", f.refused)
		},
	},
	{
		name: "service_5xx", class: ClassOutside, cause: CauseServiceError,
		reason:  "a 5xx of the service itself; error codes are not shown by the contract (contract 7)",
		applies: func(f *facts) bool { return f.refused >= 500 && f.refused < 600 },
		summary: func(f *facts) string { return fmt.Sprintf("The service itself failed (%d).", f.refused) },
	},
	{
		name: "request_refused", class: ClassOutside, cause: CauseRequestRefused,
		reason: "400, 402 or 422 from the service: it did not accept the request (a field, the zone's name, the account's balance)",
		applies: func(f *facts) bool {
			return f.refused == http.StatusBadRequest || f.refused == http.StatusPaymentRequired || f.refused == http.StatusUnprocessableEntity
		},
		summary: func(f *facts) string {
			if f.Job == CallTrigger && f.Unrepeatable {
				return fmt.Sprintf("The answer was %d, in words that the console does not know as the service's refusal.", f.refused)
			}
			return fmt.Sprintf("The service did not accept the request (%d).", f.refused)
		},
	},
	{
		name: "request_refused_4xx", class: ClassOutside, cause: CauseRequestRefused,
		reason:  "any other 4xx of the service, such as 404 for a wrong base URL: the request was not carried out",
		applies: func(f *facts) bool { return f.refused != 0 && f.refused < 500 },
		summary: func(f *facts) string {
			return fmt.Sprintf("The service did not carry out the request (%d).", f.refused)
		},
	},
	{
		name: "told_error", class: ClassOutside, cause: CauseUnrecognised,
		reason:  "a 4xx or 5xx in a header that the contract does not show and the profile's dialect does not read: not a success, and it is not known whose error",
		applies: func(f *facts) bool { return f.unreadStatus != 0 },
		summary: func(f *facts) string {
			return fmt.Sprintf("A header of the answer that the contract does not show reports an error (%d).", f.unreadStatus)
		},
	},
	{
		name: "service_reported", class: ClassOutside, cause: CauseServiceError,
		reason:  "the service reported an error of its own beside a status that looks like success: the truth is in the report",
		applies: func(f *facts) bool { return f.reported },
		summary: always("The service reports an error although the status looks like success."),
	},
	{
		name: "target_error", class: ClassOutside, cause: CauseTargetError,
		reason:  "the target answered with an error status of its own",
		applies: func(f *facts) bool { return f.target >= 400 },
		summary: func(f *facts) string { return fmt.Sprintf("The target answered with an error (%d).", f.target) },
	},
	{
		name: "incomplete", class: ClassOutside, cause: CauseIncomplete,
		reason:  "the answer began and its body ended early: what is there cannot be relied on",
		applies: func(f *facts) bool { return f.answered && (f.Incomplete || f.Broke == BreakReset) },
		summary: func(f *facts) string { return fmt.Sprintf("The body ended early, after %d bytes.", f.BodySize) },
	},
	{
		name: "in_progress", class: ClassOutside, cause: CauseInProgress,
		reason:  "the service itself says that it is still at work (202, or 200 with a state alone): neither the page nor an error",
		applies: func(f *facts) bool { return f.Broke == BreakNone && isSuccess(f.answer) && f.InProgress.Says != "" },
		summary: always("The service is still at work: the page is not there yet."),
	},
	{
		name: "redirect", class: ClassOK,
		reason:  "the target answered with 3xx: an answer of the target, complete as it is, which the console does not follow by itself",
		applies: func(f *facts) bool { return f.Broke == BreakNone && f.target >= 300 && f.target < 400 },
		summary: func(f *facts) string { return fmt.Sprintf("The target answered %s.", statusText(f.target)) },
	},
	{
		name: "no_body_expected", class: ClassOK,
		reason: "2xx to a request that asks for no body, or the target's own 204 or 205, which have none",
		applies: func(f *facts) bool {
			return f.Broke == BreakNone && isSuccess(f.answer) &&
				(f.HeadMethod || f.target == http.StatusNoContent || f.target == http.StatusResetContent)
		},
		summary: func(f *facts) string {
			if f.unknown() {
				return fmt.Sprintf("The service answered %s; the target's status is not shown.", statusText(f.answer))
			}
			return fmt.Sprintf("The target answered %s.", statusText(f.answer))
		},
	},
	{
		name: "empty_body", class: ClassOutside, cause: CauseEmptyBody,
		reason:  "success without a body, or with nothing but white space, is a failure: there is no page",
		applies: func(f *facts) bool { return f.Broke == BreakNone && isSuccess(f.answer) && f.empty() },
		summary: func(f *facts) string {
			return fmt.Sprintf("The answer says success (%d) but is empty.", f.answer)
		},
	},
	{
		name: "nothing_to_see", class: ClassOutside, cause: CauseEmptyBody,
		reason:  "a page that shows nothing and loads nothing that could; its script or refresh may lead to another address: it is not the page",
		applies: func(f *facts) bool { return f.Broke == BreakNone && isSuccess(f.answer) && f.page.verdict == leadsAway },
		summary: func(f *facts) string {
			if f.page.shape.away.value == nil {
				return "The page shows nothing."
			}
			return "The page shows nothing and leads to another address."
		},
	},
	{
		name: "error_page", class: ClassOutside, cause: CauseTargetError,
		reason:  "an error page of the site with a status that says success, by its title and what it says: it is not the page",
		applies: func(f *facts) bool { return f.Broke == BreakNone && isSuccess(f.answer) && f.page.verdict == siteError },
		summary: func(f *facts) string {
			return fmt.Sprintf("The target answered with an error page, and the status %d.", f.answer)
		},
	},
	{
		name: "undecodable", class: ClassOutside, cause: CauseUndecodable,
		reason:  "the page could not be decoded, because of its content coding (Content-Encoding: dcb, say) or its character set: what it shows is not known",
		applies: func(f *facts) bool { return f.Broke == BreakNone && isSuccess(f.answer) && f.Undecoded != "" },
		summary: always("The page came but could not be decoded, so its content is unknown."),
	},
	{
		name: "missing_fields", class: ClassParsingDrift, cause: CauseMissingFields,
		reason:  "the page came and required fields are not in it (contract 7: the target's structure changed and extraction silently breaks)",
		applies: func(f *facts) bool { return f.Broke == BreakNone && isSuccess(f.answer) && len(f.MissingFields) > 0 },
		summary: func(f *facts) string {
			missing, total := len(f.MissingFields), len(f.RequiredFields)
			switch {
			case missing == 1 && total <= 1:
				return "The page came, but a required field was not found."
			case missing == 1:
				return fmt.Sprintf("The page came, but 1 of the %d required fields was not found.", total)
			case missing > total:
				return fmt.Sprintf("The page came, but %d required fields were not found.", missing)
			default:
				return fmt.Sprintf("The page came, but %d of the %d required fields were not found.", missing, total)
			}
		},
	},
	{
		name: "ok", class: ClassOK,
		reason:  "2xx with a body, no sign of a challenge, and every required field that was named",
		applies: func(f *facts) bool { return f.Broke == BreakNone && isSuccess(f.answer) },
		summary: func(f *facts) string {
			if f.unknown() {
				return fmt.Sprintf("A page came with the service's %s; the target's status is not shown.", statusText(f.answer))
			}
			return fmt.Sprintf("The page came: %s.", statusText(f.answer))
		},
	},
	{
		name: "unrecognised", class: ClassOutside, cause: CauseUnrecognised,
		reason:  "nothing above fits; the evidence shows what there is",
		applies: func(*facts) bool { return true },
		summary: always("The console does not recognise this outcome."),
	},
}
