package route

import (
	"net/http"
	"strings"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
)

// Policy refuses targets that a zone's product may not reach: the policies in the public
// documentation of a service of this kind, as far as the host shows. Nil permits.
func Policy(z account.Zone, host string) *answer.Refusal {
	network := z.Product == "datacenter" || z.Product == "isp" || z.Product == "residential" || z.Product == "mobile"
	if !network {
		return nil
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if searchEngine(host) {
		return new(answer.NewRefusal(http.StatusForbidden, "policy_20110", "search engines are for SERP zones: use one of those", answer.BasisPolicy))
	}
	if (z.Product == "residential" || z.Product == "mobile") && !z.IdentityVerified && governmental(host) {
		r := answer.NewRefusal(http.StatusForbidden, "policy_20051", "governmental targets need an identity check (KYC)", answer.BasisPolicy)
		r.Remedy = &answer.Remedy{
			Action:       "complete the identity check of the zone",
			Alternatives: []string{"a datacenter or ISP zone", "an unlocker zone"},
			Docs:         "contract 5.2",
		}
		return &r
	}
	return nil
}

// searchEngine reports whether the service reserves a host for its SERP product.
func searchEngine(host string) bool {
	host = strings.TrimPrefix(host, "www.")
	name, rest, ok := strings.Cut(host, ".")
	if !ok {
		return false
	}
	switch name {
	case "google", "yandex": // "com", "de", "co.uk", "com.tr"
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "com."), "co.")
		return rest == "com" || len(rest) == 2
	case "bing", "duckduckgo":
		return rest == "com"
	}
	return false
}

func governmental(host string) bool {
	for _, label := range [...]string{"gov", "mil"} {
		if strings.HasSuffix(host, "."+label) {
			return true
		}
		// example.gov.uk
		if i := strings.LastIndexByte(host, '.'); i > 0 && len(host)-i == 3 && strings.HasSuffix(host[:i], "."+label) {
			return true
		}
	}
	return false
}
