package model

import (
	"slices"
	"strings"
)

// This file is what the console knows of challenge pages, as data. It is public
// knowledge about bot defences, not part of the contract, which says "CAPTCHA"
// and no more (service.md 7). docs/diagnosis.md lists it for operators.
//
// Signs are structural on purpose: a class, an id, the address of a script, a
// title, the beginning of a text. The word "captcha" in an article, in a comment
// or in a JSON text does not count. A title, a widget, a sentence or a script that
// a defence adds to every page does not count alone either: see page.weigh.

// strength is what a sign is worth.
type strength int

const (
	// decides: the sign stands on challenge pages only.
	decides strength = iota
	// widget: a CAPTCHA, which ordinary forms carry too.
	widget
	// picture: letters to be read, which come with a field to type them.
	picture
	// trace: what a defence adds to the pages that it lets through as well.
	trace
	// titled: the page's title.
	titled
	// words: a text of the page begins with them.
	words
)

// sign is what a mark stands for.
type sign struct {
	of       string
	strength strength
	// refusal says that the page refuses, with nothing to be solved.
	refusal bool
}

// elementMarks are classes and ids, in lower case.
var elementMarks = map[string]sign{
	"g-recaptcha":              {of: "a reCAPTCHA widget", strength: widget},
	"recaptcha":                {of: "a reCAPTCHA widget", strength: widget},
	"h-captcha":                {of: "an hCaptcha widget", strength: widget},
	"hcaptcha":                 {of: "an hCaptcha widget", strength: widget},
	"cf-turnstile":             {of: "a Turnstile widget", strength: widget},
	"smart-captcha":            {of: "a SmartCaptcha widget", strength: widget},
	"frc-captcha":              {of: "a Friendly Captcha widget", strength: widget},
	"mtcaptcha":                {of: "an MTCaptcha widget", strength: widget},
	"funcaptcha":               {of: "an Arkose widget", strength: widget},
	"arkose":                   {of: "an Arkose widget", strength: widget},
	"tcaptcha_iframe":          {of: "a Tencent widget", strength: widget},
	"tencentcaptcha":           {of: "a Tencent widget", strength: widget},
	"nc-container":             {of: "an Alibaba slider", strength: widget},
	"nc_1_nocaptcha":           {of: "an Alibaba slider", strength: widget},
	"nocaptcha":                {of: "an Alibaba slider", strength: widget},
	"captcha-verify-container": {of: "a ByteDance slider", strength: widget},
	"captcha_verify_container": {of: "a ByteDance slider", strength: widget},
	"captcha-slider":           {of: "a slider", strength: widget},
	"slider-captcha":           {of: "a slider", strength: widget},
	"slidercaptcha":            {of: "a slider", strength: widget},
	"slide-verify":             {of: "a slider", strength: widget},
	"slider-verify":            {of: "a slider", strength: widget},
	"captcha_slider":           {of: "a slider", strength: widget},
	"verify-slider":            {of: "a slider", strength: widget},
	"captcha":                  {of: "a CAPTCHA element", strength: widget},
	"captcha-box":              {of: "a CAPTCHA element", strength: widget},
	"captcha-form":             {of: "a CAPTCHA form", strength: widget},
	"captcha-container":        {of: "a CAPTCHA element", strength: widget},
	"captcha_container":        {of: "a CAPTCHA element", strength: widget},
	"captcha-image":            {of: "a CAPTCHA image", strength: picture},
	"px-captcha":               {of: "a PerimeterX challenge"},
	"cf-challenge":             {of: "a Cloudflare challenge"},
	"cf-challenge-running":     {of: "a Cloudflare challenge"},
	"cf-browser-verification":  {of: "a Cloudflare challenge"},
	"cf-im-under-attack":       {of: "a Cloudflare challenge"},
	"cf-captcha-container":     {of: "a Cloudflare challenge"},
	"sec-if-cpt-container":     {of: "an Akamai challenge"},
	"sec-cpt-if":               {of: "an Akamai challenge"},
	"checkboxcaptcha":          {of: "a SmartCaptcha challenge"},
	"anubis_challenge":         {of: "an Anubis challenge"},
	"baxia-punish":             {of: "an Alibaba challenge"},
	"waf_nc_block":             {of: "an Alibaba challenge"},
	"distilcaptchaform":        {of: "an Imperva challenge"},
}

// shortestElementMark lets the scanner pass over most classes without a look-up.
const shortestElementMark = len("arkose")

