package dialect

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
