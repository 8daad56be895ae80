package importers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What stands at the edges of what is read: the form's address, headers, body, what it takes,
// and what is said of the rest.
func TestTheEdgesOfWhatIsRead(t *testing.T) {
	const api = ` -H "Authorization: Bearer $BATCH_KEY" http://127.0.0.1:8000/request -d '{"zone":"z","url":"http://lab.test/"}'`
	for in, want := range map[string]string{
		`curl --retry 0 http://a/`:                                                "http://a/ map[] taken 0 retries",
		`curl --retry 100 http://a/`:                                              "http://a/ map[] taken 100 retries",
		`curl --retry 101 http://a/`:                                              "http://a/ map[] left --retry: its value is not a number of tries",
		`curl --retry=x http://a/`:                                                "refused",
		`curl --retry x http://a/`:                                                "http://a/ map[] left --retry: its value is not a number of tries",
		`curl -m 0 http://a/`:                                                     "http://a/ map[] left -m: its value is not a number of seconds",
		`( curl http://a/ )`:                                                      "http://a/ map[]",
		`curl http://a/ -d @- < f`:                                                "refused",
		`curl "http://a/$(echo xa | tr a b)"`:                                     "refused",
		`curl "http://a/$(echo xa | tr -d a)"`:                                    "refused",
		`curl "http://a/$( (echo x) )"`:                                           "refused",
		`curl "http://a/$(A=b echo x)"`:                                           "refused",
		`curl "http://a/$(echo x > f)"`:                                           "refused",
		`curl http://a/@(x|y)`:                                                    "refused",
		"$ export A=b\n $ curl http://a/ \\":                                      "http://a/ map[] left the value that it gives the variable A was not read",
		`curl http://a/${X:-${Y}}`:                                                "http://a/{{X}} map[]",
		`curl http://a/$X`:                                                        "http://a/{{X}} map[]",
		`curl -G --data-urlencode "q=$X c d$Y e f" http://a/`:                     "http://a/?q={{X}}+c+d{{Y}}+e+f map[]",
		`curl -H 'Authorization: Custom abc' http://a/`:                           "http://a/ map[Authorization:[{{authorization}}]] taken 1 header left the value of header Authorization was left out: {{authorization}} stands for it",
		`curl -H 'Authorization: ApiKey abc' http://a/`:                           "http://a/ map[Authorization:[ApiKey {{authorization}}]] taken 1 header left the value of header Authorization was left out: {{authorization}} stands for it",
		`curl -X PUT -d abc http://a/`:                                            "http://a/ map[Content-Type:[application/x-www-form-urlencoded]] abc taken method PUT, 1 header, body of 3 bytes",
		`curl -x http://h:1` + api:                                                "http://lab.test/ map[] taken zone z, via API, format raw, key batch-user left -x: a call of the API goes through no proxy",
		strings.Replace(`curl`+api, "BATCH", "OTHER", 1):                          "http://lab.test/ map[] taken zone z, via API, format raw left $OTHER_KEY is the reference of no key in the inventory: the form uses the key it names",
		strings.Replace(`curl`+api, "BATCH", "ZONEDECK_API", 1):                   "http://lab.test/ map[] taken zone z, via API, format raw left $ZONEDECK_API_KEY is the reference of no key in the inventory: the form uses the key it names",
		strings.Replace(`curl`+api, "BATCH_KEY", "ZONEDECK_API_KEY", 1):           "http://lab.test/ map[] taken zone z, via API, format raw",
		strings.Replace(`curl`+api, `"zone":"z"`, `"zone":"z","country":5`, 1):    `http://lab.test/ map[] taken zone z, via API, format raw, key batch-user left the field "country" of its body: the form has none for it`,
		strings.Replace(`curl`+api, `"zone":"z"`, `"zone":"z","country":null`, 1): "http://lab.test/ map[] taken zone z, via API, format raw, key batch-user",
	} {
		got, err := Curl(in, Known{Profile: testProfile(), Keys: testKeys})
		text := "refused"
		if err == nil {
			r := got.Request
			taken := slices.DeleteFunc(got.FilledFields(), func(s string) bool { return s == "URL" })
			text = fmt.Sprintf("%s %v", r.URL, r.Header)
			if r.Body != "" {
				text += " " + r.Body
			}
			if len(taken) > 0 {
				text += " taken " + strings.Join(taken, ", ")
			}
			if notes := slices.Concat(got.Replaced, got.Dropped); len(notes) > 0 {
				text += " left " + strings.Join(notes, ", ")
			}
		} else if !errors.Is(err, errImport) {
			t.Errorf("%s: %v", in, err)
		}
		if text != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, text, want)
		}
	}
}

func TestAPortThatIsNoneIsLeftOut(t *testing.T) {
	for port, want := range map[string]int{"1": 1, "65535": 65535, "65536": 0, "0": 0, "-1": 0, "x": 0, "99999999999999999999": 0} {
		l, err := Login("curl -x http://name:word@h.test:" + port + " http://a/")
		if err != nil || l.Port != want || l.Host != "h.test" || l.Username != "name" {
			t.Errorf("%s: %+v, %v", port, l, err)
		}
	}
}
