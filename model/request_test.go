package model

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
)

var errNotShown = errors.New("it is not shown")

func fetchable() FetchRequest {
	return FetchRequest{Zone: Zone{Name: "dc1", Product: ProductDatacenter, Password: "env:ZONE"}, URL: "https://example.com/", Via: ViaAPI}
}

func everything() Sends {
	return Sends{Target: true, Exit: true, Dataset: true, InputFields: true}
}

func contractAlone() Sends {
	return Sends{NotShown: func(string) error { return errNotShown }}
}

func fieldsOf(ps []FieldProblem) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Field)
	}
	return out
}

func TestACountryIsTwoLowerCaseLetters(t *testing.T) {
	for code, want := range map[string]bool{
		"aa": true, "az": true, "za": true, "zz": true, "cz": true, "nz": true, "de": true,
		"": false, "d": false, "deu": false, "CZ": false, "dE": false, "d1": false, "`a": false, "a`": false, "{a": false, "a{": false, "ü": false,
	} {
		if got := ValidCountry(code); got != want {
			t.Errorf("%q: %v", code, got)
		}
	}
}

func TestEveryProblemOfAFetchIsNamedAtOnce(t *testing.T) {
	r := FetchRequest{
		URL: "example.com", Method: "TRACE", Format: "xml", Country: "DE", Via: "carrier pigeon",
		Header: http.Header{"Bad Name": {"x"}, "Host": {"ok.test"}, "Te": {"trailers"}, "X-A": {"a\nb"}},
	}
	want := []string{"zone", "url", "method", "headers", "format", "country", "via"}
	ps := r.Problems(everything())
	if got := fieldsOf(ps); !slices.Equal(got, want) {
		t.Fatalf("fields %v, want %v", got, want)
	}
	if got, want := ps[3].Err.Error(), "\"Bad Name\" is not a header's name\nTe is written by the console itself\nthe value of X-A holds a line break or a control character"; got != want {
		t.Errorf("headers: %q, want %q", got, want)
	}
	long := FetchRequest{Country: strings.Repeat("d", 21)}
	if got, want := long.Problems(everything())[2].String(), `country: "`+strings.Repeat("d", 20)+`…": write two small letters, such as de`; got != want {
		t.Errorf("a long country: %q, want %q", got, want)
	}
	err := &RequestError{Problems: ps}
	if lines := strings.Split(err.Error(), "\n"); !errors.Is(err, ErrRequest) || err.Field() != "zone" || lines[1] != "url: not an absolute address: did you mean http://example.com?" {
		t.Errorf("the error says %q", err)
	}
	if ps := fetchable().Problems(everything()); len(ps) != 0 {
		t.Errorf("a request without a fault has %v", ps)
	}
}

func TestOnlyNativeAccessCarriesBytesThatAreNotUTF8(t *testing.T) {
	r := fetchable()
	r.Method, r.Body, r.Header = "POST", "\xff\xfe", http.Header{"X-A": {"\xff", "\xfe"}, "X-B": {"ü"}}
	for via, want := range map[Via][]string{"": {"body", "headers"}, ViaAPI: {"body", "headers"}, ViaNative: nil} {
		if r.Via = via; !slices.Equal(fieldsOf(r.Problems(everything())), want) {
			t.Errorf("by %s: %v", via, r.Problems(everything()))
		}
	}
}

func TestByTheContractAloneMostOfARequestIsNotSent(t *testing.T) {
	r := fetchable()
	r.Format, r.Method, r.Header, r.Body, r.Country, r.Session = FormatJSON, "post", http.Header{"X": {"1"}}, "b", "de", "s1"
	if got, want := fieldsOf(r.Problems(contractAlone())), []string{"country", "session", "format", "method", "headers", "body"}; !slices.Equal(got, want) {
		t.Errorf("by API: %v, want %v", got, want)
	}
	for _, p := range r.Problems(contractAlone()) {
		if p.Err != errNotShown { //nolint:errorlint // the dialect's own error value
			t.Errorf("%s: %v", p.Field, p.Err)
		}
	}
	r.Via = ViaNative
	if got, want := fieldsOf(r.Problems(contractAlone())), []string{"country", "session"}; !slices.Equal(got, want) {
		t.Errorf("by Native: %v, want %v", got, want)
	}
	if ps := r.Problems(everything()); len(ps) != 0 {
		t.Errorf("a dialect that sends everything refuses %v", ps)
	}
}

