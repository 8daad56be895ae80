package export

import (
	"bufio"
	"encoding/base64"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// The copied command is run by a real shell and a real curl against a proxy
// that records the login it was given.
func TestCopiedCurlCommandLogsInWithoutTheLoginInArgv(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "base64"} {
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
			l := Login{Host: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port, Username: "brd-customer-hl_demo01-zone-z1", Target: "http://lab.test/ok"}
			if inline {
				l.Password = password
			} else if strings.Contains(l.Curl(), password) {
				t.Fatal("the password is in the command")
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", l.Curl()+" --silent --max-time 10 --noproxy ''")
			cmd.Env = []string{"PATH=/usr/bin:/bin", PasswordEnv + "=" + password}
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != "ok" {
				t.Fatalf("%s\n%v: %s", l.Curl(), err, out)
			}
			want := "Basic " + base64.StdEncoding.EncodeToString([]byte(l.Username+":"+password))
			if auth := <-got; auth != want {
				t.Errorf("login was %q, want %q", auth, want)
			}
		})
	}
}

func TestEnvLinesGiveTheVariableToTheShell(t *testing.T) {
	l := Login{Host: "proxy.example.com", Port: 33335, Username: "brd-customer-hl_demo01-zone-z$HOME", CA: "/tmp/it's.pem"}
	script := l.Env() + `printf '%s\n%s' "$HTTPS_PROXY" "$SSL_CERT_FILE"`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = []string{PasswordEnv + "=s3cret"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "http://brd-customer-hl_demo01-zone-z%24HOME:s3cret@proxy.example.com:33335\n/tmp/it's.pem"
	if string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}
