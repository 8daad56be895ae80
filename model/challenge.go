package model

import (
	"slices"
	"strings"
)

// This file is what the console knows of challenge pages, as data. It is public
// knowledge about bot defences, not part of the contract, which says "CAPTCHA"
// and no more (service.md 7).
//
// Marks are structural on purpose: a class, an id, the address of a script, a
// title. The word "captcha" in an article, in a comment or in a JSON text does not
// count. Neither does a widget alone, because ordinary forms carry one: see
// page.challenge.

// sign is what a mark stands for.
type sign struct {
	of string
	// sure says that the mark stands on challenge pages only; otherwise it is a
	// widget that ordinary pages carry too.
	sure bool
	// image says that the mark is a picture to be read, which comes with a field
	// to type what it shows.
	image bool
}

// elementMarks are classes and ids, in lower case.
var elementMarks = map[string]sign{
	"g-recaptcha":             {of: "a reCAPTCHA widget"},
	"recaptcha":               {of: "a reCAPTCHA widget"},
	"h-captcha":               {of: "an hCaptcha widget"},
	"hcaptcha":                {of: "an hCaptcha widget"},
	"cf-turnstile":            {of: "a Turnstile widget"},
	"smart-captcha":           {of: "a SmartCaptcha widget"},
	"frc-captcha":             {of: "a Friendly Captcha widget"},
	"mtcaptcha":               {of: "an MTCaptcha widget"},
	"funcaptcha":              {of: "an Arkose widget"},
	"arkose":                  {of: "an Arkose widget"},
	"captcha":                 {of: "a CAPTCHA element"},
	"captcha-box":             {of: "a CAPTCHA element"},
	"captcha-form":            {of: "a CAPTCHA form"},
	"captcha-container":       {of: "a CAPTCHA element"},
	"captcha-image":           {of: "a CAPTCHA image", image: true},
	"px-captcha":              {of: "a PerimeterX challenge", sure: true},
	"cf-challenge":            {of: "a Cloudflare challenge", sure: true},
	"cf-challenge-running":    {of: "a Cloudflare challenge", sure: true},
	"cf-browser-verification": {of: "a Cloudflare challenge", sure: true},
	"cf-im-under-attack":      {of: "a Cloudflare challenge", sure: true},
	"cf-captcha-container":    {of: "a Cloudflare challenge", sure: true},
	"sec-if-cpt-container":    {of: "an Akamai challenge", sure: true},
	"sec-cpt-if":              {of: "an Akamai challenge", sure: true},
	"checkboxcaptcha":         {of: "a SmartCaptcha challenge", sure: true},
}

// shortestElementMark lets the scanner pass over most classes without a look-up.
const shortestElementMark = len("arkose")

// elementPrefix is the one family of classes that is known by its beginning.
const elementPrefix = "geetest_"

var elementPrefixSign = sign{of: "a GeeTest widget"}

// partMark holds when a text contains all of its parts.
type partMark struct {
	// tags are the elements on which it counts, for addresses.
	tags  []string
	parts []string
	sign
}

