package proxy

import (
	"bufio"
	"encoding/base64"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/ui/kit/text"
)

func testCredential(params ...model.Param) model.Credential {
	return model.Credential{Prefix: "brd", Account: "hl_demo01", Zone: "residential_demo", Params: params}
}

func TestExplanationPutsEachLabelUnderItsPart(t *testing.T) {
	c := testCredential(model.Param{Name: "country", Value: "de"}, model.Param{Name: "session", Value: "a1"})
	lines := explain(c.Parts(), 100)
	if len(lines) != 1 {
		t.Fatalf("%d lines, want 1", len(lines))
	}
	e := lines[0]
	if want, _ := c.Username(); e.name != want {
		t.Errorf("name = %q, want %q", e.name, want)
	}
	want := []string{
		"brd-customer-hl_demo01-zone-residential_demo-country-de-session-a1",
		"╰┬╯          ╰───┬───╯      ╰───────┬──────╯         ╰┬         ╰┬",
		"prefix        account             zone             country    session",
	}
	got := append([]string{e.name, e.brackets}, e.labels...)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExplanationLosesNothingAtAnyWidth(t *testing.T) {
	c := testCredential(
		model.Param{Name: "country", Value: "de"}, model.Param{Name: "city", Value: "berlin"}, model.Param{Name: "raw"},
		model.Param{Name: "session", Value: "x"}, model.Param{Name: "zip", Value: ""},
	)
	whole := ""
	for i, p := range c.Parts() {
		if i > 0 {
			whole += "-"
		}
		if p.Text == "" {
			p.Text = "?"
		}
		whole += p.Text
	}
	for width := 8; width < 120; width++ {
		joined := ""
		seen := map[string]bool{}
		for _, e := range explain(c.Parts(), width) {
			joined += e.name
			for _, l := range append([]string{e.name, e.brackets}, e.labels...) {
				if text.Width(l) > width {
					t.Fatalf("width %d: line %q is wider", width, l)
				}
			}
			for _, s := range e.spans {
				seen[s.label] = true
			}
			for _, s := range e.spans {
				if s.label != "" && !strings.Contains(strings.Join(e.labels, "\n"), text.Cut(s.label, width)) {
					t.Fatalf("width %d: label %q was overwritten:\n%s\n%s", width, s.label, e.brackets, strings.Join(e.labels, "\n"))
				}
			}
		}
		if joined != whole {
			t.Fatalf("width %d: %q, want %q", width, joined, whole)
		}
		for _, want := range []string{"prefix", "account", "zone", "country", "city", "session", "zip"} {
			if !seen[want] {
				t.Fatalf("width %d: no label %q", width, want)
			}
		}
	}
}

func TestCAVerdictFollowsTheContract(t *testing.T) {
	tests := map[string]struct {
		zone   model.Zone
		ca     string
		verify bool
		want   caState
	}{
		"residential without the identity check needs it": {model.Zone{Product: model.ProductResidential}, "", true, caMissing},
		"and has it":               {model.Zone{Product: model.ProductUnlocker}, "/ca.pem", true, caFile},
		"verified needs none":      {model.Zone{Product: model.ProductUnlocker, IdentityVerified: true}, "", true, caUnneeded},
		"datacenter needs none":    {model.Zone{Product: model.ProductDatacenter}, "", true, caUnneeded},
		"an unknown product":       {model.Zone{}, "/ca.pem", true, caUnknown},
		"checks off is said first": {model.Zone{Product: model.ProductResidential}, "/ca.pem", false, caSkipped},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := trustOf(tt.zone, tt.ca, tt.verify); got.state != tt.want || got.text == "" {
				t.Errorf("state %d %q, want %d", got.state, got.text, tt.want)
			}
		})
	}
}

// The copied command is run by a real shell and a real curl against a proxy
// that records the login it was given.
func TestCopiedCurlCommandLogsInWithoutTheLoginInArgv(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	const password = `p"a\s's $w&rd`
	for name, inline := range map[string]bool{"reference": false, "inline": true} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			got := make(chan string, 1)
			go func() {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				got <- req.Header.Get("Proxy-Authorization")
				conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"))
			}()
			l := login{Host: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port, Username: "brd-customer-hl_demo01-zone-z1", Target: "http://lab.test/ok"}
			if inline {
				l.Password = password
			} else if strings.Contains(l.asCurl(), password) {
				t.Fatal("the password is in the command")
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", l.asCurl()+" --silent --max-time 10 --noproxy ''")
			cmd.Env = []string{"PATH=/usr/bin:/bin", passwordEnv + "=" + password}
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != "ok" {
				t.Fatalf("%s\n%v: %s", l.asCurl(), err, out)
			}
			want := "Basic " + base64.StdEncoding.EncodeToString([]byte(l.Username+":"+password))
			if auth := <-got; auth != want {
				t.Errorf("login was %q, want %q", auth, want)
			}
		})
	}
}

func TestEnvLinesGiveTheVariableToTheShell(t *testing.T) {
	l := login{Host: "proxy.example.com", Port: 33335, Username: "brd-customer-hl_demo01-zone-z$HOME", CA: "/tmp/it's.pem"}
	script := l.asEnv() + `printf '%s\n%s' "$HTTPS_PROXY" "$SSL_CERT_FILE"`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = []string{passwordEnv + "=s3cret"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "http://brd-customer-hl_demo01-zone-z%24HOME:s3cret@proxy.example.com:33335\n/tmp/it's.pem"
	if string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}
