package proxy

import (
	"fmt"

	"zonedeck/model"
)

// caState says whether the client has the service's CA.
type caState int

const (
	caUnknown caState = iota // the zone's product is not known
	caUnneeded
	caMissing
	caFile    // the profile names a file; the service uses it
	caSkipped // the profile disables certificate checks
)

// notChecked ends a verdict before a test.
const notChecked = " · system store not checked"

// trust is the verdict on the service's CA for one zone.
type trust struct {
	state caState
	text  string
	next  string // what to do; empty when nothing is needed
}

// trustOf applies service.md 5.2 rule 3 to a zone and the profile's settings. Only a
// test can show whether the file contains the right certificate and whether the system
// trusts it; the text says so.
func trustOf(z model.Zone, caPath string, verify bool) trust {
	if !verify {
		return trust{
			state: caSkipped,
			text:  "certificates are not checked (verify = false in the profile)",
			next:  "anyone between here and the proxy can read what is sent: name the service's CA in the profile instead",
		}
	}
	switch {
	case z.Product == model.ProductUnknown:
		return trust{
			state: caUnknown,
			text:  "not known whether it is needed: the profile names no product for this zone",
			next:  "set product in the profile; residential and unlocker need the CA without the identity check",
		}
	case !z.NeedsCA():
		why := "only residential and unlocker need it"
		if z.IdentityVerified {
			why = "identity verified"
		}
		return trust{state: caUnneeded, text: fmt.Sprintf("not needed (%s, %s)", z.Product, why)}
	case caPath == "":
		return trust{
			state: caMissing,
			text:  fmt.Sprintf("needed (%s, no identity check) · the profile names none", z.Product) + notChecked,
			next:  "set ca = \"path/to/root.pem\" in the profile, or install the certificate; a test shows it",
		}
	default:
		return trust{
			state: caFile,
			text:  fmt.Sprintf("needed (%s, no identity check) · %s", z.Product, caPath),
		}
	}
}
