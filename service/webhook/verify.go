package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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

// Kinds of a Verifier.
const (
	KindStandard      = "standard"      // the signature of Standard Webhooks
	KindHMAC          = "hmac"          // a header with an HMAC-SHA256 of the body
	KindAuthorization = "authorization" // the Authorization header, as a whole
	KindSenders       = "senders"       // addresses that connections may come from
)

// Kinds lists the kinds of a Verifier.
func Kinds() []string { return []string{KindStandard, KindHMAC, KindAuthorization, KindSenders} }

// tolerance is how far the time in a signature may be from the receiver's (the library's).
const tolerance = 5 * time.Minute

// maxSignatures bounds the signatures of one header: a sender that changes its secret sends two.
const maxSignatures = 32

// VerifierConfig describes a way to see who sent a delivery.
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

// outcome is what a check came to.
type outcome string

const (
	passed outcome = "passed"
	failed outcome = "failed"
	absent outcome = "absent" // there was nothing to check
)

// check is what one verifier said of a delivery.
type check struct {
	By  string  `json:"by"`
	Is  outcome `json:"is"`
	Why string  `json:"why"`
}

// Verifier checks who sent a delivery. early sees what comes with the request and is not kept;
// late sees what is kept, and the body. One of them is nil.
type Verifier struct {
	name   string
	kind   string
	header string // with the signature, of KindHMAC
	early  func(h http.Header, remote netip.Addr) check
	late   func(d model.Delivery, wall time.Time, body io.Reader) (check, error)
	sign   func(h http.Header, id string, at time.Time) (hashing io.Writer, finish func())
}

// ErrSecret says that a secret cannot be used; the error never repeats it.
var ErrSecret = errors.New("its secret cannot be used")

// NewVerifier makes a Verifier. The errors say what is wrong with the configuration.
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
		return Verifier{}, fmt.Errorf("%q is not a way to verify: use one of %s", c.Kind, strings.Join(Kinds(), ", "))
	}
}

// newStandard is Standard Webhooks over a stream: the library wants the body in memory.
func newStandard(c VerifierConfig) (Verifier, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(c.Secret.Reveal(), "whsec_"))
	if err != nil || len(key) == 0 {
		return Verifier{}, fmt.Errorf("%w: it is not whsec_ and base64", ErrSecret)
	}
	const by = "Standard Webhooks"
	mac := func(id string, at int64) hash.Hash {
		h := hmac.New(sha256.New, key)
		fmt.Fprintf(h, "%s.%d.", id, at)
		return h
	}
	v := Verifier{name: by, kind: c.Kind}
	v.late = func(d model.Delivery, wall time.Time, body io.Reader) (check, error) {
		id, stamp, signature := d.Header(standardwebhooks.HeaderWebhookID), d.Header(standardwebhooks.HeaderWebhookTimestamp), d.Header(standardwebhooks.HeaderWebhookSignature)
		if signature == "" {
			return check{by, absent, "it has no " + standardwebhooks.HeaderWebhookSignature}, nil
		}
		at, why := stampOf(id, stamp, wall)
		if why != "" {
			return check{by, failed, why}, nil
		}
		h := mac(id, at)
		if _, err := io.Copy(h, body); err != nil {
			return check{}, err
		}
		if matches(signature, h.Sum(nil)) {
			return check{by, passed, ""}, nil
		}
		return check{by, failed, "its signature is not one of the secret"}, nil
	}
	v.sign = func(header http.Header, id string, at time.Time) (io.Writer, func()) {
		h := mac(id, at.Unix())
		return h, func() {
			header.Set(standardwebhooks.HeaderWebhookID, id)
			header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
			header.Set(standardwebhooks.HeaderWebhookSignature, "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
		}
	}
	return v, nil
}

// stampOf is the time in a signature, or why it cannot be used.
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

