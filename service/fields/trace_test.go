package fields

import (
	"reflect"
	"strings"
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
		got, err := Traces("", []byte(c.body), []string{c.path}, asItIs)
		if err != nil || len(got) != 1 || got[0].Matches != c.matches || got[0].Fails != c.fails || got[0].Found != (c.fails == "") {
			t.Errorf("%s: %+v, %v", c.path, got, err)
		}
		found, err := Find("", []byte(c.body), []string{c.path})
		if err != nil || found[0].Found != got[0].Found {
			t.Errorf("%s: found %v, %v; the trace says %v", c.path, found, err, got[0].Found)
		}
	}
}

func asItIs(_ []string, text string) string { return text }

func TestAnOutlineHasNamesAndTextsAlone(t *testing.T) {
	got, err := Traces("text/html", []byte(tracedPage), []string{".card .price", ".name"}, asItIs)
	if err != nil {
		t.Fatal(err)
	}
	card := []string{"div.box.card", "  h2.name", "    a  Lamp", "  em", "  input"}
	if !reflect.DeepEqual(got[0].Outline, card) || !reflect.DeepEqual(got[1].Outline, card) {
		t.Errorf("%q\n%q", got[0].Outline, got[1].Outline)
	}
	deep, err := Traces("text/html", []byte(strings.Repeat("<div class='"+strings.Repeat("x", 5000)+"'>", 300)+"<p class=y>"+strings.Repeat("word ", 1000)), []string{".y"}, asItIs)
	if err != nil || len(deep[0].Outline) > outlineLines || len(strings.Join(deep[0].Outline, "")) > outlineLines*(outlineText+4*outlineDeep) {
		t.Errorf("%+v, %v", deep, err)
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
		traces, err := Traces("", []byte(body), []string{path}, asItIs)
		if err != nil {
			return
		}
		found, err := Find("", []byte(body), []string{path})
		if err != nil || found[0].Found != traces[0].Found || traces[0].Found == (traces[0].Fails != "") || len(traces[0].Outline) > outlineLines {
			t.Fatalf("%+v, %+v, %v", found, traces, err)
		}
	})
}

func TestOfAnAddressThatIsCutTheSchemeAloneIsLeft(t *testing.T) {
	var seen []string
	mask := func(_ []string, text string) string { seen = append(seen, text); return text }
	secret := strings.Repeat("s3cret", 300)
	page := `<div id="x https://bob:` + secret + `"><p class=y>see https://bob:` + secret + `</p><p>` + secret + `</p></div>`
	if _, err := Traces("text/html", []byte(page), []string{".y"}, mask); err != nil {
		t.Fatal(err)
	}
	if want := []string{"x https", "y", "see https", secret[:outlineRead]}; !reflect.DeepEqual(seen, want) {
		t.Errorf("%.60q, want %.60q", seen, want)
	}
}
