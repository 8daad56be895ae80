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
// a defence adds to every page does not count alone either: see page.weigh. The keys that
// vendors publish for trying a widget tell nothing: walls of sites that are not public yet
// have them, as demonstrations have.

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
	// words: a text of the page asks for something, or speaks of it.
	words
	// refusing: a text refuses, with nothing to be solved.
	refusing
)

// sign is what a mark stands for.
type sign struct {
	name     string
	strength strength
}

// elementMarks are classes and ids, in lower case.
var elementMarks = map[string]sign{
	"g-recaptcha":              {name: "a reCAPTCHA widget", strength: widget},
	"recaptcha":                {name: "a reCAPTCHA widget", strength: widget},
	"h-captcha":                {name: "an hCaptcha widget", strength: widget},
	"hcaptcha":                 {name: "an hCaptcha widget", strength: widget},
	"cf-turnstile":             {name: "a Turnstile widget", strength: widget},
	"smart-captcha":            {name: "a SmartCaptcha widget", strength: widget},
	"frc-captcha":              {name: "a Friendly Captcha widget", strength: widget},
	"mtcaptcha":                {name: "an MTCaptcha widget", strength: widget},
	"funcaptcha":               {name: "an Arkose widget", strength: widget},
	"arkose":                   {name: "an Arkose widget", strength: widget},
	"tcaptcha_iframe":          {name: "a Tencent widget", strength: widget},
	"tencentcaptcha":           {name: "a Tencent widget", strength: widget},
	"nc-container":             {name: "an Alibaba slider", strength: widget},
	"nc_1_nocaptcha":           {name: "an Alibaba slider", strength: widget},
	"nocaptcha":                {name: "an Alibaba slider", strength: widget},
	"captcha-verify-container": {name: "a ByteDance slider", strength: widget},
	"captcha_verify_container": {name: "a ByteDance slider", strength: widget},
	"captcha-slider":           {name: "a slider", strength: widget},
	"slider-captcha":           {name: "a slider", strength: widget},
	"slidercaptcha":            {name: "a slider", strength: widget},
	"slide-verify":             {name: "a slider", strength: widget},
	"slider-verify":            {name: "a slider", strength: widget},
	"captcha_slider":           {name: "a slider", strength: widget},
	"verify-slider":            {name: "a slider", strength: widget},
	"captcha":                  {name: "a CAPTCHA element", strength: widget},
	"captcha-box":              {name: "a CAPTCHA element", strength: widget},
	"captcha-form":             {name: "a CAPTCHA form", strength: widget},
	"captcha-container":        {name: "a CAPTCHA element", strength: widget},
	"captcha_container":        {name: "a CAPTCHA element", strength: widget},
	"captcha-image":            {name: "a CAPTCHA image", strength: picture},
	"px-captcha":               {name: "a PerimeterX challenge"},
	"cf-challenge":             {name: "a Cloudflare challenge"},
	"cf-challenge-running":     {name: "a Cloudflare challenge"},
	"cf-browser-verification":  {name: "a Cloudflare challenge"},
	"cf-im-under-attack":       {name: "a Cloudflare challenge"},
	"cf-captcha-container":     {name: "a Cloudflare challenge"},
	"sec-if-cpt-container":     {name: "an Akamai challenge"},
	"sec-cpt-if":               {name: "an Akamai challenge"},
	"checkboxcaptcha":          {name: "a SmartCaptcha challenge"},
	"anubis_challenge":         {name: "an Anubis challenge"},
	"renderdata":               {name: "an Alibaba page", strength: trace},
	"baxia-punish":             {name: "an Alibaba challenge"},
	"waf_nc_block":             {name: "an Alibaba challenge"},
	"distilcaptchaform":        {name: "an Imperva challenge"},
}

// shortestElementMark lets the scanner pass over most classes without a look-up.
const shortestElementMark = len("arkose")

