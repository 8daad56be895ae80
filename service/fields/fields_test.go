package fields

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

const page = `<!doctype html><html><head><meta name="sku" content="A1"></head><body>
<div class="product"><h2 class="name"> Kettle </h2><span class="price">12.50</span><span class="stock"></span>
<img class="photo" src="/k.png"></div></body></html>`

func TestFieldsAreFoundInHTMLAndJSON(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		paths, missing          []string
	}{
		{"text of an element", "text/html", page, []string{".name", ".price"}, nil},
		{"an attribute stands for an element without text", "text/html; charset=utf-8", page, []string{`meta[name=sku]`, ".photo"}, nil},
		{"an empty element is missing", "text/html", page, []string{".stock"}, []string{".stock"}},
		{"changed markup is missing", "text/html", page, []string{".price", ".cost"}, []string{".cost"}},
		{"JSON by path", "application/json", `{"items":[{"price":1}],"name":"x"}`, []string{"items.0.price", "name"}, nil},
		{"a JSON null and an empty text are missing", "application/json", `{"a":null,"b":""}`, []string{"a", "b"}, []string{"a", "b"}},
		{"JSON without a content type", "", ` {"a":false}`, []string{"a", "c"}, []string{"c"}},
		{"JSON behind a byte order mark", "application/json", "\ufeff{\"a\":1}", []string{"a", "c"}, []string{"c"}},
		{"JSON by another type", "text/html; charset=utf-8", " \ufeff[{\"a\":1}]", []string{"0.a", "0.b"}, []string{"0.b"}},
		{"text that begins as JSON does", "text/html", "[<p>1</p>]", []string{"p", "0"}, []string{"0"}},
		{"nothing in a list, an object or a text", "application/json", `{"a":[ ],"b":{ },"c":" \u00a0\u200b ","d":[0],"e":{"f":""},"g":0}`, strings.Split("abcdeg", ""), []string{"a", "b", "c"}},
		{"a mark alone", "text/html", "<p>\u200b</p><b>\u00a0</b>", []string{"p", "b"}, []string{"p", "b"}},
		{"broken JSON holds nothing", "application/json", `{"a":1`, []string{"a"}, []string{"a"}},
		{"nothing at all", "text/html", "", []string{"p"}, []string{"p"}},
		{"no fields asked for", "text/html", page, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := Find(c.contentType, []byte(c.body), c.paths)
			noerr.Must(t, err)
			if got := model.MissingFields(found); !slices.Equal(got, c.missing) {
				t.Errorf("missing %q, want %q (found %+v)", got, c.missing, found)
			}
		})
	}
}

func TestPathsAreChecked(t *testing.T) {
	for _, good := range []string{".price", "#a > b", "items.0.price", "a:not(.b)", `a[href^="http://lab.test"]`} {
		if err := Validate(good); err != nil {
			t.Errorf("Validate(%q) = %v", good, err)
		}
	}
	for _, bad := range []string{"", "  ", "<b>", "a >> (", "{", "http://lab.test/ok", "https://lab.test"} {
		if err := Validate(bad); !errors.Is(err, errField) {
			t.Errorf("Validate(%q) = %v, want ErrField", bad, err)
		}
	}
}

func TestABodyThatNestsWithoutEndHarmsNothing(t *testing.T) {
	for name, body := range map[string]string{
		"lists":    strings.Repeat("[", 8<<20),
		"objects":  strings.Repeat(`{"a":`, 1<<20),
		"balanced": strings.Repeat("[", 4<<20) + strings.Repeat("]", 4<<20),
		"elements": "<html>" + strings.Repeat("<div>", 1<<20),
	} {
		for _, kind := range []string{"application/json", "text/html"} {
			found, err := Find(kind, []byte(body), []string{"a.a.a", "0.0"})
			if err == nil && len(model.MissingFields(found)) != 2 {
				t.Errorf("%s as %s: %+v", name, kind, found)
			}
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("text/html", []byte(page), ".price")
	f.Add("application/json", []byte(`{"a":[1,2,{"b":"c"}]}`), "a.#.b")
	f.Add("", []byte("[[[["), "@this|@pretty")
	f.Fuzz(func(t *testing.T, contentType string, body []byte, path string) {
		found, err := Find(contentType, body, []string{path})
		if err != nil {
			return
		}
		if len(found) != 1 || found[0].Path != path || len(found[0].Value) > maxValue || found[0].Found == (found[0].Value == "") {
			t.Errorf("%+v", found)
		}
	})
}

func TestALongValueIsCutToWholeCharacters(t *testing.T) {
	for in, want := range map[string]string{
		strings.Repeat("a", 256):       strings.Repeat("a", 256),
		strings.Repeat("a", 257):       strings.Repeat("a", 256),
		strings.Repeat("ä", 200):       strings.Repeat("ä", 128),
		"a" + strings.Repeat("ä", 200): "a" + strings.Repeat("ä", 127),
	} {
		got, err := Find("text/html", []byte("<p>"+in+"</p>"), []string{"p"})
		if err != nil || len(got) != 1 || got[0].Value != want {
			t.Errorf("%d bytes: %+v, %v", len(in), got, err)
		}
	}
}

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
