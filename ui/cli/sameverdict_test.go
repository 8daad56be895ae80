package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"

	"zonedeck/internal/noerr"
	"zonedeck/service"
)

// wall is a page whose title and text ask for a human.
const wall = `<html><head><title>%s</title></head><body><h1>%[1]s</h1><p>%s</p></body></html>`

func compressed(text string) string {
	var b bytes.Buffer
	w := brotli.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func encoded(t *testing.T, e encoding.Encoding, text string) string {
	t.Helper()
	out, err := e.NewEncoder().String(text)
	noerr.Must(t, err)
	return out
}

// What request, compare, diagnose and an agent's fetch say of one answer is the same.
func TestEveryFaceSaysTheSameOfAnAnswer(t *testing.T) {
	t.Parallel()
	human := fmt.Sprintf(wall, "Are you a robot?", `<div class="g-recaptcha"></div>`)
	answers := map[string]struct {
		status  int
		header  []string
		body    string
		require []string
		want    string // class, cause and rule
	}{
		"page":      {header: []string{"Content-Type: text/html"}, body: "<html><h1>Lamps</h1><p class=price>7</p></html>", require: []string{".price"}, want: "ok//ok"},
		"missing":   {header: []string{"Content-Type: text/html"}, body: "<html><h1>Lamps</h1></html>", require: []string{"h1", ".price"}, want: "parsing_drift/missing_fields/missing_fields"},
		"blank":     {header: []string{"Content-Type: application/json"}, body: `{"items":[{"price":[]}]}`, require: []string{"items.0.price"}, want: "parsing_drift/missing_fields/missing_fields"},
		"brotli":    {header: []string{"Content-Type: text/html", "Content-Encoding: br"}, body: compressed(human), want: "captcha//captcha_page"},
		"gbk":       {header: []string{"Content-Type: text/html; charset=gbk"}, body: encoded(t, simplifiedchinese.GBK, fmt.Sprintf(wall, "安全验证", "请拖动滑块完成验证")), want: "captcha//captcha_page"},
		"shift-jis": {header: []string{"Content-Type: text/html"}, body: encoded(t, japanese.ShiftJIS, fmt.Sprintf("<meta charset=Shift_JIS>"+wall, "アクセスが拒否されました", "お客様のIPアドレスからのアクセスがブロックされました。")), want: "access_restricted/site_block/refusal_page"},
		"json":      {header: []string{"Content-Type: application/json"}, body: `{"error":{"code":"captcha_required","message":"no"}}`, want: "captcha//captcha_page"},
		"quota":     {header: []string{"Content-Type: application/json"}, body: `{"errors":[{"message":"no","extensions":{"code":"RATE_LIMITED"}}]}`, want: "too_fast//too_fast_page"},
		"queue":     {header: []string{"Content-Type: text/html"}, body: fmt.Sprintf(wall, "Waiting room", "You are now in line. Your estimated wait time is 5 minutes."), want: "outside/waiting_room/waiting_room"},
		"coding":    {header: []string{"Content-Type: text/html", "Content-Encoding: dcb"}, body: "\xffDCB\x00\x91\x07\xd0\x13\x88\xe1\x02\xa4\x05", want: "outside/undecodable/undecodable"},
		"charset":   {header: []string{"Content-Type: text/html; charset=klingon"}, body: "<html><h1>\xe9\xff\xa1</h1></html>", want: "outside/undecodable/undecodable"},
		"empty":     {header: []string{"Content-Type: text/html"}, want: "outside/empty_body/empty_body"},
		"fast":      {status: http.StatusTooManyRequests, header: []string{"Content-Type: text/plain"}, body: "slow down", want: "too_fast//too_fast_429"},
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ URL string }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		a := answers[path.Base(asked.URL)]
		for _, line := range a.header {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(max(a.status, http.StatusOK))
		_, _ = io.WriteString(w, a.body)
	}))
	defer web.Close()
	env := map[string]string{service.EnvKey: "a-key-of-this-test"}
	agent := serve(t, env, "--base-url", web.URL, "--allow-domain", "x.test", "--max-cost", "9", "--allow-unpriced")
	run := func(stdin string, args ...string) string {
		p, stdout, stderr := process(t, env, append([]string{"--base-url", web.URL}, args...)...)
		p.Stdin = strings.NewReader(stdin)
		Main(t.Context(), p)
		if stdout.Len() == 0 {
			t.Errorf("%q: %s", args, stderr)
		}
		return stdout.String()
	}
	verdict := func(text string) string {
		var v struct{ Class, Cause, Rule string }
		noerr.Want(t, json.Unmarshal([]byte(text), &v))
		return v.Class + "/" + v.Cause + "/" + v.Rule
	}
	for name, a := range answers {
		url := "http://x.test/" + name
		saved := fmt.Sprintf("HTTP/1.1 %d\r\n%s\r\n\r\n%s", max(a.status, http.StatusOK), strings.Join(a.header, "\r\n"), a.body)
		var require []string
		for _, field := range a.require {
			require = append(require, "--require", field)
		}
		args := slices.Concat([]string{"--json"}, require)
		var compared struct{ Cells []json.RawMessage }
		noerr.Must(t, json.Unmarshal([]byte(run("", slices.Concat([]string{"compare", url, "--zones", "z", "--via", "api"}, args)...)), &compared))
		fields, err := json.Marshal(slices.Concat([]string{}, a.require))
		noerr.Must(t, err)
		byAgent, _ := agent.call(t, "fetch", fmt.Sprintf(`{"url":%q,"zone":"z","require":%s}`, url, fields))
		said := map[string]string{
			"request":  verdict(run("", slices.Concat([]string{"request", url, "--zone", "z", "--retries", "0"}, args)...)),
			"diagnose": verdict(run(saved, slices.Concat([]string{"diagnose", "-", "--via", "api"}, args)...)),
			"agent":    verdict(byAgent),
			"compare":  verdict(string(compared.Cells[0])) + a.want[strings.LastIndexByte(a.want, '/')+1:], // which names no rule
		}
		for face, got := range said {
			if got != a.want {
				t.Errorf("%s says of %s: %s, want %s", face, name, got, a.want)
			}
		}
	}
}
