package export_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/export"
)

// readAnswer is an answer, and what the check of a program says of it.
type readAnswer struct {
	Name, Want string
	Program    string // of readPrograms; native where it is empty
	Status     int
	Header     map[string]string
	Body       string // a byte for each character
}

var readPrograms = map[string]model.FetchRequest{
	"native": {Via: model.ViaNative}, "raw": {Via: model.ViaAPI}, "wrapped": {Via: model.ViaAPI, Format: model.FormatJSON},
}

func readAnswers() []readAnswer {
	var charsets []readAnswer
	for _, name := range strings.Fields("iso8859-1 ISO_8859-1 ascii tis-620 iso-2022-jp x-sjis x-gbk windows-874 x-euc-jp iso-8859-8-i koi8-u") {
		charsets = append(charsets, readAnswer{Name: name, Header: map[string]string{"content-type": "text/html; charset=" + name}, Body: "<p>x</p>"})
	}
	for _, name := range strings.Fields("klingon idna undefined punycode hex") {
		charsets = append(charsets, readAnswer{
			Name: name, Header: map[string]string{"content-type": "text/html; charset=" + name}, Body: "<p>x</p>", Want: `the character set "` + name + `" is not known`,
		})
	}
	const atWork = "the service is still at work"
	reported := map[string]string{"x-brd-status-code": "200"}
	return append(charsets, []readAnswer{
		{Name: "202", Program: "raw", Status: 202, Body: `{"status":"pending","response_id":"r1"}`, Want: atWork},
		{Name: "202 in place of a wrapper", Program: "wrapped", Status: 202, Body: `{"status":"pending","response_id":"r1"}`, Want: atWork},
		{Name: "202 of the target", Program: "raw", Status: 202, Header: map[string]string{"x-brd-status-code": "202"}, Body: `{"status":"pending"}`},
		{Name: "202 by the proxy", Status: 202, Body: "<p>Thank you</p>"},
		{Name: "an identifier in place of the page", Program: "raw", Body: ` {"snapshot_id":"s_1","message":"still \"in\" progress"}`, Want: atWork},
		{Name: "a state with an identifier", Program: "wrapped", Body: `{"pending":true,"status":"running","response_id":"r1"}`, Want: atWork},
		{Name: "an identifier that the target gives", Program: "raw", Header: reported, Body: `{"snapshot_id":"s_1"}`},
		{Name: "a state without an identifier", Program: "raw", Body: `{"status":"pending","message":"x"}`},
		{Name: "a job that is over", Program: "raw", Body: `{"status":"ready","snapshot_id":"s_1"}`},
		{Name: "more than a state", Program: "raw", Body: `{"status":"running","snapshot_id":"s_1","price":1}`},
		{Name: "a redirect to a wall in a wrapper", Program: "wrapped", Body: `{"status_code":302,"headers":{"location":"https://geo.captcha-delivery.com/a"},"body":""}`, Want: `a wall, by "location: https://geo.captcha-delivery.com"`},
		{Name: "a header of a wall in a wrapper", Program: "wrapped", Body: `{"status_code":200,"headers":{"cf-mitigated":["challenge"],"content-length":8},"body":"<p>x</p>"}`, Want: `a wall, by "cf-mitigated: challenge"`},
		{Name: "a wrapper", Program: "wrapped", Header: map[string]string{"x-brd-status-code": "404"}, Body: `{"status_code":200,"headers":null,"body":"<p>x</p>"}`},
		{Name: "a wrapper of an empty page", Program: "wrapped", Body: `{"status_code":200,"headers":{}}`, Want: "the answer is empty"},
		{Name: "a wrapper without a status", Program: "wrapped", Body: `{"body":"<div id=px-captcha >"}`, Want: `a wall, by "px-captcha"`},
		{Name: "a wrapper without a status, of a page that is not there", Program: "wrapped", Header: map[string]string{"x-brd-status-code": "404"}, Body: `{"body":"<p>x</p>"}`, Want: "status 404"},
		{Name: "no wrapper", Program: "wrapped", Body: "<p>x</p>"},
		{Name: "a wall without a wrapper", Program: "wrapped", Body: "<div id=px-captcha >", Want: `a wall, by "px-captcha"`},
		{Name: "JSON that is no wrapper", Program: "wrapped", Body: `[7]`},
		{Name: "a number", Program: "wrapped", Body: `7`},
		{Name: "UTF-8 that is called UTF-16", Body: `<html><meta charset="UTF-16LE"><div id="px-captcha"></div></html>`, Want: `a wall, by "px-captcha"`},
		{Name: "an error that the service reports", Header: map[string]string{"x-brd-error": "no peers"}, Body: "<p>x</p>", Want: `the service reports "no peers"`},
		{Name: "a header of errors that is empty", Header: map[string]string{"x-brd-error": "", "x-brd-err-code": " "}, Body: "<p>x</p>"},
		{Name: "comments that do not end", Body: "<p>x</p>" + strings.Repeat("<!--", 25_000)},
		{Name: "text areas that do not end", Body: "<p>x</p>" + strings.Repeat("<textarea>", 10_000)},
		{Name: "markup in a script", Body: `<html><h1>Shop</h1><script>var t='<div id="px-captcha"></div><title>Security check</title>';</script><style>.a:after{content:'<div id="px-captcha">'}</style></html>`},
		{Name: "markup behind a script", Body: `<html><script src="a.js"></script><script>var t="<!--</div>";</script><div id="px-captcha"></div></html>`, Want: `a wall, by "px-captcha"`},
		{Name: "a script of a defence", Body: `<html><script>window._cf_chl_opt={cvId:"3"};</script></html>`, Want: `a wall, by "_cf_chl_opt"`},
		{Name: "a script of a defence in a comment", Body: `<html><!-- <script>window._cf_chl_opt={cvId:"3"};</script> --><p>x</p></html>`},
		{Name: "scripts that do not end", Body: "<p>x</p>" + strings.Repeat("<script>", 10_000)},
		{Name: "a comment of nothing", Body: `<p>x</p><!--><div id="px-captcha"></div>`, Want: `a wall, by "px-captcha"`},
	}...)
}

