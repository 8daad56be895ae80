package drift

import (
	"strings"
	"testing"

	"zonedeck/model"
)

func TestATextIsMasked(t *testing.T) {
	long := strings.Repeat("x", textRead)
	for text, want := range map[string]string{
		"?token=&w=1 and more text":                          "?token=&w=1 and more text",
		"/a?token=&token=s3cret":                             "/a?token=&token=xxxxx",
		"password= s3cret and more":                          "password= xxxxx and more",
		"token=":                                             "token=",
		`token="" session='s3cret s3cret' a`:                 `token=xxxxx" session=xxxxx' a`,
		`token="s3cret s3cret`:                               "token=xxxxx",
		"a==b&tok%65n=s3cret&x=%":                            "a==b&tok%65n=xxxxx&x=%",
		"%zz=s3cret b":                                       "%zz=xxxxx b",
		strings.Repeat("é", 60) + "token=s3cret":             strings.Repeat("é", 60) + "token=xxxxx",
		"https://bob:s3cret":                                 "https://xxxxx",
		"see https://bob:s3cret and a=1":                     "see https://xxxxx and a=1",
		"see https://bob:s3cret?token=s3cret and more":       "see https://xxxxx and more",
		"see https://bob:s3 cret@a.test/ more":               "see " + model.Masked + "@a.test/ more",
		"file:///a/b":                                        "file:///a/b",
		"http:///u:s3cret@h":                                 model.Masked + "@h",
		"at https://bob:1" + long:                            "at https",
		"at https://bob1" + long + "@a.test":                 "at https",
		"http://[x " + strings.Repeat("word ", 1<<20) + "@x": model.Cut("http://xxxxx "+strings.Repeat("word ", 100), sampleText),
	} {
		if got := plain("", text); got != want {
			t.Errorf("%.80q: %q, want %q", text, got, want)
		}
	}
}

// BenchmarkPlain masks a picture within a row, and what costs most for its length.
func BenchmarkPlain(b *testing.B) {
	for name, text := range map[string]string{
		"words":  strings.Repeat("word ", 10),
		"base64": strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 60_000),
		"equals": strings.Repeat("a=", 700_000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				plain("", text)
			}
		})
	}
}
