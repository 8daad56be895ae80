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
		title     = "the title of a challenge page"
	)
	one := func(text, of string, offset int, p page) page {
		p.marks = []mark{{text: text, of: of, offset: offset, length: len(text)}}
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
		"<!-- <input> -->c<input": {text: 1, fields: 1},
		"a<!doctype html>b":       {text: 2},
		"a<?xml?>b":               {text: 2},
		"a</b":                    {text: 1},
		"a</>b":                   {text: 2},
		" \t\r\n\fa\v":            {text: 2},

		// The contents of these elements are neither text nor markup.
		"<script>a<b</script>c":          {text: 1},
		"<STYLE>a<b</Style>c":            {text: 1},
		"<title>ab</title>c":             {text: 1},
		"<xmp><input></xmp>c":            {text: 1},
		"<textarea>a<input></textarea>c": {text: 1, fields: 1},
		"<script>a</b></script>c":        {text: 1},
		"<script></</script>c":           {text: 1},
		"<script>a":                      {},
		"<script>a</":                    {},
		"<script>a</scrip":               {},

		// Fields that ask a person for something.
		"<input>":                             {fields: 1},
		"<input/>a":                           {fields: 1, text: 1},
		"<input type=EMAIL>":                  {fields: 1},
		"<input type = 'password' >a":         {fields: 1, text: 1},
		"<input type=\"hidden\">":             {},
		"<input type=\"\">":                   {fields: 1},
		"<input type>":                        {fields: 1},
		"<input type=hidden/>":                {fields: 0},
		"<input type='hidden' name=x>":        {},
		"<input a='>' type=hidden>b":          {text: 1},
		"<input type='hidden>a":               {fields: 1},
		"<input = type=hidden>":               {},
		"<input =type=hidden>":                {},
		"<input a= type=hidden>":              {fields: 1},
		"<input a b type=hidden>":             {},
		"<input a =b type=hidden>":            {},
		"<select>":                            {fields: 1},
		"<div>":                               {},
		"<input name=CaptchaAnswer>":          {},
		"<input class=captcha-answer>":        {},
		"<input name=captcha" + x(56) + ">":   {},
		"<input name=captcha" + x(57) + ">":   {fields: 1},
		"<input name=cap name=tcha>":          {fields: 1},
		"<textarea id=my_captcha></textarea>": {},
		"<input " + x(25) + "=1 type=hidden>": {},

		// Marks, and where they are.
		"<p class=g-recaptcha>":                                      one("g-recaptcha", recaptcha, 9, page{widget: true}),
		"<p class='G-Recaptcha'>":                                    one("g-recaptcha", recaptcha, 10, page{widget: true}),
		"<p id = \"a  g-recaptcha b\" >":                             one("g-recaptcha", recaptcha, 12, page{widget: true}),
		"<p CLASS=\"\tcaptcha\n\">a":                                 one("captcha", element, 11, page{widget: true, text: 1}),
		"<p class=captcha/>":                                         {},
		"<p title=captcha>":                                          {},
		"<p class='arkos'>":                                          {},
		"<p class='" + x(33) + " captcha'>":                          one("captcha", element, 44, page{widget: true}),
		"<p class='" + x(32) + " captcha'>":                          one("captcha", element, 43, page{widget: true}),
		"<p class='captcha'><p id=captcha>":                          one("captcha", element, 10, page{widget: true}),
		"<p class=geetest_box>":                                      one("geetest_", geetest, 9, page{widget: true}),
		"<p class=geetest>":                                          {},
		"<img src=/Captcha.png>":                                     one("captcha", image, 10, page{widget: true, image: true}),
		"<img src=captcha>":                                          one("captcha", image, 9, page{widget: true, image: true}),
		"<p src=captcha>":                                            {},
		"<img src=" + x(505) + "captcha>":                            one("captcha", image, 514, page{widget: true, image: true}),
		"<img src=" + x(506) + "captcha>":                            {},
		"<form action=/?__cf_chl_f=1>":                               one("__cf_chl_", cloudfl, 15, page{sure: true}),
		"<script>window._cf_chl_opt={}</script>":                     one("_cf_chl_opt", cloudfl, 15, page{sure: true}),
		"<script type=x/json>_cf_chl_opt</script>":                   {},
		"<script type=application/problem+json>_cf_chl_opt</script>": {},
		"<script>_cf_chl_opt</script>":                               one("_cf_chl_opt", cloudfl, 8, page{sure: true}),
		"<style>_cf_chl_opt</style>":                                 {},
		"<script>dd=1;'geo.captcha-delivery.com'</script>":           one("geo.captcha-delivery.com", datadome, 14, page{sure: true}),
		"<script>'geo.captcha-delivery.com'</script>":                {},
		"<script src=//a/challenge-platform/b/orchestrate/c>":        one("challenge-platform/", cloudfl, 16, page{sure: true}),
		"<script src=//a/orchestrate/c></script>":                    {},
		"<script src=//a/challenge-platform/scripts/jsd></script":    {},
		"<title>\n Just a Moment...</title>":                         one("just a moment", title, 9, page{telling: true}),
		"<title>Not just a moment</title>":                           {},
		"<title>Captch</title>":                                      {},
	} {
		if got := scanPage("text/html", []byte(body), int64(len(body))); !reflect.DeepEqual(got, want) {
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
		{"text/html", "{" + json, 0},
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
		if got := scanPage(c.kind, []byte(c.body), int64(len(c.body))); len(got.marks) != c.marks || got.cut {
			t.Errorf("%q %.40q: %+v, want %d marks", c.kind, c.body, got, c.marks)
		}
	}
	if got := scanPage("application/json", []byte(json), int64(len(json))+1); len(got.marks) != 0 || !got.cut {
		t.Errorf("half a JSON text: %+v", got)
	}
}

func TestAPassOverABodyIsBounded(t *testing.T) {
	var marks strings.Builder
	for _, class := range []string{"recaptcha", "h-captcha", "hcaptcha", "cf-turnstile", "smart-captcha", "frc-captcha", "mtcaptcha", "funcaptcha", "arkose"} {
		marks.WriteString("<p class=" + class + ">")
	}
	if got := scanPage("text/html", []byte(marks.String()), int64(marks.Len())); len(got.marks) != maxMarks {
		t.Errorf("%d marks", len(got.marks))
	}
	text := x(littleTextMax + 1)
	if got := scanPage("text/html", []byte(text), int64(len(text))); got.text != littleTextMax {
		t.Errorf("%d bytes of text", got.text)
	}
	const mark = "<p class=captcha>"
	fits := strings.Repeat(" ", maxScan-len(mark)) + mark
	if got := scanPage("text/html", []byte(fits), int64(len(fits))); len(got.marks) != 1 || got.cut {
		t.Errorf("a body as large as a scan: %+v", got)
	}
	if got := scanPage("text/html", []byte(x(9)+fits), int64(len(fits)+9)); len(got.marks) != 0 || !got.cut {
		t.Errorf("a body larger than a scan: %+v", got)
	}
}