// elementPrefixes are the families of classes that are known by their beginning.
var elementPrefixes = []struct {
	text string
	sign
}{
	{"anomaly-modal__", sign{name: "a DuckDuckGo challenge"}},
	{"geetest_", sign{name: "a GeeTest widget", strength: widget}},
	{"yidun_", sign{name: "a NetEase slider", strength: widget}},
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
	{tags: []string{"script"}, parts: []string{"challenge-platform/", "/orchestrate/"}, sign: sign{name: "a Cloudflare challenge"}},
	{tags: []string{"form"}, parts: []string{"__cf_chl_"}, sign: sign{name: "a Cloudflare challenge"}},
	{tags: []string{"script", "iframe"}, parts: []string{"captcha-delivery.com/"}, sign: sign{name: "a DataDome challenge"}},
	{tags: []string{"script"}, parts: []string{"captcha.px-cdn.net/"}, sign: sign{name: "a PerimeterX challenge"}},
	{tags: []string{"script"}, parts: []string{"captcha.px-cloud.net/"}, sign: sign{name: "a PerimeterX challenge"}},
	{tags: []string{"script"}, parts: []string{"/_sec/cp_challenge/"}, sign: sign{name: "an Akamai challenge"}},
	{tags: []string{"iframe"}, parts: []string{"_incapsula_resource"}, sign: sign{name: "an Imperva challenge"}},
	{tags: []string{"script"}, parts: []string{"_incapsula_resource"}, sign: sign{name: "an Imperva script", strength: trace}},
	{tags: []string{"script"}, parts: []string{"/tspd/"}, sign: sign{name: "an F5 script", strength: trace}},
	{tags: []string{"script"}, parts: []string{"/_fs-ch-"}, sign: sign{name: "a Fastly script", strength: trace}},
	{tags: []string{"script"}, parts: []string{"/.safeline/"}, sign: sign{name: "a SafeLine challenge"}},
	{tags: []string{"iframe"}, parts: []string{"/checkpoint/challenge/"}, sign: sign{name: "a LinkedIn challenge"}},
	{tags: []string{"script"}, parts: []string{"turing.captcha.qcloud.com/"}, sign: sign{name: "a Tencent script", strength: trace}},
	{tags: []string{"script"}, parts: []string{"/.within.website/x/cmd/anubis/"}, sign: sign{name: "an Anubis challenge"}},
	{tags: []string{"script"}, parts: []string{"/.bunny-shield/assets/shield-challenge"}, sign: sign{name: "a Bunny Shield challenge"}},
	{tags: []string{"script"}, parts: []string{"/.azwaf/"}, sign: sign{name: "an Azure WAF script", strength: trace}},
	{tags: []string{"script"}, parts: []string{"/__qrator/"}, sign: sign{name: "a Qrator script", strength: trace}},
	{tags: []string{"script"}, parts: []string{"/static/touch/js/mkdjump"}, sign: sign{name: "a Baidu challenge"}},
	{tags: []string{"form"}, parts: []string{"/_____tmd_____/"}, sign: sign{name: "an Alibaba challenge"}},
	{tags: []string{"form"}, parts: []string{"/.well-known/sgcaptcha"}, sign: sign{name: "a SiteGround challenge"}},
	{tags: []string{"form"}, parts: []string{"/errors/validatecaptcha"}, sign: sign{name: "an Amazon challenge"}},
	{tags: []string{"form"}, parts: []string{"validatecaptcha"}, without: "/errors/", sign: sign{name: "a CAPTCHA form", strength: widget}},
	{tags: []string{"form"}, parts: []string{"/checkcaptcha"}, sign: sign{name: "a SmartCaptcha challenge"}},
	{tags: []string{"iframe"}, parts: []string{"recaptcha/", "/anchor?"}, without: "size=invisible", sign: sign{name: "a reCAPTCHA widget", strength: widget}},
	{tags: []string{"iframe"}, parts: []string{"hcaptcha.com/captcha"}, without: "size=invisible", sign: sign{name: "an hCaptcha widget", strength: widget}},
	{tags: []string{"iframe"}, parts: []string{"challenges.cloudflare.com/"}, sign: sign{name: "a Turnstile widget", strength: widget}},
	{tags: []string{"iframe"}, parts: []string{"arkoselabs.com/"}, sign: sign{name: "an Arkose widget", strength: widget}},
	{tags: []string{"iframe"}, parts: []string{"funcaptcha.com/"}, sign: sign{name: "an Arkose widget", strength: widget}},
	{tags: []string{"img"}, parts: []string{"captcha"}, sign: sign{name: "a CAPTCHA image", strength: picture}},
}

// loaders are parts of addresses that are a CAPTCHA's own scripts, pictures and
// frames: no sign, and nothing that a page shows besides.
var loaders = []string{"captcha", "turnstile", "geetest", "arkose", "challenges.cloudflare.com/"}