func TestNativeAccessNeedsAProductAndAPassword(t *testing.T) {
	r := fetchable()
	r.Via, r.Zone.Product, r.Zone.Password = ViaNative, ProductScrapers, ""
	if got, want := fieldsOf(r.Problems(contractAlone())), []string{"via", "password"}; !slices.Equal(got, want) {
		t.Errorf("by the contract alone: %v, want %v", got, want)
	}
	if got, want := fieldsOf(r.Problems(everything())), []string{"via", "password"}; !slices.Equal(got, want) {
		t.Errorf("by a dialect that sends everything: %v, want %v", got, want)
	}
}

func TestEveryProblemOfATriggerIsNamedAtOnce(t *testing.T) {
	r := TriggerRequest{Inputs: []JobInput{
		{URL: "https://example.com/1"},
		{URL: "ftp://example.com/", Row: 7},
		{URL: "https://example.com/3", Extra: map[string]string{"n": "1"}},
	}}
	c := contractAlone()
	c.Dataset = true
	var got []string
	for _, p := range r.Problems(c) {
		got = append(got, p.String())
	}
	want := []string{
		"dataset: name the dataset, for example gd_products",
		`inputs: row 7: "ftp://example.com/": ftp is not fetched: use http or https`,
		"inputs: row 3: it is not shown",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for name, want := range map[string]bool{"gd_x": true, "a b": false, "a/b": false, "a?": false, "a&b": false, "#": false, strings.Repeat("x", 201): false, strings.Repeat("x", 200): true} {
		if err := CheckDataset(name, c); (err == nil) != want {
			t.Errorf("dataset %q: %v", name, err)
		}
	}
	for _, label := range []string{"", "shop one/two"} {
		if err := CheckDataset(label, contractAlone()); err != nil {
			t.Errorf("a label that is not sent: %q: %v", label, err)
		}
	}
	r = TriggerRequest{Dataset: "line\nbreak"}
	if got, want := fieldsOf(r.Problems(everything())), []string{"dataset", "inputs"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	r = TriggerRequest{Dataset: "gd_x", Inputs: make([]JobInput, MaxInputs+1)}
	if ps := r.Problems(everything()); len(ps) != 200 {
		t.Errorf("%d problems are listed, want 200", len(ps))
	}
}

func TestATokenIsOneWord(t *testing.T) {
	for s, want := range map[string]bool{"POST": true, "X-Az09": true, "!#$%&'*+-.^_`|~": true, "": false, "a b": false, "a:b": false, "ä": false, "a\x00": false} {
		if got := ValidToken(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
	for s, want := range map[string]bool{"": true, "a\tb": true, "ä": true, "a\rb": false, "a\nb": false, "\x7f": false, "\x00": false} {
		if got := ValidHeaderValue(s); got != want {
			t.Errorf("value %q: %v", s, got)
		}
	}
}

func TestATextIsCutAtARune(t *testing.T) {
	for _, c := range []struct {
		s    string
		size int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aäb", 2, "a…"}, {"aäb", 3, "aä…"}, {"", 0, ""}, {"\x80\x80\x80\x80\x80\x80", 5, "\x80…"}} {
		if got := Cut(c.s, c.size); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.s, c.size, got, c.want)
		}
	}
	if got, want := Line(" a\r\n\tb\x1b\x00c \xff d", 100), "a b c ? d"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Line(strings.Repeat("ab ", 100), 4), "ab a…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestALongAddressIsCutInItsProblem(t *testing.T) {
	url := strings.Repeat("u", 61)
	_, bad := ParseTarget(url)
	want := `inputs: row 7: "` + strings.Repeat("u", 60) + `…": ` + bad.Error()
	ps := TriggerRequest{Dataset: "gd_a", Inputs: []JobInput{{URL: url, Row: 7}}}.Problems(everything())
	if len(ps) != 1 || ps[0].String() != want {
		t.Errorf("problems %v, want %s", ps, want)
	}
}