// elementPrefixes are the families of classes that are known by their beginning.
var elementPrefixes = []struct {
	text string
	sign
}{
	{"geetest_", sign{of: "a GeeTest widget", strength: widget}},
	{"yidun_", sign{of: "a NetEase slider", strength: widget}},
}

// partMark holds when a text contains all of its parts and not the one of without.
type partMark struct {
	// tags are the elements on which it counts, for addresses.
	tags    []string
	parts   []string
	without string
	sign
}

// addressMarks are looked for in src and action attributes, in lower case.
// Scripts that ordinary pages load too (recaptcha/api.js, a Turnstile or GeeTest
// loader, Cloudflare's jsd, DataDome's tags) are left out on purpose.
var addressMarks = []partMark{
	{tags: []string{"script"}, parts: []string{"challenge-platform/", "/orchestrate/"}, sign: sign{of: "a Cloudflare challenge"}},
	{tags: []string{"form"}, parts: []string{"__cf_chl_"}, sign: sign{of: "a Cloudflare challenge"}},
	{tags: []string{"script", "iframe"}, parts: []string{"captcha-delivery.com/"}, sign: sign{of: "a DataDome challenge"}},
	{tags: []string{"script"}, parts: []string{"captcha.px-cdn.net/"}, sign: sign{of: "a PerimeterX challenge"}},
	{tags: []string{"script"}, parts: []string{"captcha.px-cloud.net/"}, sign: sign{of: "a PerimeterX challenge"}},
	{tags: []string{"script"}, parts: []string{"/_sec/cp_challenge/"}, sign: sign{of: "an Akamai challenge"}},
	{tags: []string{"iframe"}, parts: []string{"_incapsula_resource"}, sign: sign{of: "an Imperva challenge"}},
	{tags: []string{"script"}, parts: []string{"_incapsula_resource"}, sign: sign{of: "an Imperva script", strength: trace}},
	{tags: []string{"script"}, parts: []string{"/tspd/"}, sign: sign{of: "an F5 script", strength: trace}},
	{tags: []string{"script"}, parts: []string{"/_fs-ch-"}, sign: sign{of: "a Fastly script", strength: trace}},
	{tags: []string{"script"}, parts: []string{"/.within.website/x/cmd/anubis/"}, sign: sign{of: "an Anubis challenge"}},
	{tags: []string{"script"}, parts: []string{"/static/touch/js/mkdjump"}, sign: sign{of: "a Baidu challenge"}},
	{tags: []string{"form"}, parts: []string{"/_____tmd_____/"}, sign: sign{of: "an Alibaba challenge"}},
	{tags: []string{"form"}, parts: []string{"/.well-known/sgcaptcha"}, sign: sign{of: "a SiteGround challenge"}},
	{tags: []string{"form"}, parts: []string{"/errors/validatecaptcha"}, sign: sign{of: "an Amazon challenge"}},
	{tags: []string{"form"}, parts: []string{"validatecaptcha"}, without: "/errors/", sign: sign{of: "a CAPTCHA form", strength: widget}},
	{tags: []string{"form"}, parts: []string{"/checkcaptcha"}, sign: sign{of: "a SmartCaptcha challenge"}},
	{tags: []string{"iframe"}, parts: []string{"recaptcha/", "/anchor?"}, without: "size=invisible", sign: sign{of: "a reCAPTCHA widget", strength: widget}},
	{tags: []string{"iframe"}, parts: []string{"hcaptcha.com/captcha"}, without: "size=invisible", sign: sign{of: "an hCaptcha widget", strength: widget}},
	{tags: []string{"iframe"}, parts: []string{"challenges.cloudflare.com/"}, sign: sign{of: "a Turnstile widget", strength: widget}},
	{tags: []string{"iframe"}, parts: []string{"arkoselabs.com/"}, sign: sign{of: "an Arkose widget", strength: widget}},
	{tags: []string{"iframe"}, parts: []string{"funcaptcha.com/"}, sign: sign{of: "an Arkose widget", strength: widget}},
	{tags: []string{"img"}, parts: []string{"captcha"}, sign: sign{of: "a CAPTCHA image", strength: picture}},
}

// loaders are parts of addresses that are a CAPTCHA's own scripts, pictures and
// frames: no sign, and nothing that a page shows besides.
var loaders = []string{"captcha", "turnstile", "geetest", "arkose", "challenges.cloudflare.com/"}

