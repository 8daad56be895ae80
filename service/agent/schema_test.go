package agent

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
)

const searchSchema = `{"type":"object","required":["query"],"properties":{
	"query":{"type":"string","description":"What to\nsearch for"},
	"engine":{"type":"string","enum":["google","bing"],"default":"google"},
	"cursor":{"type":["integer","null"],"default":0},
	"ratio":{"type":"number"},
	"dedupe":{"type":"boolean","default":true},
	"words":{"type":"array","items":{"type":"string"},"default":["a","b"]},
	"where":{"type":"object"},
	"mixed":{"enum":["a",1]},
	"either":{"type":["string","integer"]},
	"any":true}}`

func TestASchemaBecomesTheFieldsOfAForm(t *testing.T) {
	want := []Input{
		{Name: "query", Kind: KindText, Required: true, Description: "What to search for"},
		{Name: "any", Kind: KindJSON},
		{Name: "cursor", Kind: KindInteger, Default: "0"},
		{Name: "dedupe", Kind: KindSwitch, Default: "true"},
		{Name: "either", Kind: KindText},
		{Name: "engine", Kind: KindChoice, Choices: []string{"google", "bing"}, Default: "google"},
		{Name: "mixed", Kind: KindJSON},
		{Name: "ratio", Kind: KindNumber},
		{Name: "where", Kind: KindJSON},
		{Name: "words", Kind: KindLines, Default: "a\nb"},
	}
	if got := inputs([]byte(searchSchema)); !reflect.DeepEqual(got, want) {
		t.Errorf("fields\n%+v\nwant\n%+v", got, want)
	}
	for _, none := range []string{"", "true", "[]", `{"properties":3}`, `{"type":"object"}`} {
		if got := inputs([]byte(none)); len(got) != 0 {
			t.Errorf("%q has the fields %+v", none, got)
		}
	}
}

func TestTheFieldsBecomeTheArgumentsAndAreReadBack(t *testing.T) {
	tool := Tool{Inputs: inputs([]byte(searchSchema))}
	texts := map[string]string{
		"query": `a "b" <c>`, "cursor": "2", "ratio": "-1.5e3", "dedupe": "false", "engine": "bing", "words": "x\n\n y", "where": `{"k":[1]}`, "any": "null", "either": "5",
	}
	args, problems := tool.Args(func(name string) string { return texts[name] })
	want := `{"query":"a \"b\" <c>","any":null,"cursor":2,"dedupe":false,"either":"5","engine":"bing","ratio":-1.5e3,"where":{"k":[1]},"words":["x","y"]}`
	if args != want || len(problems) > 0 {
		t.Errorf("%s, %v, want %s", args, problems, want)
	}
	back, left := tool.Texts(args)
	texts["words"], texts["any"] = "x\ny", ""
	if !maps.Equal(back, texts) || left {
		t.Errorf("read back as %q (left %v), want %q", back, left, texts)
	}
	if _, left := tool.Texts(`{"query":"a","other":1}`); !left {
		t.Error("an argument without a field is not noticed")
	}
	if _, left := tool.Texts(`[1]`); !left {
		t.Error("what is no object is not noticed")
	}
}

func TestWhatAFieldCannotHoldIsSaid(t *testing.T) {
	tool := Tool{Inputs: inputs([]byte(searchSchema))}
	texts := map[string]string{"cursor": "+2", "ratio": "0x1", "dedupe": "yes", "engine": "yahoo", "where": "{", "any": "{}"}
	args, problems := tool.Args(func(name string) string { return texts[name] })
	got := map[string]string{}
	for name, err := range problems {
		got[name] = err.Error()
	}
	want := map[string]string{
		"query": "query is required", "cursor": `"+2" is not a whole number`, "ratio": `"0x1" is not a number`, "dedupe": `"yes" is neither true nor false`,
		"engine": `"yahoo" is not one of the tool's values`, "where": `"{" is not JSON`,
	}
	if !maps.Equal(got, want) || args != `{"any":{}}` {
		t.Errorf("%s, %q, want %q", args, got, want)
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(searchSchema, "text")
	f.Add(`{"properties":{"a":{"type":["array"],"items":{"type":"string"}},"":{},"\u001b":{}}}`, "a\nb")
	f.Add(`{"properties":{"n":{"type":"number","default":1e999}}}`, "1")
	f.Fuzz(func(t *testing.T, schema, text string) {
		tool := Tool{Inputs: inputs([]byte(schema))}
		for _, in := range tool.Inputs {
			if in.Name == "" || strings.ContainsAny(in.Name+in.Description, "\x1b\n") {
				t.Errorf("the field %q (%q) holds control characters", in.Name, in.Description)
			}
		}
		args, _ := tool.Args(func(string) string { return text })
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(args), &object); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		back, left := tool.Texts(args)
		if left {
			t.Errorf("%s holds what no field has", args)
		}
		again, _ := tool.Args(func(name string) string { return back[name] })
		var same map[string]json.RawMessage
		if err := json.Unmarshal([]byte(again), &same); err != nil {
			t.Errorf("written again: %q", again)
		}
		for name := range same {
			if _, ok := object[name]; !ok {
				t.Errorf("written again, %s has %q", again, name)
			}
		}
	})
}
