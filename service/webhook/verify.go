package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"zonedeck/keystore"
	"zonedeck/model"
)

// The kinds of a Verifier.
const (
	KindStandard      = "standard"      // a signature of Standard Webhooks
	KindHMAC          = "hmac"          // a header with an HMAC-SHA256 of the body
	KindAuthorization = "authorization" // the Authorization header, as a whole
	KindSenders       = "senders"       // addresses that connections may come from
)

// kinds lists the kinds of a Verifier.
func kinds() []string { return []string{KindStandard, KindHMAC, KindAuthorization, KindSenders} }

// tolerance is how far the time in a signature may be from the receiver's, as in the library.
const tolerance = 5 * time.Minute

// maxSignatures bounds the signatures in one header. A sender that changes its secret sends two.
const maxSignatures = 32

// VerifierConfig describes a way to check who sent a webhook.
type VerifierConfig struct {
	Kind string
	// Secret is the signing secret ("whsec_" and base64 for KindStandard), or the whole value of
	// the Authorization header.
	Secret keystore.Secret
	// Header, Prefix and Encoding ("hex" or "base64") are KindHMAC's.
	Header, Prefix, Encoding string
	// Senders are addresses or networks.
	Senders []netip.Prefix
}

// check is a verifier's result for a webhook. If it did not pass, Reason says why.
type check struct {
	By     string `json:"by"`
	Passed bool   `json:"passed"`
	Reason string `json:"why"`
}

// Verifier checks who sent a webhook.
type Verifier struct {
	header string // with the HMAC; empty for other kinds
	// begin checks the head of a request that came at at, by this machine's clock. The body must be
	// written to hashing, unless that is nil, before finish is called.
	begin func(h http.Header, remote netip.Addr, at time.Time) (hashing io.Writer, finish func() check)
}

// settled is what begin returns if the head alone decides.
func settled(c check) (io.Writer, func() check) { return nil, func() check { return c } }

// errSecret says that a secret cannot be used. Errors never contain the secret.
var errSecret = errors.New("its secret cannot be used")

// NewVerifier makes a Verifier. Errors say what is wrong with the configuration.
func NewVerifier(c VerifierConfig) (Verifier, error) {
	switch c.Kind {
	case KindStandard:
		return newStandard(c)
	case KindHMAC:
		return newHMAC(c)
	case KindAuthorization:
		return newAuthorization(c)
	case KindSenders:
		return newSenders(c)
	default:
		return Verifier{}, fmt.Errorf("%q is not a way to verify: use one of %s", c.Kind, strings.Join(kinds(), ", "))
	}
}

// newStandard verifies Standard Webhooks as a stream. The library wants the body in memory.
func newStandard(c VerifierConfig) (Verifier, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(c.Secret.Reveal(), "whsec_"))
	if err != nil || len(key) == 0 {
		return Verifier{}, fmt.Errorf("%w: it is not whsec_ followed by base64", errSecret)
	}
	const by = "Standard Webhooks"
	v := Verifier{}
	v.begin = func(header http.Header, _ netip.Addr, wall time.Time) (io.Writer, func() check) {
		id, stamp, signature := header.Get(standardwebhooks.HeaderWebhookID), header.Get(standardwebhooks.HeaderWebhookTimestamp), header.Get(standardwebhooks.HeaderWebhookSignature)
		if signature == "" {
			return settled(check{by, false, "it has no " + standardwebhooks.HeaderWebhookSignature})
		}
		at, why := stampOf(id, stamp, wall)
		if why != "" {
			return settled(check{by, false, why})
		}
		h := hmac.New(sha256.New, key)
		fmt.Fprintf(h, "%s.%d.", id, at)
		return h, func() check {
			if matches(signature, h.Sum(nil)) {
				return check{by, true, ""}
			}
			return check{by, false, "its signature is not one of the secret"}
		}
	}
	return v, nil
}

// stampOf parses the time in a signature, in seconds since 1970. why says why it cannot be used.
func stampOf(id, stamp string, wall time.Time) (at int64, why string) {
	if id == "" || stamp == "" {
		return 0, fmt.Sprintf("it has a signature without %s or %s", standardwebhooks.HeaderWebhookID, standardwebhooks.HeaderWebhookTimestamp)
	}
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return 0, fmt.Sprintf("its %s is not a number", standardwebhooks.HeaderWebhookTimestamp)
	}
	switch signed := time.Unix(at, 0); {
	case wall.Sub(signed) > tolerance:
		return 0, fmt.Sprintf("it was signed more than %s before it came", tolerance)
	case signed.After(wall.Add(tolerance)):
		return 0, fmt.Sprintf("it was signed more than %s after it came, by this machine's clock", tolerance)
	}
	return at, ""
}