// scriptMarks are looked for in the text of inline scripts, as written.
var scriptMarks = []partMark{
	{parts: []string{"_cf_chl_opt"}, sign: sign{of: "a Cloudflare challenge"}},
	{parts: []string{"gokuProps"}, sign: sign{of: "an AWS WAF challenge"}},
	{parts: []string{"geo.captcha-delivery.com", "dd="}, sign: sign{of: "a DataDome challenge"}},
	{parts: []string{"bm-verify", "/_sec/verify"}, sign: sign{of: "an Akamai challenge"}},
	{parts: []string{"sucuri_cloudproxy_js"}, sign: sign{of: "a Sucuri challenge"}},
	{parts: []string{"sgchallenge", "sgcaptcha"}, sign: sign{of: "a SiteGround challenge"}},
	{parts: []string{"acw_sc__v2", "arg1="}, sign: sign{of: "an Alibaba challenge"}},
	{parts: []string{"validate.perfdrive.com", "location"}, sign: sign{of: "a Radware challenge"}},
	{parts: []string{`window["bobcmn"]`}, sign: sign{of: "an F5 script", strength: trace}},
	{parts: []string{"initGeetest"}, sign: sign{of: "a GeeTest widget", strength: widget}},
	{parts: []string{"new TencentCaptcha("}, sign: sign{of: "a Tencent widget", strength: widget}},
	{parts: []string{"grecaptcha.render("}, without: "invisible", sign: sign{of: "a reCAPTCHA widget", strength: widget}},
	{parts: []string{"hcaptcha.render("}, without: "invisible", sign: sign{of: "an hCaptcha widget", strength: widget}},
	{parts: []string{"turnstile.render("}, without: "invisible", sign: sign{of: "a Turnstile widget", strength: widget}},
}

// jsonMarks are looked for in short JSON answers, which defences give to calls
// that do not look like a browser's.
var jsonMarks = []partMark{
	{parts: []string{`"url":"https://geo.captcha-delivery.com/`}, sign: sign{of: "a DataDome challenge"}},
	{parts: []string{`"blockScript":"`, `"appId":"PX`}, sign: sign{of: "a PerimeterX challenge"}},
	{parts: []string{`"FAIL_SYS_USER_VALIDATE`, "/_____tmd_____/punish"}, sign: sign{of: "an Alibaba challenge"}},
}

// challengeCookies are the beginnings of names of cookies that a defence sets with
// every answer: traces.
var challengeCookies = []struct{ name, of string }{
	{"incap_ses_", "an Imperva cookie"},
	{"TSPD_", "an F5 cookie"},
	{"bm_sc", "an Akamai cookie"},
	{"datadome", "a DataDome cookie"},
	{"aws-waf-token", "an AWS WAF cookie"},
	{"x5sec", "an Alibaba cookie"},
}

// challengeTitles are whole titles of challenge pages, in lower case: what follows
// a " | " or a " - ", and marks at the end, is left out when they are compared.
var challengeTitles = []string{
	"just a moment", "attention required", "are you a robot", "are you human", "are you a human", "robot or human",
	"robot check", "robot challenge screen", "verify", "verification", "verification required", "security verification",
	"verify you are human", "verify you are a human", "please verify you are human", "please verify you are a human",
	"please verify you are not a robot", "human verification", "bot verification", "security check",
	"vercel security checkpoint", "pardon our interruption", "access to this page has been denied",
	"checking your browser", "one more step", "captcha", "captcha interception", "captcha challenge",
	"client challenge", "challenge validation", "slide to verify", "slider verification", "ddos-guard",
	"making sure you're not a bot", "you are being redirected",
	"百度安全验证", "安全验证", "人机验证", "滑动验证", "验证码", "验证码中间页", "验证码拦截",
}

// refusalTitles are the same for pages with nothing to be solved.
var refusalTitles = []string{
	"access denied", "access blocked", "request rejected", "request blocked", "blocked", "forbidden", "403 forbidden",
	"sucuri website firewall", "sorry, you have been blocked", "your access to this site has been limited",
}

