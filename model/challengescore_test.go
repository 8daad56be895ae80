package model

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhereAnAddressLeads(t *testing.T) {
	for address, want := range map[string]string{
		"": "", "/": "", "//": "", "https:": "", "?": "", "https://shop.test": "",
		"https://geo.captcha-delivery.com/captcha/?x":                          "a DataDome challenge: captcha-delivery.com",
		"//captcha-delivery.com":                                               "a DataDome challenge: captcha-delivery.com",
		"https://GEO.Captcha-Delivery.com#x":                                   "a DataDome challenge: captcha-delivery.com",
		"https://geo.captcha-delivery.com.shop.test/":                          "",
		"https://my-captcha-delivery.com/":                                     "",
		"https://shop.test/captcha-delivery.com/":                              "",
		"https://shop.test/?captcha-delivery.com":                              "",
		"captcha-delivery.com/":                                                "",
		"https://www.google.de/sorry/index?a":                                  "a Google challenge: /sorry/",
		"https://google.com/sorry/":                                            "a Google challenge: /sorry/",
		"https://notgoogle.com/sorry/":                                         "",
		"https://www.google.de/search?q=/sorry/":                               "",
		"/sorry/index":                                                         "",
		"/.well-known/sgcaptcha/?r=x":                                          "a SiteGround challenge: /.well-known/sgcaptcha",
		"/a?b=//google.de/sorry/":                                              "",
		"/chairs?a=1&bm-verify=AA":                                             "an Akamai challenge: bm-verify=",
		"/bm-verify=/":                                                         "",
		"/a#?bm-verify=":                                                       "an Akamai challenge: bm-verify=",
		strings.Repeat("/", maxAddress-len("/showcaptcha")) + "/showcaptcha":   "a SmartCaptcha challenge: /showcaptcha",
		strings.Repeat("/", maxAddress-len("/showcaptcha")+1) + "/showcaptcha": "",
	} {
		of, at, length, ok := leadsTo(address)
		got := ""
		if ok {
			got = of.name + ": " + strings.ToLower(address[at:at+length])
		}
		if got != want {
			t.Errorf("%.80q leads to %q, want %q", address, got, want)
		}
	}
}

