package page

import (
	"net/http"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// BlockKind says how a target refuses a visitor.
type BlockKind string

// The kinds of block. NotBlocked is any other page, also an error page.
const (
	NotBlocked BlockKind = ""
	Captcha    BlockKind = "captcha"
	Challenge  BlockKind = "challenge" // solved by a script alone
	Forbidden  BlockKind = "forbidden"
	TooFast    BlockKind = "rate_limit"
)

// Block is what [Detect] finds.
type Block struct {
	Kind BlockKind
	// Mark is its sign: a class, a title, a status.
	Mark string
}

// maxDetect bounds the pages that Detect reads; challenge pages are small.
const maxDetect = 256 << 10

// maxChallengeText bounds the visible text of a challenge with a widget, in bytes: forms of
// ordinary pages have widgets too.
const maxChallengeText = 1500

// Detect reports whether an answer is a block: the signs of public bot defences on a page with
// little text and no other field to fill in, or a status of a block. In doubt it reports none: an
// article about CAPTCHAs passes.
func Detect(status int, header http.Header, body []byte) Block {
	if mark := mitigated(header); mark != "" {
		return Block{Challenge, mark}
	}
	if len(body) <= maxDetect && IsHTML(header, body) {
		if doc, err := Parse(body); err == nil {
			if b := detectIn(doc); b.Kind != NotBlocked {
				return b
			}
		}
	}
	switch status {
	case http.StatusForbidden:
		return Block{Forbidden, "status 403"}
	case http.StatusTooManyRequests:
		return Block{TooFast, "status 429"}
	}
	return Block{}
}

// mitigated is the header of a defence that marks its answer, or "".
func mitigated(h http.Header) string {
	if v := h.Get("Cf-Mitigated"); strings.EqualFold(v, "challenge") {
		return "cf-mitigated: challenge"
	}
	if v := strings.ToLower(h.Get("X-Amzn-Waf-Action")); v == "captcha" || v == "challenge" {
		return "x-amzn-waf-action: " + v
	}
	return ""
}

// IsHTML reports whether a body is HTML: by its Content-Type, or without one by its beginning.
func IsHTML(h http.Header, body []byte) bool {
	ct, _, _ := strings.Cut(strings.ToLower(h.Get("Content-Type")), ";")
	switch strings.TrimSpace(ct) {
	case "text/html", "application/xhtml+xml":
		return true
	case "":
		return strings.HasPrefix(http.DetectContentType(body), "text/html")
	}
	return false
}

// detectIn looks for a widget on a page with little else.
func detectIn(doc *html.Node) Block {
	widget, fields := "", 0
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if isInput(n) {
			fields++
		}
		if widget == "" {
			widget = widgetOf(n)
		}
	}
	if fields > 0 {
		return Block{}
	}
	text := len(TextOf(doc))
	switch title := challengeTitle(TitleOf(doc)); {
	case widget != "" && text < maxChallengeText:
		return Block{Captcha, widget}
	case title != "" && text < maxChallengeText:
		return Block{Challenge, title}
	}
	return Block{}
}

// widgetOf names the CAPTCHA widget that an element is, or "".
func widgetOf(n *html.Node) string {
	for _, name := range [...]string{"class", "id"} {
		for _, word := range strings.Fields(strings.ToLower(attribute(n, name))) {
			switch word {
			case "g-recaptcha", "h-captcha", "cf-turnstile", "frc-captcha", "smart-captcha", "px-captcha", "geetest_captcha", "captcha-box", "captcha-form":
				return word
			}
		}
	}
	return ""
}

// challengeTitle is the beginning of a title that marks a challenge page, or "".
func challengeTitle(title string) string {
	title = strings.ToLower(title)
	for _, t := range [...]string{
		"just a moment", "attention required", "are you a robot", "are you human", "robot check",
		"verify you are human", "please verify you are", "human verification", "security check",
		"pardon our interruption", "checking your browser",
	} {
		if strings.HasPrefix(title, t) {
			return t
		}
	}
	return ""
}

// isInput reports whether a person fills in the element.
func isInput(n *html.Node) bool {
	if strings.Contains(strings.ToLower(attribute(n, "name")+attribute(n, "id")), "captcha") {
		return false
	}
	switch n.DataAtom {
	case atom.Textarea, atom.Select:
		return true
	case atom.Input:
		switch strings.ToLower(attribute(n, "type")) {
		case "", "text", "email", "password", "search", "tel", "number", "url":
			return true
		}
	}
	return false
}