// challengeWords are what a text of a challenge page begins with, in lower case.
var challengeWords = []struct {
	begins string
	// holds are texts of which one must follow, nil when none must.
	holds []string
	sign
}{
	{begins: "verify you are", holds: people, sign: human},
	{begins: "verify that you are", holds: people, sign: human},
	{begins: "verifying you are", holds: people, sign: human},
	{begins: "please verify", holds: people, sign: human},
	{begins: "please confirm", holds: people, sign: human},
	{begins: "confirm you are", holds: people, sign: human},
	{begins: "confirm that you are", holds: people, sign: human},
	{begins: "please prove", holds: people, sign: human},
	{begins: "prove you are", holds: people, sign: human},
	{begins: "prove that you are", holds: people, sign: human},
	{begins: "please show that you are", holds: people, sign: human},
	{begins: "we need to make sure", holds: people, sign: human},
	{begins: "we need to check if you are", holds: people, sign: human},
	{begins: "sorry, we just need to make sure", holds: people, sign: human},
	{begins: "let's confirm", holds: people, sign: human},
	{begins: "confirm you're", holds: people, sign: human},
	{begins: "verify you're", holds: people, sign: human},
	{begins: "prove you're", holds: people, sign: human},
	{begins: "before we continue", holds: people, sign: human},
	{begins: "before you continue", holds: people, sign: human},
	{begins: "to access this page", holds: people, sign: human},
	{begins: "bitte bestätigen sie", holds: people, sign: human},
	{begins: "veuillez confirmer", holds: people, sign: human},
	{begins: "veuillez vérifier", holds: people, sign: human},
	{begins: "confirma que", holds: people, sign: human},
	{begins: "verifica que", holds: people, sign: human},
	{begins: "confirme que", holds: people, sign: human},
	{begins: "confirme se", holds: people, sign: human},
	{begins: "подтвердите, что", holds: people, sign: human},
	{begins: "i'm not a robot", sign: human},
	{begins: "press & hold", sign: human},
	{begins: "press and hold", sign: human},
	{begins: "to continue, please", holds: people, sign: human},
	{begins: "to proceed, please", holds: people, sign: human},
	{begins: "complete the security check", sign: solve},
	{begins: "please complete the security check", sign: solve},
	{begins: "please complete the captcha", sign: solve},
	{begins: "complete the captcha", sign: solve},
	{begins: "please solve th", sign: solve},
	{begins: "solve the captcha", sign: solve},
	{begins: "enter the characters you see", sign: solve},
	{begins: "type the characters you see", sign: solve},
	{begins: "slide to verify", sign: solve},
	{begins: "please slide to verify", sign: solve},
	{begins: "slide right to", sign: solve},
	{begins: "slide to complete", sign: solve},
	{begins: "slide to continue", sign: solve},
	{begins: "slide to unlock", sign: solve},
	{begins: "drag the piece", sign: solve},
	{begins: "please complete the challenge", sign: solve},
	{begins: "please complete the verification", sign: solve},
	{begins: "please complete verification", sign: solve},
	{begins: "drag the slider", sign: solve},
	{begins: "please drag the slider", sign: solve},
	{begins: "drag the puzzle", sign: solve},
	{begins: "move the slider", sign: solve},
	{begins: "enable javascript and cookies to continue", sign: browser},
	{begins: "please enable cookies", sign: browser},
	{begins: "please enable js and disable any ad blocker", sign: browser},
	{begins: "please turn javascript on", sign: browser},
	{begins: "javascript is required. please enable javascript before", sign: browser},
	{begins: "please enable javascript to view the page content", sign: browser},
	{begins: "javascript is disabled in your browser", sign: browser},
	{begins: "checking your browser", sign: browser},
	{begins: "checking if the site connection is secure", sign: browser},
	{begins: "we're verifying your browser", sign: browser},
	{begins: "you are seeing this because the administrator", sign: browser},
	{begins: "our systems have detected unusual traffic", sign: traffic},
	{begins: "unusual traffic", sign: traffic},
	{begins: "sorry, we have detected unusual traffic", sign: traffic},
	{begins: "we have detected unusual", sign: traffic},
	{begins: "as you were browsing", sign: traffic},
	{begins: "to discuss automated access", sign: traffic},
	{begins: "请完成下方验证", sign: solve},
	{begins: "请完成安全验证", sign: solve},
	{begins: "请拖动", sign: solve},
	{begins: "拖动", sign: solve},
	{begins: "请按住滑块", sign: solve},
	{begins: "按住滑块", sign: solve},
	{begins: "请向右滑动", sign: solve},
	{begins: "向右滑动", sign: solve},
	{begins: "请输入验证码", sign: solve},
	{begins: "网络不给力", sign: traffic},
	{begins: "访问过于频繁", sign: traffic},
	{begins: "the requested url was rejected", sign: refused},
	{begins: "your support id is", sign: refused},
	{begins: "you don't have permission to access", holds: []string{"on this server"}, sign: refused},
	{begins: "reference #", sign: refused},
	{begins: "sorry, you have been blocked", sign: refused},
	{begins: "you have been blocked", sign: refused},
	{begins: "your request has been blocked", sign: refused},
	{begins: "your access to this site has been limited", sign: refused},
	{begins: "your access to this service has been limited", sign: refused},
	{begins: "if you are the site owner (or you manage this site)", sign: refused},
	{begins: "request unsuccessful. incapsula incident id", sign: refused},
}