// addressMarks are looked for in src and action attributes, in lower case.
// Scripts that ordinary pages load too (recaptcha/api.js, a Turnstile or GeeTest
// loader, Cloudflare's jsd, Imperva's and DataDome's tags) are left out on purpose.
var addressMarks = []partMark{
	{tags: []string{"script"}, parts: []string{"challenge-platform/", "/orchestrate/"}, sign: sign{of: "a Cloudflare challenge", sure: true}},
	{tags: []string{"form"}, parts: []string{"__cf_chl_"}, sign: sign{of: "a Cloudflare challenge", sure: true}},
	{tags: []string{"script", "iframe"}, parts: []string{"captcha-delivery.com/"}, sign: sign{of: "a DataDome challenge", sure: true}},
	{tags: []string{"script"}, parts: []string{"captcha.px-cdn.net/"}, sign: sign{of: "a PerimeterX challenge", sure: true}},
	{tags: []string{"script"}, parts: []string{"captcha.px-cloud.net/"}, sign: sign{of: "a PerimeterX challenge", sure: true}},
	{tags: []string{"iframe"}, parts: []string{"_incapsula_resource"}, sign: sign{of: "an Imperva challenge", sure: true}},
	{tags: []string{"form"}, parts: []string{"validatecaptcha"}, sign: sign{of: "a CAPTCHA form", sure: true}},
	{tags: []string{"form"}, parts: []string{"/checkcaptcha"}, sign: sign{of: "a SmartCaptcha challenge", sure: true}},
	{tags: []string{"iframe"}, parts: []string{"recaptcha/api2/bframe"}, sign: sign{of: "a reCAPTCHA widget"}},
	{tags: []string{"iframe"}, parts: []string{"hcaptcha.com/captcha"}, sign: sign{of: "an hCaptcha widget"}},
	{tags: []string{"iframe"}, parts: []string{"challenges.cloudflare.com/"}, sign: sign{of: "a Turnstile widget"}},
	{tags: []string{"iframe"}, parts: []string{"arkoselabs.com/"}, sign: sign{of: "an Arkose widget"}},
	{tags: []string{"iframe"}, parts: []string{"funcaptcha.com/"}, sign: sign{of: "an Arkose widget"}},
	{tags: []string{"img"}, parts: []string{"captcha"}, sign: sign{of: "a CAPTCHA image", image: true}},
}

// scriptMarks are looked for in the text of inline scripts, as written.
var scriptMarks = []partMark{
	{parts: []string{"_cf_chl_opt"}, sign: sign{of: "a Cloudflare challenge", sure: true}},
	{parts: []string{"gokuProps"}, sign: sign{of: "an AWS WAF challenge", sure: true}},
	{parts: []string{"geo.captcha-delivery.com", "dd="}, sign: sign{of: "a DataDome challenge", sure: true}},
	{parts: []string{"initGeetest"}, sign: sign{of: "a GeeTest widget"}},
	{parts: []string{"grecaptcha.render("}, sign: sign{of: "a reCAPTCHA widget"}},
	{parts: []string{"hcaptcha.render("}, sign: sign{of: "an hCaptcha widget"}},
	{parts: []string{"turnstile.render("}, sign: sign{of: "a Turnstile widget"}},
}

// jsonMarks are looked for in short JSON answers, which defences give to calls
// that do not look like a browser's.
var jsonMarks = []partMark{
	{parts: []string{`"url":"https://geo.captcha-delivery.com/`}, sign: sign{of: "a DataDome challenge", sure: true}},
	{parts: []string{`"blockScript":"`, `"appId":"PX`}, sign: sign{of: "a PerimeterX challenge", sure: true}},
}

// challengeTitles are the beginnings of titles of challenge pages, in lower case.
var challengeTitles = []string{
	"just a moment", "attention required", "are you a robot", "are you human",
	"robot check", "verify you are human", "please verify you are", "human verification",
	"security check", "pardon our interruption", "access to this page has been denied",
	"checking your browser", "one more step", "captcha", "bot verification", "client challenge",
}

// challengeHeaders are headers by which a defence names its own answer, in lower
// case and without spaces around the colon.
var challengeHeaders = []string{
	"cf-mitigated:challenge", "x-amzn-waf-action:captcha", "x-amzn-waf-action:challenge",
}

// ChallengeHeaders names the headers of an answer that Diagnose looks at, in
// lower case. An Outcome cites those that the target sent in HeaderEvidence, as
// "name: value".
func ChallengeHeaders() []string {
	var names []string
	for _, h := range challengeHeaders {
		name, _, _ := strings.Cut(h, ":")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Bounds of what counts as a page with little on it, in bytes of visible text.
const (
	littleText    = 1500 // a challenge has a few sentences
	littleTextMax = 6000 // with a challenge's title it may explain itself
)

// challenge reports whether the page is a challenge rather than a page that
// carries a widget: either a mark says so by itself, or there is a widget or a
// telling title, hardly any text, and nothing else for a person to fill in.
func (p page) challenge() bool {
	if p.sure {
		return true
	}
	fields := p.fields
	if p.image && fields > 0 {
		fields-- // where the picture's text is typed
	}
	if fields > 0 || p.cut {
		return false
	}
	switch {
	case p.widget && p.telling:
		return p.text < littleTextMax
	case p.widget, p.telling:
		return p.text < littleText
	default:
		return false
	}
}
