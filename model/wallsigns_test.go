package model_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/model/modeltest"
)

// wall is what an exported program makes of the signs; read compiles a pattern.
func wall(s model.WallSigns, page string, read func(string) *regexp.Regexp) string {
	find := func(pattern, text string) string {
		if m := read(pattern).FindStringSubmatch(text); m != nil {
			return m[1]
		}
		return ""
	}
	page = strings.Trim(page, "\ufeff \t\r\n")
	if !strings.HasPrefix(page, "<") {
		return ""
	}
	page = read(s.Unread).ReplaceAllString(page, "$1")
	if sign := find(s.Script, page); sign != "" {
		return sign
	}
	page = read(s.ScriptText).ReplaceAllString(page, "$1")
	for _, p := range s.Alone {
		if sign := find(p, page); sign != "" {
			return sign
		}
	}
	if find(s.Title, page) == "" || find("("+s.Field+")", page) != "" {
		return ""
	}
	return find(s.Widget, page)
}

// The signs that programs have find walls of the corpus, and none in its good pages. Those that are named here
// show a CAPTCHA below a wall's title on purpose; telling them from walls takes more than patterns.
func TestTheSignsOfProgramsFindWallsOnly(t *testing.T) {
	signs := model.KnownWallSigns()
	known := []string{
		"ok-demonstration-that-shows-its-code", "ok-documentation-with-a-live-widget", "ok-drawing-titled-captcha",
		"ok-guestbook-titled-verify-you-are-human", "ok-guide-that-shows-a-slider-and-its-code",
	}
	walls, compiled := 0, map[string]*regexp.Regexp{}
	read := func(pattern string) *regexp.Regexp {
		if compiled[pattern] == nil {
			compiled[pattern] = regexp.MustCompile("(?i)" + pattern)
		}
		return compiled[pattern]
	}
	for _, c := range modeltest.Corpus(t, corpusDir) {
		sign := wall(signs, string(c.Outcome.BodyHead), read)
		switch {
		case c.Want.Class == model.ClassCaptcha && sign != "":
			walls++
		case c.Want.Class == model.ClassOK && (sign != "") != slices.Contains(known, c.Name):
			t.Errorf("%s: the sign %q", c.Name, sign)
		}
	}
	if walls < 37 {
		t.Errorf("%d walls were found", walls)
	}
}

// The patterns mean the same to Go, Python and JavaScript, and need no escapes in any of them.
func TestTheSignsOfProgramsAreWrittenForAll(t *testing.T) {
	s := model.KnownWallSigns()
	for _, p := range append(s.Alone, s.Script, s.Title, s.Widget, s.Field, s.Header, s.Unread, s.ScriptText) {
		if strings.ContainsAny(p, "'\"`") || strings.Contains(p, "(?i") || strings.Contains(p, `\z`) {
			t.Error(p)
		}
	}
	for header, want := range map[string]string{
		"\nlocation: https://x.queue-it.net/?c=1":                  "location: https://x.queue-it.net",
		"\nLocation: https://www.google.com/sorry/index?continue=": "Location: https://www.google.com/sorry/",
		"\nlocation: /a?to=https://x.queue-it.net/":                "",
		"\nlocation: /a?b=1&__cf_chl_tk=2":                         "location: /a?b=1&__cf_chl_",
		"\nsg-captcha: challenge":                                  "sg-captcha: challenge",
		"\nx-note: sg-captcha: challenge":                          "",
	} {
		m := append(regexp.MustCompile("(?i)"+s.Header).FindStringSubmatch(header), "", "")
		if m[1] != want {
			t.Errorf("%q: %q, want %q", header, m[1], want)
		}
	}
}
