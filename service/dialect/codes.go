package dialect

import (
	"strings"

	"zonedeck/model"
)

// codeRule says what the codes of one kind mean. A rule matches a whole code or,
// with a trailing "*", the beginning of one; the first that matches decides.
type codeRule struct {
	codes string // separated by spaces
	class model.Class
	cause model.Cause
	// unanswered says that nothing came from the target: the service did not ask it, or got no answer.
	unanswered bool
}

// codeRules sorts the publicly documented error codes of the x-brd headers into the
// classes of service.md 7. A code without a rule leaves the verdict to the status.
var codeRules = []codeRule{
	// The proxy login.
	{"client_10000 client_10001 client_10002 client_10010 client_10020 client_10030 client_10040 client_10050 policy_20120", model.ClassOutside, model.CauseLoginRejected, true},
	// Too fast, before the policies that share a prefix with it.
	{"client_10110 policy_20220 policy_20221 policy_20222 policy_20223 sr_rate_limit rate_limit", model.ClassTooFast, model.CauseNone, false},
	// What the service does not accept as a request.
	{"client_10060 client_10061 client_10062 client_10063 client_10070 client_10080 client_10100 premium feature_not_active validation", model.ClassOutside, model.CauseRequestRefused, true},
	// What it does not allow.
	{"kyc_required business_account_required ub_bad_endpoint_robots client_10090 client_10120 client_10130 client_10250 client_10260 policy_*", model.ClassAccessRestricted, model.CausePolicy, false},
	{"reject_block dd_hardblock", model.ClassAccessRestricted, model.CauseSiteBlock, false},
	{"captcha resolve_failed_*", model.ClassCaptcha, model.CauseNone, false},
	{"expect_element navigation_timeout domcontentloaded_event_timeout", model.ClassTimeout, model.CauseServiceTimeout, false},
	{"proxy_timeout peer_30040 target_40020 target_40021", model.ClassTimeout, model.CauseServiceTimeout, true},
	// A page that came, and cannot be used.
	{"http_status document_load_failed", model.ClassOutside, model.CauseTargetError, false},
	{"net_err_* target_*", model.ClassOutside, model.CauseTargetError, true},
	{"no_peers proxy_error peer_*", model.ClassOutside, model.CauseServiceError, true},
}

// meaning is the rule of a code, or none.
func meaning(code string) codeRule {
	for _, rule := range codeRules {
		for c := range strings.FieldsSeq(rule.codes) {
			prefix, open := strings.CutSuffix(c, "*")
			if code == c || open && strings.HasPrefix(code, prefix) {
				return rule
			}
		}
	}
	return codeRule{}
}
