package model

import (
	"reflect"
	"strings"
	"testing"
)

// TestScanPageSeesExactly compares everything that a scan of a small body finds.
func TestScanPageSeesExactly(t *testing.T) {
	const (
		recaptcha = "a reCAPTCHA widget"
		element   = "a CAPTCHA element"
		datadome  = "a DataDome challenge"
		cloudfl   = "a Cloudflare challenge"
		image     = "a CAPTCHA image"
		geetest   = "a GeeTest widget"
		title     = "a challenge page"
	)
	one := func(text, where, of string, offset int, p page) page {
		p.marks = []mark{{text: text, place: where, name: of, offset: offset, length: len(text)}}
		return p
	}
	for body, want := range map[string]page{
		"":                        {},
		"<":                       {text: 1},
		"a < b":                   {text: 3},
		"a<":                      {text: 2},
		"a<1>b":                   {text: 5},
		"a<b>c</b>d":              {text: 3},
		"a<B>c</B>d":              {text: 3},
		"a<a>b<z>c<A>d<Z>e":       {text: 5},
		"a<!-- b -->c":            {text: 2},
		"a<!---->c":               {text: 2},
		"a<!--->c-->d":            {text: 2},
		"a<!-- b":                 {text: 1},
		"<!-- <input> -->c<input": {text: 1, fields: 1, typed: 1},
		"a<!doctype html>b":       {text: 2},
		"a<?xml?>b":               {text: 2},
		"a</b":                    {text: 1},
		"a</>b":                   {text: 2},
		" \t\r\n\fa\v":            {text: 2},

		// The contents of these elements are neither text nor markup.
		"<script>a<b</script>c":          {text: 1, inline: true},
		"<STYLE>a<b</Style>c":            {text: 1},
		"<title>ab</title>c":             {text: 1, title: "ab"},
		"<xmp><input></xmp>c":            {text: 1},
		"<textarea>a<input></textarea>c": {text: 1, fields: 1},
		"<script>a</b></script>c":        {text: 1, inline: true},
		"<script></</script>c":           {text: 1, inline: true},
		"<script>a":                      {inline: true},
		"<script>a</":                    {inline: true},
		"<script>a</scrip":               {inline: true},

		// Fields that ask a person for something.
		"<input>":                             {fields: 1, typed: 1},
		"<input/>a":                           {fields: 1, text: 1, typed: 1},
		"<input type=EMAIL>":                  {fields: 1},
		"<input type = 'password' >a":         {fields: 1, text: 1},
		"<input type=\"hidden\">":             {},
		"<input type=\"\">":                   {fields: 1, typed: 1},
		"<input type>":                        {fields: 1, typed: 1},
		"<input type=hidden/>":                {fields: 0},
		"<input type='hidden' name=x>":        {},
		"<input a='>' type=hidden>b":          {text: 1},
		"<input type='hidden>a":               {fields: 1, typed: 1},
		"<input type=":                        {fields: 1, typed: 1},
		"<input = type=hidden>":               {},
		"<input =type=hidden>":                {},
		"<input a= type=hidden>":              {fields: 1, typed: 1},
		"<input a b type=hidden>":             {},
		"<input a =b type=hidden>":            {},
		"<select>":                            {fields: 1},
		"<div>":                               {},
		"<input name=CaptchaAnswer>":          {answer: true},
		"<input class=captcha-answer>":        {answer: true},
		"<input name=captcha" + x(56) + ">":   {answer: true},
		"<input name=captcha" + x(57) + ">":   {fields: 1, typed: 1},
		"<input name=cap name=tcha>":          {fields: 1, typed: 1},
		"<textarea id=my_captcha></textarea>": {answer: true},
		"<input " + x(25) + "=1 type=hidden>": {},

		// What a page shows besides.
		"<a href=/>":                      {otherContent: true},
		"<a>":                             {},
		"<iframe src=//a>":                {otherContent: true},
		"<frame src=/a>":                  {otherContent: true},
		"<object data=/a>":                {otherContent: true},
		"<form action=/>":                 {},
		"<iframe>":                        {},
		"<script src=/captcha.js>":        {},
		"<button>a</button>b":             {text: 2, onButtons: 1},
		"<noscript>a<b>c</b></noscript>d": {text: 3, onButtons: 2},
		"<input name=q>":                  {fields: 1},
		"<input type=search>":             {fields: 1},
		"<script> </script>":              {},

		// Widgets that nobody sees.
		"<p class=g-recaptcha data-size=Invisible>": {},
		"<p data-size=invisible id=hcaptcha>":       {},
		"<button class=g-recaptcha>":                {},
		"<input type=submit class=g-recaptcha>":     {},
		"<p id=px-captcha data-size=invisible>":     one("px-captcha", "an id", "a PerimeterX challenge", 6, page{strengths: 1 << decides}),

		// Where a page leads by itself.
		"<meta http-equiv=Refresh content='0;URL=\"/.well-known/SGcaptcha/?r=/\"'>": one("/.well-known/sgcaptcha", "a refresh's address", "a SiteGround challenge", 41, page{strengths: 1 << decides}),
		"<meta name=refresh content='0;URL=/.well-known/sgcaptcha/'>":               {},
		"<meta http-equiv=refresh content='/.well-known/sgcaptcha/'>":               {},
		"<meta http-equiv=refresh content='0;'>":                                    {},

		// Marks, and where they are.
		"<p class=g-recaptcha>":                                      one("g-recaptcha", "a class", recaptcha, 9, page{strengths: 1 << widget}),
		"<p class='G-Recaptcha'>":                                    one("g-recaptcha", "a class", recaptcha, 10, page{strengths: 1 << widget}),
		"<p id = \"a  g-recaptcha b\" >":                             one("g-recaptcha", "an id", recaptcha, 12, page{strengths: 1 << widget}),
		"<p CLASS=\"\tcaptcha\n\">a":                                 one("captcha", "a class", element, 11, page{strengths: 1 << widget, text: 1}),
		"<p class=captcha/>":                                         {},
		"<p title=captcha>":                                          {},
		"<p class='arkos'>":                                          {},
		"<p class='" + x(33) + " captcha'>":                          one("captcha", "a class", element, 44, page{strengths: 1 << widget}),
		"<p class='" + x(32) + " captcha'>":                          one("captcha", "a class", element, 43, page{strengths: 1 << widget}),
		"<p class='captcha'><p id=captcha>":                          one("captcha", "a class", element, 10, page{strengths: 1 << widget}),
		"<p class=geetest_box>":                                      one("geetest_", "a class", geetest, 9, page{strengths: 1 << widget}),
		"<p class=geetest>":                                          {},
		"<img src=/Captcha.png>":                                     one("captcha", "a picture's address", image, 10, page{strengths: 1 << picture}),
		"<img src=captcha>":                                          one("captcha", "a picture's address", image, 9, page{strengths: 1 << picture}),
		"<p src=captcha>":                                            {},
		"<img src=" + x(505) + "captcha>":                            one("captcha", "a picture's address", image, 514, page{strengths: 1 << picture}),
		"<img src=" + x(506) + "captcha>":                            {otherContent: true},
		"<form action=/?__cf_chl_f=1>":                               one("__cf_chl_", "a form's action", cloudfl, 15, page{strengths: 1 << decides}),
		"<script>window._cf_chl_opt={}</script>":                     one("_cf_chl_opt", "an inline script", cloudfl, 15, page{strengths: 1 << decides}),
		"<script type=x/json>_cf_chl_opt</script>":                   {},
		"<script type=application/problem+json>_cf_chl_opt</script>": {},
		"<script>_cf_chl_opt</script>":                               one("_cf_chl_opt", "an inline script", cloudfl, 8, page{strengths: 1 << decides}),
		"<style>_cf_chl_opt</style>":                                 {},
		"<script>dd=1;'geo.captcha-delivery.com'</script>":           one("geo.captcha-delivery.com", "an inline script", datadome, 14, page{strengths: 1 << decides}),
		"<script>'geo.captcha-delivery.com'</script>":                {inline: true},
		"<script src=//a/challenge-platform/b/orchestrate/c>":        one("challenge-platform/", "a script's address", cloudfl, 16, page{strengths: 1 << decides}),
		"<script src=//a/orchestrate/c></script>":                    {otherContent: true},
		"<script src=//a/challenge-platform/scripts/jsd></script":    {otherContent: true},
		"<title>\n Just a Moment...</title>":                         one("just a moment", "the title", title, 9, page{strengths: 1 << titled, title: "just a moment..."}),
		"<title>Not just a moment</title>":                           {title: "not just a moment"},
		"<title>Captcha - a history</title>":                         one("captcha", "the title", title, 7, page{strengths: 1 << titled, title: "captcha - a history"}),
		"<title>A – Captcha! | b</title>":                            {marks: []mark{{text: "captcha", place: "the title", name: title, offset: 13, length: 7}}, strengths: 1 << titled, title: "a – captcha! | b"},
		"<title>Making sure you’re not a bot</title>":                {marks: []mark{{text: "making sure you're not a bot", place: "the title", name: title, offset: 7, length: 30}}, strengths: 1 << titled, title: "making sure you're not a bot"},
		"<title>Captcha: a history</title>":                          {title: "captcha: a history"},
		"<title>ACCESS  Denied.</title>":                             {marks: []mark{{text: "access denied", place: "the title", name: "a refusal", offset: 7, length: 15}}, strengths: 1 << titled, title: "access denied."},
		"<title>a</title><svg><title>captcha</title></svg>":          {title: "a"},
		"<title>Captch</title>":                                      {title: "captch"},
	} {
		got := scanPage("text/html", []byte(body), false)
		got.runs, got.html, got.shape = nil, false, shape{} // these decide in the corpus; markup is what this is
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q\ngot  %+v\nwant %+v", body, got, want)
		}
	}
}