// TestWhatSignsComeTo has the pairs of signs at the edges of what they are worth.
func TestWhatSignsComeTo(t *testing.T) {
	const (
		head   = `<html><head><title>%s</title></head><body>`
		widget = `<div class="h-captcha"></div>`
		asks   = `<p>Verify you are human</p>`
	)
	titled, plainly := fmt.Sprintf(head, "Just a moment..."), fmt.Sprintf(head, "Chairs")
	fill := func(page string, text int) string { // up to so many bytes of text
		have := scanPage("text/html", []byte(page), false).text
		return page + strings.Repeat("<p>x</p>", text-have)
	}
	for name, c := range map[string]struct {
		page    string
		cookies []string
		want    verdict
	}{
		"a title and a widget with some text":        {fill(titled+widget, littleTextMax-1), nil, challenge},
		"a title and a widget with more text":        {fill(titled+widget, littleTextMax), nil, ordinary},
		"a widget and a text with little text":       {fill(plainly+widget+asks, littleText-1), nil, challenge},
		"a widget and a text with some text":         {fill(plainly+widget+asks, littleText), nil, ordinary},
		"a title and a text":                         {titled + asks, nil, challenge},
		"a text alone":                               {plainly + asks, nil, ordinary},
		"a text that begins otherwise":               {titled + `<p>We verify you are human</p>`, nil, ordinary},
		"a text that goes on otherwise":              {titled + `<p>Verify you are 18</p>`, nil, ordinary},
		"a title alone":                              {titled + `<p>x</p>`, nil, ordinary},
		"a widget alone":                             {plainly + widget + `<p>x</p>`, nil, ordinary},
		"a title and nothing":                        {titled, nil, challenge},
		"a title and a script in the page":           {titled + `<script>a()</script>`, nil, challenge},
		"a title and a script file":                  {titled + `<script src="/a.js"></script>`, nil, ordinary},
		"a title and a link":                         {titled + `<a href="/"></a>`, nil, ordinary},
		"a title and a field":                        {titled + `<input type="email">`, nil, ordinary},
		"a title, a widget and a field":              {titled + widget + `<input type="email">`, nil, ordinary},
		"a widget and a button":                      {plainly + widget + `<button>Continue</button>`, nil, challenge},
		"a cookie and nothing":                       {plainly, []string{"x", "datadome"}, challenge},
		"a cookie and a text":                        {plainly + asks, []string{"datadome"}, challenge},
		"a cookie and a title beside other text":     {titled + `<p>x</p>`, []string{"datadome"}, ordinary},
		"a cookie and a script in the page":          {plainly + `<script>a()</script>`, []string{"datadome"}, ordinary},
		"a cookie that ends like one":                {plainly, []string{"mydatadome"}, leadsAway},
		"a cookie and an empty body":                 {" ", []string{"datadome"}, ordinary},
		"a cookie among many":                        {plainly, append(make([]string, maxCookies-1), "datadome"), challenge},
		"a cookie among too many":                    {plainly, append(make([]string, maxCookies), "datadome"), leadsAway},
		"a picture and its field":                    {plainly + `<img src="/captcha"><input>`, nil, challenge},
		"a picture and its field by name":            {plainly + `<img src="/captcha"><input name="captcha">`, nil, challenge},
		"a picture, its field by name and another":   {plainly + `<img src="/captcha"><input name="captcha"><input>`, nil, ordinary},
		"a picture without a field":                  {titled + `<img src="/captcha">`, nil, challenge}, // by its title: nothing else is shown
		"a picture without a field, beside text":     {titled + `<img src="/captcha"><p>x</p>`, nil, ordinary},
		"a title and a text that refuse":             {fmt.Sprintf(head, "Request Rejected") + `Your support ID is: 1`, nil, refusal},
		"a text that refuses beside one that asks":   {titled + asks + `<p>Your support ID is: 1</p>`, nil, challenge},
		"a text that refuses beside a widget":        {titled + widget + `<p>Your support ID is: 1</p>`, nil, challenge},
		"a text that refuses beside a cookie":        {plainly + `<p>Your support ID is: 1</p>`, []string{"TSPD_101"}, refusal},
		"a title, a text that refuses, and a cookie": {fmt.Sprintf(head, "Request Rejected") + `Your support ID is: 1`, []string{"TSPD_101"}, refusal},
		"a text, a cookie and a link":                {plainly + asks + `<a href="/">x</a>`, []string{"datadome"}, ordinary},
		"a title, a text and a link":                 {titled + asks + `<a href="/">x</a>`, nil, challenge},
		"a widget, a text and a link":                {plainly + widget + asks + `<a href="/">x</a>`, nil, challenge},
		"a cookie and a refresh":                     {plainly + `<meta http-equiv="refresh" content="0;url=/en/">`, []string{"datadome"}, leadsAway},
		"a cookie and a refresh of the page itself":  {plainly + `<meta http-equiv="refresh" content="5">`, []string{"datadome"}, challenge},
		"a cookie and a film":                        {plainly + `<video src="/a.mp4"></video>`, []string{"datadome"}, ordinary},
		"a cookie and a document":                    {plainly + `<object data="/a.pdf"></object>`, []string{"datadome"}, ordinary},
		"a text that refuses alone":                  {plainly + `<p>Your support ID is: 1</p>`, nil, ordinary},
		"a sign that decides, on a long page":        {fill(plainly+`<div id="px-captcha"></div><input>`, littleTextMax), nil, challenge},
	} {
		p := scanPage("text/html", []byte(c.page), false)
		p.weigh([]byte(c.page), c.cookies)
		if p.verdict != c.want {
			t.Errorf("%s: %d, want %d; %+v", name, p.verdict, c.want, p.marks)
		}
	}
	p := scanPage("text/html", []byte(titled), true)
	if p.weigh([]byte(titled), nil); p.verdict != ordinary {
		t.Error("half a page is called a challenge by two signs")
	}
}