// matches reports whether one of the signatures, each "v1,BASE64", is the sum.
func matches(signatures string, sum []byte) bool {
	want := []byte(base64.StdEncoding.EncodeToString(sum))
	ok := false
	for i, one := range strings.Split(signatures, " ") {
		if i == maxSignatures {
			break
		}
		version, signature, found := strings.Cut(one, ",")
		signature, _, _ = strings.Cut(signature, ",")
		if found && version == "v1" && hmac.Equal([]byte(signature), want) {
			ok = true
		}
	}
	return ok
}

func newHMAC(c VerifierConfig) (Verifier, error) {
	if c.Secret.Empty() {
		return Verifier{}, fmt.Errorf("%w: it is empty", errSecret)
	}
	if c.Header == "" {
		return Verifier{}, errors.New("the header with the HMAC is not named")
	}
	var decode func(string) ([]byte, error)
	switch c.Encoding {
	case "", "hex":
		decode = hex.DecodeString
	case "base64":
		decode = base64.StdEncoding.DecodeString
	default:
		return Verifier{}, fmt.Errorf("%q is not an encoding: use hex or base64", c.Encoding)
	}
	name, key := "HMAC in "+c.Header, []byte(c.Secret.Reveal())
	v := Verifier{header: c.Header}
	v.begin = func(header http.Header, _ netip.Addr, _ time.Time) (io.Writer, func() check) {
		value := header.Get(c.Header)
		if value == "" {
			return settled(check{name, false, "it has no " + c.Header})
		}
		digits, ok := strings.CutPrefix(value, c.Prefix)
		sum, err := decode(strings.TrimSpace(digits))
		if !ok || err != nil || len(sum) != sha256.Size {
			return settled(check{name, false, fmt.Sprintf("its %s is not an HMAC-SHA256 in the configured form", c.Header)})
		}
		h := hmac.New(sha256.New, key)
		return h, func() check {
			if hmac.Equal(sum, h.Sum(nil)) {
				return check{name, true, ""}
			}
			return check{name, false, fmt.Sprintf("its %s does not match the secret and these bytes", c.Header)}
		}
	}
	return v, nil
}

func newAuthorization(c VerifierConfig) (Verifier, error) {
	if c.Secret.Empty() {
		return Verifier{}, fmt.Errorf("%w: it is empty", errSecret)
	}
	const by = "Authorization"
	want := sha256.Sum256([]byte(c.Secret.Reveal())) // hashes have one length, so the comparison takes constant time
	return Verifier{begin: func(h http.Header, _ netip.Addr, _ time.Time) (io.Writer, func() check) {
		values := h.Values(by)
		if len(values) == 0 {
			return settled(check{by, false, "it has no " + by})
		}
		got := sha256.Sum256([]byte(values[0]))
		if len(values) == 1 && subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			return settled(check{by, true, ""})
		}
		return settled(check{by, false, "its " + by + " does not match"})
	}}, nil
}

func newSenders(c VerifierConfig) (Verifier, error) {
	if len(c.Senders) == 0 {
		return Verifier{}, errors.New("no sender is listed")
	}
	const by = "sender list"
	return Verifier{begin: func(_ http.Header, remote netip.Addr, _ time.Time) (io.Writer, func() check) {
		if slices.ContainsFunc(c.Senders, func(p netip.Prefix) bool { return p.Contains(remote.Unmap()) }) {
			return settled(check{by, true, ""})
		}
		return settled(check{by, false, fmt.Sprintf("%s is not in the list of senders", remote.Unmap())})
	}}, nil
}

// verdictOf combines the checks of a webhook: it is verified if all passed, rejected if one failed, and
// unverified if there are none.
func verdictOf(checks []check) (v model.WebhookVerdict, by []string, why string) {
	var fails []string
	for _, c := range checks {
		if c.Passed {
			by = append(by, c.By)
		} else {
			fails = append(fails, c.Reason)
		}
	}
	switch {
	case len(fails) > 0:
		return model.WebhookRejected, by, strings.Join(fails, "; ")
	case len(by) > 0:
		return model.WebhookVerified, by, "verified by " + strings.Join(by, " and ")
	default:
		return model.WebhookUnverified, nil, "no check of the sender is set up"
	}
}
