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

// codeWords say what the publicly documented codes of a proxy's refusal mean for the operator.
// They are knowledge of a dialect, not of the contract.
var codeWords = map[string]string{
	"client_10000":              "username or password is wrong",
	"client_10001":              "a parameter of the username is not valid",
	"client_10002":              "the account has no zone of this name",
	"client_10010":              "no login was sent",
	"client_10020":              "the account is suspended",
	"client_10030":              "this machine's address is not on the zone's allow list",
	"client_10040":              "the zone needs the identity check (KYC)",
	"client_10050":              "this machine's address is on the zone's deny list",
	"client_10060":              "the exit address asked for is not allocated to the zone",
	"client_10061":              "the exit asked for was not found",
	"client_10062":              "there is no exit in this country",
	"client_10063":              "the exit address asked for is not an address",
	"client_10070":              "the page's address has no scheme",
	"client_10080":              "the page's address has no host",
	"client_10090":              "a zone of the remote browser does not serve as a proxy",
	"client_10100":              "the zone has reached its usage limit",
	"client_10110":              "the account sends too many requests",
	"client_10120":              "direct exits are blocked",
	"client_10250":              "the host is not on the zone's allow list",
	"client_10260":              "the host is on the zone's deny list",
	"policy_20050":              "the host needs a special permission or the identity check (KYC)",
	"policy_20080":              "the host needs a residential zone",
	"policy_20090":              "the host needs the unlocker",
	"policy_20110":              "the host needs a SERP zone",
	"policy_20120":              "the username's parameter ip is not valid",
	"policy_20220":              "too many requests to this host",
	"peer_30030":                "there is no exit in this city",
	"peer_30040":                "the exit did not answer in time",
	"target_40001":              "the host's name could not be resolved",
	"target_40020":              "the host could not be connected to in time",
	"target_40021":              "the host could not be connected to in time",
	"no_peers":                  "there is no exit at the moment",
	"kyc_required":              "the account needs the identity check (KYC)",
	"business_account_required": "the account has to be a business account",
}

// CodeWords is what a service's error code means in words, or "" where no dialect knows it.
func CodeWords(code string) string { return codeWords[code] }
