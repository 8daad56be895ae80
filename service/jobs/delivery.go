package jobs

import (
	"net/url"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
)

// minToken is the least number of characters of a part of a path that counts as a token.
const minToken = 20

// minQueryToken is the same for values in a query.
const minQueryToken = 8

// deliverySecrets are the parts of a job's addresses that may be credentials of their owner: values in
// the query and long parts of the path. A login in an address is refused.
func deliverySecrets(s model.JobSettings) (out []keystore.Secret) {
	for _, address := range []string{s.Notify, s.Endpoint} {
		u, err := url.Parse(address)
		if err != nil {
			continue
		}
		for _, values := range u.Query() {
			for _, v := range values {
				if len(v) >= minQueryToken {
					out = append(out, keystore.NewSecret(v))
				}
			}
		}
		for part := range strings.SplitSeq(u.Path, "/") {
			if len(part) >= minToken {
				out = append(out, keystore.NewSecret(part))
			}
		}
	}
	return out
}