// drivers run the checks of exported programs without their fetches: the answers come from cases.json, and what is said goes
// to standard output, as a list.
var drivers = map[string]string{
	"python": `
import json
from requests.structures import CaseInsensitiveDict
checks, said = {}, []
for name in ("native", "raw", "wrapped"):
    checks[name] = {}
    exec(open(name + ".py").read().split("\n\n\nanswer = ")[0], checks[name])
for c in json.load(open("cases.json")):
    said.append(checks[c["Program"]]["problem"](c["Status"], CaseInsensitiveDict(c["Header"]), c["Body"].encode("latin-1")) or "")
print(json.dumps(said))
`,
	"node": `
import { readFileSync, writeFileSync } from "node:fs";
const checks = {};
for (const name of ["native", "raw", "wrapped"]) {
  const text = readFileSync(name + ".mjs", "utf8");
  writeFileSync(name + "-check.mjs", text.slice(text.indexOf("\n// problem is ")) + "\nexport { problem };\n");
  checks[name] = (await import("./" + name + "-check.mjs")).problem;
}
const cases = JSON.parse(readFileSync("cases.json", "utf8"));
console.log(JSON.stringify(cases.map((c) => checks[c.Program](c.Status, new Headers(c.Header ?? {}), Buffer.from(c.Body, "latin1")) ?? "")));
`,
	"go": `package main

import (
	"encoding/json"
	"net/http"
	"os"

	"checks/native"
	"checks/raw"
	"checks/wrapped"
)

func main() {
	checks := map[string]func(*http.Response, []byte) string{"native": native.Problem, "raw": raw.Problem, "wrapped": wrapped.Problem}
	var cases []struct {
		Program, Body string
		Status        int
		Header        map[string]string
	}
	text, _ := os.ReadFile("cases.json")
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	var said []string
	for _, c := range cases {
		answer := &http.Response{StatusCode: c.Status, Header: http.Header{}}
		for name, value := range c.Header {
			answer.Header.Set(name, value)
		}
		var body []byte
		for _, r := range c.Body {
			body = append(body, byte(r))
		}
		said = append(said, checks[c.Program](answer, body))
	}
	json.NewEncoder(os.Stdout).Encode(said)
}
`,
}

// The programs say the same of an answer in each language.
func TestWhatProgramsSayOfAnAnswer(t *testing.T) {
	cases := readAnswers()
	for i := range cases {
		c := &cases[i]
		if c.Program == "" {
			c.Program = "native"
		}
		if c.Status == 0 {
			c.Status = http.StatusOK
		}
	}
	text, err := json.Marshal(cases)
	noerr.Must(t, err)
	for language, driver := range drivers {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "cases.json", string(text))
			target, _ := export.Find(language)
			for name, r := range readPrograms {
				s := source(r.Via)
				s.Request.Format = r.Format
				s.Secret = "secret"
				code, err := target.Code(s)
				noerr.Must(t, err)
				file := name + filepath.Ext(target.File)
				if language == "go" {
					noerr.Must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
					file = filepath.Join(name, "check.go")
					code = strings.NewReplacer("package main\n", "package "+name+"\n", "func main()", "func Main()").Replace(code) + "\nvar Problem = problem\n"
				}
				write(t, dir, file, code)
			}
			out := ""
			switch language {
			case "python":
				out = start(t, dir, nil, python(t, "requests"), "-c", driver)
			case "node":
				need(t, "node", "nodejs")
				write(t, dir, "all.mjs", driver)
				out = start(t, dir, nil, "node", "all.mjs")
			case "go":
				need(t, "go", "go")
				write(t, dir, "go.mod", "module checks\n\ngo 1.21\n")
				write(t, dir, "main.go", driver)
				start(t, dir, goEnv(t), "go", "build", "-o", "checks")
				out = start(t, dir, nil, filepath.Join(dir, "checks"))
			}
			var said []string
			noerr.Must(t, json.Unmarshal([]byte(out), &said))
			for i, c := range cases {
				got := strings.ReplaceAll(said[i], "'", `"`)
				if got != c.Want {
					t.Errorf("%s: %q, want %q", c.Name, got, c.Want)
				}
			}
		})
	}
}