func x(n int) string { return strings.Repeat("x", n) }

// TestWhichBodiesAreScanned scans a body that is a mark in HTML and one that is a mark
// in JSON, and reports how each was read.
func TestWhichBodiesAreScanned(t *testing.T) {
	const (
		html = `<p class=captcha>`
		json = `"url":"https://geo.captcha-delivery.com/"`
	)
	for _, c := range []struct {
		kind, body string
		marks      int
	}{
		{"text/html", html, 1},
		{" Text/HTML ; charset=utf-8", html, 1},
		{"application/xhtml+xml", html, 1},
		{"text/css", "<html>" + html, 0},
		{"text/markdown", "{" + json, 0},
		{"text/html", "{" + json, 1},
		{"application/json", "{" + json, 1},
		{"text/json", json, 1},
		{"application/problem+json", json, 1},
		{"", "<!DOCTYPE HTML>" + html, 1},
		{"text/plain", "\xef\xbb\xbf \t\r\n<html>" + html, 1},
		{"", "<HEAD>" + html, 1},
		{"", "<heat>" + html, 0},
		{"", html, 0},
		{"", " {" + json, 1},
		{"", "[" + json, 0},
		{"application/json", json + x(maxJSON-len(json)), 1},
		{"application/json", json + x(maxJSON-len(json)+1), 0},
	} {
		if got := scanPage(c.kind, []byte(c.body), false); len(got.marks) != c.marks || got.cut {
			t.Errorf("%q %.40q: %+v, want %d marks", c.kind, c.body, got, c.marks)
		}
	}
	if got := scanPage("application/json", []byte(json), true); len(got.marks) != 0 || !got.cut {
		t.Errorf("half a JSON text: %+v", got)
	}
}

