package model

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestEachOptionHasItsOwnPlace(t *testing.T) {
	for _, o := range AllOptions() {
		var all Options
		o.Set(&all, " x ")
		for _, other := range AllOptions() {
			want := ""
			if other.Name == o.Name {
				want = "x"
			}
			if got := other.Value(all); got != want {
				t.Errorf("%s set: %s is %q, want %q", o.Name, other.Name, got, want)
			}
		}
		if only := all.Only(o.Product); only != all {
			t.Errorf("%s: the product's own options are %+v, want %+v", o.Name, only, all)
		}
		if only := all.Only(ProductDatacenter); only != (Options{}) {
			t.Errorf("%s: a datacenter zone keeps %+v", o.Name, only)
		}
		if o.Label == "" || o.Help == "" || strings.Contains(o.Flag(), "_") {
			t.Errorf("%s: label %q, help %q, flag %q", o.Name, o.Label, o.Help, o.Flag())
		}
	}
}

func TestAnOptionThatCannotStandIsNamedAtItsField(t *testing.T) {
	yes := func(Option, FetchRequest) error { return nil }
	can := everything()
	can.Option = yes
	for _, c := range []struct {
		product Product
		options Options
		want    []string
	}{
		{ProductSERP, Options{Query: "a", Engine: "bing", Page: "2", Parsed: "true"}, nil},
		{ProductDatacenter, Options{Query: "a", Engine: "bing"}, nil}, // its address says it all
		{ProductUnlocker, Options{Render: "true", WaitFor: "text:In stock"}, nil},
		{ProductUnknown, Options{Render: "true"}, nil},
		{ProductSERP, Options{Engine: "altavista", Page: "0", Parsed: "yes"}, []string{
			`engine: "altavista" is not one of google, bing, duckduckgo, yandex`, `page: "0": write a number from 1 to 1000`, `parsed: "yes": write true, or nothing`,
		}},
		{ProductSERP, Options{Query: "a\nb", Page: "1001"}, []string{"query: write one line of at most 2000 bytes", `page: "1001": write a number from 1 to 1000`}},
		{ProductUnlocker, Options{WaitFor: "text: "}, []string{"wait_for: write words behind the colon"}},
		{ProductDatacenter, Options{Render: "true"}, []string{"render: unlocker zones have it; zone dc1 is of product datacenter"}},
	} {
		r := fetchable()
		r.Zone.Product, r.Options = c.product, c.options
		var got []string
		for _, p := range r.Problems(can) {
			got = append(got, p.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %+v: %q, want %q", c.product, c.options, got, c.want)
		}
	}
}

func TestADialectThatSendsNoOptionsRefusesThem(t *testing.T) {
	r := fetchable()
	r.Zone.Product, r.Options = ProductUnlocker, Options{Render: "true", WaitFor: ".a", Engine: "google"}
	for _, via := range []Via{ViaAPI, ViaNative} {
		r.Via = via
		if got, want := fieldsOf(r.Problems(contractAlone())), []string{"render", "wait_for"}; !slices.Equal(got, want) {
			t.Errorf("by %s: %v, want %v", via, got, want)
		}
	}
	no := errors.New("not this")
	can := everything()
	can.Option = func(o Option, _ FetchRequest) error {
		if o.Name == OptionWaitFor {
			return no
		}
		return nil
	}
	if ps := r.Problems(can); len(ps) != 1 || ps[0].Field != OptionWaitFor || !errors.Is(ps[0].Err, no) {
		t.Errorf("problems %v", ps)
	}
}

func TestAToolTakesItsArgumentsAlone(t *testing.T) {
	can := everything()
	can.PageTool = "scrape"
	page := FetchRequest{Via: ViaAgent, Zone: AgentZone(), URL: "https://example.com/", Format: FormatRaw, Method: "GET"}
	if ps := page.Problems(can); len(ps) > 0 {
		t.Errorf("a page by a tool: %v", ps)
	}
	if got := fieldsOf(page.Problems(contractAlone())); !slices.Equal(got, []string{"via"}) {
		t.Errorf("without a known tool: %v", got)
	}
	call := FetchRequest{Via: ViaAgent, Tool: "search", Args: `{"query":"a"}`}
	if ps := call.Problems(contractAlone()); len(ps) > 0 {
		t.Errorf("a named tool: %v", ps)
	}
	if got, want := call.Summary(), `search {"query":"a"}`; got != want {
		t.Errorf("it is about %q, want %q", got, want)
	}
	for args, want := range map[string]string{
		"[]": `write a JSON object, such as {"url":"https://example.com/"}`, "{": `write a JSON object, such as {"url":"https://example.com/"}`,
		"null": `write a JSON object, such as {"url":"https://example.com/"}`, "{}": "", "": "",
	} {
		call.Args = args
		if err := call.argsProblem(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("arguments %q: %v, want %q", args, err, want)
		}
	}
	page.Args = "{}"
	page.Format, page.Method, page.Header, page.Body = FormatJSON, "POST", http.Header{"A": {"b"}}, "c"
	page.Country, page.Session, page.Options = "de", "s", Options{Render: "true"}
	if got, want := fieldsOf(page.Problems(can)), []string{"body", "format", "headers", "method", "country", "session", "args", "render"}; !slices.Equal(got, want) {
		t.Errorf("what a tool has no place for: %v, want %v", got, want)
	}
}

func TestTheRemoteBrowserNeedsItsZoneAndADialect(t *testing.T) {
	can := everything()
	can.Browser = true
	r := fetchable()
	r.Via, r.Zone.Product, r.Country = ViaBrowser, ProductBrowser, "de"
	if ps := r.Problems(can); len(ps) > 0 {
		t.Errorf("problems %v", ps)
	}
	if got := fieldsOf(r.Problems(contractAlone())); !slices.Equal(got, []string{"country", "via"}) {
		t.Errorf("by the contract alone: %v", got)
	}
	r.Zone.Product, r.Zone.Password, r.Body = ProductUnlocker, "", "x"
	if got := fieldsOf(r.Problems(can)); !slices.Equal(got, []string{"body", "via", "password"}) {
		t.Errorf("of another product: %v", got)
	}
	for _, v := range Vias() {
		if got, err := ParseVia(string(v)); got != v || err != nil {
			t.Errorf("%s: %s, %v", v, got, err)
		}
	}
	if _, err := ParseVia(""); err == nil {
		t.Error("an empty way is read")
	}
}