// scriptMarks are looked for in the text of inline scripts, as written.
var scriptMarks = []partMark{
	{parts: []string{"_pxAppId", "captcha.js"}, sign: sign{name: "a PerimeterX challenge"}},
	{parts: []string{"toNumbers(", "__test="}, sign: sign{name: "a cookie test of a host"}},
	{parts: []string{"rbzns", "winsocks"}, sign: sign{name: "a Reblaze challenge"}},
	{parts: []string{"_cf_chl_opt"}, sign: sign{name: "a Cloudflare challenge"}},
	{parts: []string{"gokuProps"}, sign: sign{name: "an AWS WAF challenge"}},
	{parts: []string{"geo.captcha-delivery.com", "dd="}, sign: sign{name: "a DataDome challenge"}},
	{parts: []string{"bm-verify", "/_sec/verify"}, sign: sign{name: "an Akamai challenge"}},
	{parts: []string{"sucuri_cloudproxy_js"}, sign: sign{name: "a Sucuri challenge"}},
	{parts: []string{"sgchallenge", "sgcaptcha"}, sign: sign{name: "a SiteGround challenge"}},
	{parts: []string{"acw_sc__v2", "arg1="}, sign: sign{name: "an Alibaba challenge"}},
	{parts: []string{"validate.perfdrive.com", "location"}, sign: sign{name: "a Radware challenge"}},
	{parts: []string{"KPSDK.start=KPSDK.now()"}, sign: sign{name: "a Kasada challenge"}},
	{parts: []string{"RecaptchaChallengePageUi"}, sign: sign{name: "a Google challenge"}},
	{parts: []string{"EO_Bot_Ssid", "__tst_status"}, sign: sign{name: "an EdgeOne challenge"}},
	{parts: []string{"document.cookie", "location.reload("}, sign: sign{name: "a script that sets a cookie and loads the page again", strength: trace}},
	{parts: []string{"document.cookie", "location.pathname+location.search"}, sign: sign{name: "a script that sets a cookie and loads the page again", strength: trace}},
	{parts: []string{`window["bobcmn"]`}, sign: sign{name: "an F5 script", strength: trace}},
	{parts: []string{"initGeetest"}, sign: sign{name: "a GeeTest widget", strength: widget}},
	{parts: []string{"new TencentCaptcha("}, sign: sign{name: "a Tencent widget", strength: widget}},
	{parts: []string{"grecaptcha.render("}, without: "invisible", sign: sign{name: "a reCAPTCHA widget", strength: widget}},
	{parts: []string{"hcaptcha.render("}, without: "invisible", sign: sign{name: "an hCaptcha widget", strength: widget}},
	{parts: []string{"turnstile.render("}, without: "invisible", sign: sign{name: "a Turnstile widget", strength: widget}},
}

// jsonMarks are looked for in short JSON answers, which defences give to calls
// that do not look like a browser's.
var jsonMarks = []partMark{
	{parts: []string{`"url":"https://geo.captcha-delivery.com/`}, sign: sign{name: "a DataDome challenge"}},
	{parts: []string{`"url": "https://geo.captcha-delivery.com/`}, sign: sign{name: "a DataDome challenge"}},
	{parts: []string{`"blockScript": "`, `"appId": "PX`}, sign: sign{name: "a PerimeterX challenge"}},
	{parts: []string{`"blockScript":"`, `"appId":"PX`}, sign: sign{name: "a PerimeterX challenge"}},
	{parts: []string{`"FAIL_SYS_USER_VALIDATE`, "/_____tmd_____/punish"}, sign: sign{name: "an Alibaba challenge"}},
}

// challengeCookies are the beginnings of names of cookies that a defence sets with
// every answer: traces.
var challengeCookies = []cookieMark{
	{"incap_ses_", "an Imperva cookie"},
	{"TSPD_", "an F5 cookie"},
	{"bm_sc", "an Akamai cookie"},
	{"datadome", "a DataDome cookie"},
	{"aws-waf-token", "an AWS WAF cookie"},
	{"x5sec", "an Alibaba cookie"},
}

// queueCookies are those that a waiting room sets, some also for visitors whom it has let in (Cloudflare's and Akamai's
// documentation).
var queueCookies = []cookieMark{
	{"__cfwaitingroom", "a Cloudflare waiting room"},
	{"akavpwr_", "an Akamai waiting room"},
}