// people are whom a challenge tells apart.
var people = []string{"human", "robot", "not a bot", "mensch", "humain", "robô", "робот", "человек"}

// The signs of challengeWords.
var (
	human   = sign{of: "it asks for a human", strength: words}
	solve   = sign{of: "it asks to solve something", strength: words}
	browser = sign{of: "it asks for a browser", strength: words}
	traffic = sign{of: "it speaks of unusual traffic", strength: words}
	refused = sign{of: "it refuses the request", strength: words, refusal: true}
)

// challengeHeaders are headers by which a defence names its own answer, in lower
// case and without spaces around the colon.
var challengeHeaders = []string{
	"cf-mitigated:challenge", "x-amzn-waf-action:captcha", "x-amzn-waf-action:challenge",
	"sg-captcha:challenge", "x-vercel-mitigated:challenge",
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

// challengeAddress is an address to which a defence leads in place of the page.
// Each part that is not empty must be in its part of the address.
type challengeAddress struct {
	host, path, query string
	of                string
}

// challengeAddresses are compared with where a redirect or a refresh leads. A host
// holds for those below it, too.
var challengeAddresses = []challengeAddress{
	{host: "captcha-delivery.com", of: "a DataDome challenge"},
	{host: "validate.perfdrive.com", of: "a Radware challenge"},
	{host: "wappass.baidu.com", path: "/static/captcha", of: "a Baidu challenge"},
	{host: "verify.meituan.com", of: "a Meituan challenge"},
	{host: "linkedin.com", path: "/checkpoint/challenge", of: "a LinkedIn challenge"},
	{host: "google.", path: "/sorry/", of: "a Google challenge"},
	{path: "/.well-known/sgcaptcha", of: "a SiteGround challenge"},
	{path: "/.within.website/x/cmd/anubis/", of: "an Anubis challenge"},
	{path: "/_____tmd_____/", of: "an Alibaba challenge"},
	{path: "/showcaptcha", of: "a SmartCaptcha challenge"},
	{path: "/errors/validatecaptcha", of: "an Amazon challenge"},
	{path: "/splashui/captcha", of: "an eBay challenge"},
	{path: "/splashui/challenge", of: "an eBay challenge"},
	{path: "/distil_r_", of: "an Imperva challenge"},
	{path: "/_incapsula_resource", of: "an Imperva challenge"},
	{path: "/cdn-cgi/challenge-platform/", of: "a Cloudflare challenge"},
	{query: "__cf_chl_", of: "a Cloudflare challenge"},
	{query: "bm-verify=", of: "an Akamai challenge"},
}

// leadsTo finds the challenge that an address is known for. The place is that of
// the first part that was recognised.
func leadsTo(address string) (of string, at, length int, ok bool) {
	b := []byte(address[:min(len(address), maxAddress)])
	for i, c := range b {
		b[i] = lowerByte(c) // places stay what they are, which strings.ToLower does not promise
	}
	low := string(b)
	rest, query := low, ""
	if i := strings.IndexAny(low, "?#"); i >= 0 {
		rest, query = low[:i], low[i:]
	}
	host, path := "", rest
	if i := strings.Index(rest, "//"); i == 0 || i > 0 && rest[i-1] == ':' {
		host, path, _ = strings.Cut(rest[i+2:], "/")
		path = "/" + path
	}
	for _, a := range challengeAddresses {
		if a.host != "" && !below(host, a.host) || !strings.Contains(path, a.path) || !strings.Contains(query, a.query) {
			continue
		}
		for _, part := range []string{a.path, a.host, a.query} {
			if part != "" {
				return a.of, strings.Index(low, part), len(part), true
			}
		}
	}
	return "", 0, 0, false
}

// below reports whether a host is the given one or below it. One that ends in a dot
// stands for any top-level domain.
func below(host, of string) bool {
	if strings.HasSuffix(of, ".") {
		return strings.Contains("."+host, "."+of)
	}
	return strings.HasSuffix("."+host, "."+of)
}