func TestAPassOverABodyIsBounded(t *testing.T) {
	var marks strings.Builder
	for _, class := range []string{"recaptcha", "h-captcha", "hcaptcha", "cf-turnstile", "smart-captcha", "frc-captcha", "mtcaptcha", "funcaptcha", "arkose"} {
		marks.WriteString("<p class=" + class + ">")
	}
	if got := scanPage("text/html", []byte(marks.String()), false); len(got.marks) != maxMarks {
		t.Errorf("%d marks", len(got.marks))
	}
	text := x(littleTextMax + 1)
	if got := scanPage("text/html", []byte(text), false); got.text != littleTextMax {
		t.Errorf("%d bytes of text", got.text)
	}
	for past, marks := range []int{1, 0} {
		script := "<script>" + strings.Repeat(" ", maxScript-len("gokuProps")+past) + "gokuProps</script>"
		if got := scanPage("text/html", []byte(script), false); len(got.marks) != marks {
			t.Errorf("a mark %d bytes past what is looked at of a script: %+v", past, got.marks)
		}
	}
	const mark = "<p class=captcha>"
	fits := strings.Repeat(" ", maxScan-len(mark)) + mark
	if got := scanPage("text/html", []byte(fits), false); len(got.marks) != 1 || got.cut {
		t.Errorf("a body as large as a scan: %+v", got)
	}
	if got := scanPage("text/html", []byte(x(9)+fits), false); len(got.marks) != 0 || !got.cut {
		t.Errorf("a body larger than a scan: %+v", got)
	}
}

func TestMarkupThatIsWrittenOut(t *testing.T) {
	widget := `&lt;div class="g-recaptcha"&gt;`
	for text, want := range map[string]bool{
		widget: true, " \n" + widget: true, `&#60;P ID='a H-Captcha'&#62;`: true, "&lt;p class=geetest_box&gt;": true,
		"&lt;!-- put it there --&gt;" + widget: true, "&lt;p&gt;" + strings.Repeat("x", maxQuoted-len("&lt;p&gt;"+widget)) + widget: true,
		"": false, " ": false, "&": false, "&amp;" + widget: false, "at /?q=" + widget: false, `<div class="g-recaptcha">`: false,
		`&lt;div class="g-recaptcha-response"&gt;`: false, `&lt;div name="captcha"&gt;`: false, `&lt;captcha@shop.example&gt;`: false,
		`&lt;script src="https://www.google.com/recaptcha/api.js"&gt;`: false, `&lt;div class="g-recaptcha" data-size="invisible"&gt;`: false,
		`&lt;!-- class="captcha" --&gt;`: false, "&lt;p&gt;" + strings.Repeat("x", maxQuoted) + widget: false,
		"&lt;p&gt;&amp;lt;p class=captcha&amp;gt;": false,
	} {
		if got := quotes([]byte(text)); got != want {
			t.Errorf("quotes(%.60q) = %v", text, got)
		}
	}
}