// cookieMark is how a cookie's name begins, and whose it is.
type cookieMark struct{ name, defence string }

// commonTitles are titles of challenge pages that are met most often, in lower case and without marks at
// the end: a whole title, or a part of one that a " | " or a dash sets off.
var commonTitles = []string{
	"just a moment", "attention required", "are you a robot", "are you human", "are you a human", "robot or human",
	"robot check", "robot challenge screen", "verify", "verification", "verification required", "security verification",
	"verify you are human", "verify you are a human", "please verify you are human", "please verify you are a human",
	"please verify you are not a robot", "human verification", "bot verification", "security check",
	"vercel security checkpoint", "pardon our interruption", "access to this page has been denied",
	"checking your browser", "one more step", "captcha", "captcha interception", "captcha challenge",
}

// challengeTitles are all of them.
var challengeTitles = slices.Concat(commonTitles, []string{
	"client challenge", "challenge validation", "slide to verify", "slider verification", "ddos-guard",
	"making sure you're not a bot", "checking you are not a bot", "you are being redirected", "one moment, please",
	"before we continue", "before you continue", "human check", "prove you are human", "security checkpoint", "bot check",
	"press & hold", "press and hold", "confirm you are human", "let's confirm you are human", "unusual traffic", "unusual traffic detected",
	"checking your browser before accessing", "ddos protection by cloudflare", "please wait while we verify", "access verification",
	"prove your humanity", "antibot challenge page", "azure waf", "bot or not", "radware captcha page",
	"your browsing activity has been paused", "verifying your browser",
	"百度安全验证", "安全验证", "人机验证", "滑动验证", "验证码", "验证码中间页", "验证码拦截", "请输入验证码",
})

// refusalTitles are the same for pages with nothing to be solved.
var refusalTitles = []string{
	"access denied", "access blocked", "request rejected", "request blocked", "blocked", "forbidden", "403 forbidden",
	"sucuri website firewall", "sorry, you have been blocked", "your access to this site has been limited",
	"error: the request could not be satisfied",
}

// wording is how texts of challenge pages begin, in lower case, and what one of them
// then holds: one of holds, unless there are none.
type wording struct {
	sign
	begins, holds []string
}

var wordings = []wording{
	{
		sign: sign{name: "it asks for a human", strength: words},
		begins: []string{
			"verify", "verifying", "please verify", "please wait while we verify", "confirm", "please confirm", "let's confirm",
			"prove", "please prove", "please show", "please help us protect", "we can't tell if", "we need to", "sorry, we just need to", "we are checking", "to continue, please",
			"to proceed, please", "bitte bestätigen sie", "veuillez confirmer", "veuillez vérifier", "confirma que", "verifica que",
			"confirme que", "confirme se", "подтвердите, что", "нам нужно убедиться",
		},
		holds: []string{
			"are human", "'re human", "are a human", "'re a human", "not a robot", "not a bot", "a real person",
			"ein mensch", "êtes humain", "êtes un humain", "pas un robot", "eres humano", "eres un humano", "no eres un robot",
			"é humano", "é um humano", "não é um robô", "не робот", "человек",
		},
	},
	{
		sign: sign{name: "it asks for a human", strength: words},
		begins: []string{
			"i'm not a robot", "press & hold", "press and hold", "we apologize for the confusion, but we can't quite tell if you're a person",
		},
	},
	{
		sign: sign{name: "it asks to solve something", strength: words},
		begins: []string{
			"complete the security check", "please complete the security check", "please complete the captcha", "complete the captcha",
			"please complete the challenge", "please complete the verification", "please complete verification", "please solve th",
			"solve the captcha", "enter the characters you see", "type the characters you see", "slide to verify",
			"please slide to verify", "slide right to", "slide to complete", "slide to continue", "slide to unlock", "drag the piece",
			"drag the slider", "please drag the slider", "drag the puzzle", "move the slider", "请完成下方验证", "请完成安全验证", "请拖动",
			"拖动", "请按住滑块", "按住滑块", "请向右滑动", "向右滑动", "请输入验证码",
		},
	},
	{
		sign:   sign{name: "it asks what a picture shows", strength: picture},
		begins: []string{"what code is in the image", "enter the code in the image", "enter the code shown in the image", "enter the characters shown in the image"},
	},
	{
		sign: sign{name: "it asks for a browser", strength: words},
		begins: []string{
			"enable javascript and cookies to continue", "please enable cookies", "please enable js and disable any ad blocker",
			"please turn javascript on", "javascript is required. please enable javascript before",
			"please enable javascript to view the page content", "please enable javascript to run this application",
			"javascript is disabled in your browser", "checking your browser before", "checking your browser for",
			"checking if the site connection is secure", "performing security verification",
			"this website uses a security service to protect against malicious bots", "we're verifying your browser", "please wait while your request is being verified",
			"you are seeing this because the administrator",
		},
	},
	{
		sign: sign{name: "it speaks of unusual traffic", strength: words},
		begins: []string{
			"our systems have detected unusual traffic", "unusual traffic", "sorry, we have detected unusual traffic",
			"we have detected unusual", "we've detected unusual", "as you were browsing", "to discuss automated access", "网络不给力", "访问过于频繁",
		},
	},
	{
		sign: sign{name: "it refuses the request", strength: refusing},
		begins: []string{
			"the requested url was rejected", "your support id is", "sorry, you have been blocked",
			"you've been blocked by network security", "your request has been blocked due to a network policy",
			"your request has been blocked as a possible bot", "request blocked. we can't connect",
			"this request was blocked by our security service", "this website is using a security service to protect itself",
			"your access to this site has been limited", "your access to this service has been limited",
			"if you are the site owner (or you manage this site)", "request unsuccessful. incapsula incident id",
		},
	},
	{
		sign:   sign{name: "it refuses the request", strength: refusing},
		begins: []string{"you don't have permission to access"}, holds: []string{"on this server"},
	},
}

