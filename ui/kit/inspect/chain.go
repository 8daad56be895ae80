package inspect

import (
	"fmt"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// ChainLines are the lines of a page about the certificates of an answer.
func ChainLines(t *kit.Theme, c model.Chain, now time.Time, w int) []string {
	var out []string
	say := func(ink kit.Ink, glyph, words string) {
		out = append(out, widget.Hung(" "+ink.Render(glyph)+" ", ink, words, w-1)...)
	}
	switch {
	case c.Trust == model.TrustSystem:
		say(t.Good, "✓", "An authority of the system vouches for "+c.ServerName+".")
	case c.Trust == model.TrustFile:
		say(t.Good, "✓", "The profile's CA file vouches for "+c.ServerName+"; the system does not.")
	case c.Unchecked:
		say(t.Warn, "!", "Nothing vouches for "+c.ServerName+": "+c.UntrustedReason+". It was used anyway (verify = false).")
	default:
		say(t.Bad, "✗", "Nothing vouches for "+c.ServerName+": "+c.UntrustedReason+".")
	}
	fact := func(name, value string) {
		out = append(out, widget.Hung("   "+t.Muted.Render(text.Fit(name, 9)), kit.Ink{}, value, w-1)...)
	}
	if c.Version != "" {
		fact("agreed", c.Version+", "+c.Cipher)
	}
	if c.Peer == "target" {
		fact("seen", "what the client saw through the tunnel: the target's certificates, or those that the proxy signs in their place")
	} else {
		fact("seen", "the certificates of the service's API; those of the target are not seen by API")
	}
	for i, cert := range c.Certificates {
		role := "certificate"
		if cert.Authority {
			role = "authority"
		}
		out = append(out, "", " "+t.Strong.Render(fmt.Sprintf("%d %s", i+1, role)))
		fact("subject", cert.Subject)
		issuer := cert.Issuer
		if cert.SelfSigned {
			issuer = "itself"
		}
		fact("issuer", issuer)
		if len(cert.Names) > 0 {
			fact("names", strings.Join(cert.Names, ", "))
		}
		out = append(out, widget.Hung("   "+t.Muted.Render(text.Fit("valid", 9)), validInk(t, cert, now), valid(cert, now), w-1)...)
		fact("SHA-256", cert.SHA256)
	}
	return out
}

// valid says from when to when a certificate counts.
func valid(c model.Certificate, now time.Time) string {
	const day = "2006-01-02 15:04"
	span := c.NotBefore.UTC().Format(day) + " to " + c.NotAfter.UTC().Format(day) + " UTC"
	switch {
	case now.Before(c.NotBefore):
		return span + " (not yet)"
	case now.After(c.NotAfter):
		return span + " (over)"
	default:
		return span + " (" + text.Counted(int(c.NotAfter.Sub(now).Hours()/24), "day") + " left)"
	}
}

func validInk(t *kit.Theme, c model.Certificate, now time.Time) kit.Ink {
	if now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return t.Bad
	}
	return kit.Ink{}
}