// matches reports whether one of the signatures "v1,BASE64" is the sum.
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
		return Verifier{}, fmt.Errorf("%w: it is empty", ErrSecret)
	}
	if c.Header == "" {
		return Verifier{}, errors.New("the header with the HMAC is not named")
	}
	var decode func(string) ([]byte, error)
	var encode func([]byte) string
	switch c.Encoding {
	case "", "hex":
		decode, encode = hex.DecodeString, hex.EncodeToString
	case "base64":
		decode, encode = base64.StdEncoding.DecodeString, base64.StdEncoding.EncodeToString
	default:
		return Verifier{}, fmt.Errorf("%q is not an encoding: use hex or base64", c.Encoding)
	}
	name, key := "HMAC in "+c.Header, []byte(c.Secret.Reveal())
	v := Verifier{name: name, kind: c.Kind, header: c.Header}
	v.late = func(d model.Delivery, _ time.Time, body io.Reader) (check, error) {
		value := d.Header(c.Header)
		if value == "" {
			return check{name, absent, "it has no " + c.Header}, nil
		}
		digits, ok := strings.CutPrefix(value, c.Prefix)
		sum, err := decode(strings.TrimSpace(digits))
		if !ok || err != nil || len(sum) != sha256.Size {
			return check{name, failed, fmt.Sprintf("its %s is not an HMAC-SHA256 in the form that is set", c.Header)}, nil //nolint:nilerr // that is the verdict
		}
		h := hmac.New(sha256.New, key)
		if _, err := io.Copy(h, body); err != nil {
			return check{}, err
		}
		if hmac.Equal(sum, h.Sum(nil)) {
			return check{name, passed, ""}, nil
		}
		return check{name, failed, fmt.Sprintf("its %s is not of the secret and these bytes", c.Header)}, nil
	}
	v.sign = func(header http.Header, _ string, _ time.Time) (io.Writer, func()) {
		h := hmac.New(sha256.New, key)
		return h, func() { header.Set(c.Header, c.Prefix+encode(h.Sum(nil))) }
	}
	return v, nil
}

func newAuthorization(c VerifierConfig) (Verifier, error) {
	if c.Secret.Empty() {
		return Verifier{}, fmt.Errorf("%w: it is empty", ErrSecret)
	}
	const by = "Authorization"
	want := sha256.Sum256([]byte(c.Secret.Reveal())) // of one length, so that the comparison takes the same time
	return Verifier{name: by, kind: c.Kind, early: func(h http.Header, _ netip.Addr) check {
		values := h.Values(by)
		if len(values) == 0 {
			return check{by, absent, "it has no " + by}
		}
		got := sha256.Sum256([]byte(values[0]))
		if len(values) == 1 && subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			return check{by, passed, ""}
		}
		return check{by, failed, "its " + by + " is another one"}
	}}, nil
}

func newSenders(c VerifierConfig) (Verifier, error) {
	if len(c.Senders) == 0 {
		return Verifier{}, errors.New("no sender is listed")
	}
	const by = "sender list"
	return Verifier{name: by, kind: c.Kind, early: func(_ http.Header, remote netip.Addr) check {
		if slices.ContainsFunc(c.Senders, func(p netip.Prefix) bool { return p.Contains(remote.Unmap()) }) {
			return check{by, passed, ""}
		}
		return check{by, failed, fmt.Sprintf("%s is not in the list of senders", remote.Unmap())}
	}}, nil
}

// Verdict weighs what the verifiers said: one that failed rejects it, one that passed verifies
// it, and with neither it is unverified.
func verdictOf(checks []check) (v model.HookVerdict, by []string, why string) {
	var fails, lacks []string
	for _, c := range checks {
		switch c.Is {
		case passed:
			by = append(by, c.By)
		case failed:
			fails = append(fails, c.Why)
		default:
			lacks = append(lacks, c.Why)
		}
	}
	switch {
	case len(fails) > 0:
		return model.HookRejected, by, strings.Join(fails, "; ")
	case len(by) > 0:
		return model.HookVerified, by, "verified by " + strings.Join(by, " and ")
	case len(lacks) > 0:
		return model.HookUnverified, nil, strings.Join(lacks, "; ")
	default:
		return model.HookUnverified, nil, "nothing is set up that verifies a sender"
	}
}