// reads gives how a text begins and what it holds, when both are as the wording has
// them.
func (w *wording) reads(text string) (begins, holds string, ok bool) {
	for _, begins := range w.begins {
		if !strings.HasPrefix(text, begins) {
			continue
		}
		at := slices.IndexFunc(w.holds, func(h string) bool { return strings.Contains(text, h) })
		if at >= 0 {
			return begins, w.holds[at], true
		}
		return begins, "", w.holds == nil
	}
	return "", "", false
}

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
	name              string
	waits             bool // it lets visitors wait for their turn
}

// challengeAddresses are compared with where a redirect or a refresh leads. A host
// holds for those below it, too.
var challengeAddresses = []challengeAddress{
	{host: "queue-it.net", name: "a Queue-it waiting room", waits: true},
	{host: "captcha-delivery.com", name: "a DataDome challenge"},
	{host: "validate.perfdrive.com", name: "a Radware challenge"},
	{host: "wappass.baidu.com", path: "/static/captcha", name: "a Baidu challenge"},
	{host: "verify.meituan.com", name: "a Meituan challenge"},
	{host: "linkedin.com", path: "/checkpoint/challenge", name: "a LinkedIn challenge"},
	{host: "google.", path: "/sorry/", name: "a Google challenge"},
	{path: "/.well-known/sgcaptcha", name: "a SiteGround challenge"},
	{path: "/.within.website/x/cmd/anubis/", name: "an Anubis challenge"},
	{path: "/_____tmd_____/", name: "an Alibaba challenge"},
	{path: "/showcaptcha", name: "a SmartCaptcha challenge"},
	{path: "/errors/validatecaptcha", name: "an Amazon challenge"},
	{path: "/splashui/captcha", name: "an eBay challenge"},
	{path: "/splashui/challenge", name: "an eBay challenge"},
	{path: "/distil_r_", name: "an Imperva challenge"},
	{path: "/_incapsula_resource", name: "an Imperva challenge"},
	{path: "/cdn-cgi/challenge-platform/", name: "a Cloudflare challenge"},
	{query: "__cf_chl_", name: "a Cloudflare challenge"},
	{query: "bm-verify=", name: "an Akamai challenge"},
}

// leadsTo finds the challenge that an address is known for. The place is that of
// the first part that was recognised.
func leadsTo(address string) (of challengeAddress, at, length int, ok bool) {
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
				return a, strings.Index(low, part), len(part), true
			}
		}
	}
	return challengeAddress{}, 0, 0, false
}

// below reports whether a host is the given one or below it. One that ends in a dot
// stands for any top-level domain.
func below(host, of string) bool {
	if strings.HasSuffix(of, ".") {
		return strings.Contains("."+host, "."+of)
	}
	return strings.HasSuffix("."+host, "."+of)
}
