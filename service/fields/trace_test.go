package fields

import (
	"testing"
)

const tracedPage = `<html><body><h1 id="top">Shop</h1><div class="box  card" data-token="s3cret"><h2 class="name"><a href="/?sig=s3cret">Lamp</a></h2><em></em><input type="hidden" name="csrf" value="s3cret"></div></body></html>`

func TestAPathIsFollowedToTheStepThatFails(t *testing.T) {
	for _, c := range []struct{ body, path, matches, fails string }{
		{tracedPage, ".card .name", ".card .name", ""},
		{tracedPage, ".card .price", ".card", ".price"},
		{tracedPage, ".card > .buy em", ".card", "> .buy"},
		{tracedPage, ".product .price", "", ".product"},
		{tracedPage, "div[data-x='a > b'] .name", "", "div[data-x='a > b']"},
		{tracedPage, ".price, .cost", "", ".price, .cost"},
		{tracedPage, "em", "", "em"}, // without a text it is missing
		{tracedPage, "..", "", ".."},
		{`{"items":[{"price":null,"name":"x"}]}`, "items.0.price", "items.0", "price"},
		{`{"items":[{"price":null,"name":"x"}]}`, "items.0.name", "items.0.name", ""},
		{`{"items":[]}`, "items.0.name", "items", "0"},
		{`{"a.b":1}`, `a\.b`, `a\.b`, ""},
		{`{"a"`, "a", "", "a"},
	} {
		got, err := Traces("", []byte(c.body), []string{c.path})
		if err != nil || len(got) != 1 || got[0].Matches != c.matches || got[0].Fails != c.fails || got[0].Found != (c.fails == "") {
			t.Errorf("%s: %+v, %v", c.path, got, err)
		}
		found, err := Find("", []byte(c.body), []string{c.path})
		if err != nil || found[0].Found != got[0].Found {
			t.Errorf("%s: found %v, %v; the trace says %v", c.path, found, err, got[0].Found)
		}
	}
}

func FuzzTraces(f *testing.F) {
	f.Add(tracedPage, ".card > .price")
	f.Add(`{"a":[{"b":1}]}`, "a.0.b")
	f.Add("<p>", "p:has(a b) ~ c, d")
	f.Fuzz(func(t *testing.T, body, path string) {
		if Validate(path) != nil {
			return
		}
		traces, err := Traces("", []byte(body), []string{path})
		if err != nil {
			return
		}
		found, err := Find("", []byte(body), []string{path})
		if err != nil || found[0].Found != traces[0].Found || traces[0].Found == (traces[0].Fails != "") {
			t.Fatalf("%+v, %+v, %v", found, traces, err)
		}
	})
}
