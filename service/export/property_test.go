package export

import (
	"encoding/base64"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/profile"
)

// standIn is a curl that keeps its arguments, each ended by NUL, and its standard input.
const standIn = `#!/bin/sh
printf '%s\0' "$@" > "$OUT/args"
cat > "$OUT/stdin"
`

// shell runs copied commands with the stand-in in place of curl.
type shell struct {
	t   *testing.T
	dir string
}

func newShell(t *testing.T) shell {
	t.Helper()
	for _, tool := range []string{"sh", "base64", "tr"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	s := shell{t, t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.dir, "curl"), []byte(standIn), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// run returns what curl gets of a command.
func (s shell) run(script string, env ...string) (args []string, stdin string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", script)
	cmd.Env = append([]string{"PATH=" + s.dir + ":/usr/local/bin:/usr/bin:/bin", "OUT=" + s.dir}, env...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		s.t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			s.t.Fatal(err)
		}
		return string(b)
	}
	return strings.Split(strings.TrimSuffix(read("args"), "\x00"), "\x00"), read("stdin")
}

// nasty is a word of up to n pieces that shells and curl read in their own way.
func nasty(r *rand.Rand, n int, without string) string {
	var b strings.Builder
	for range 1 + r.IntN(n) {
		pieces := []string{`"`, `\`, "'", "$", "$HOME", "`id`", " ", "\n", "\r", "\t", "@", "@/etc/passwd", "%s", "%", "!", "&", ";", "#", "|", "*", "[1-3]", "{a,b}", ":", "-", "é", "\xff", "a", "Z9", `\n`, "$(id)", "~"}
		if p := pieces[r.IntN(len(pieces))]; !strings.ContainsAny(p, without) {
			b.WriteString(p)
		}
	}
	return b.String()
}

// Whatever a request and its secrets are made of, a shell gives curl exactly that: the
// arguments as they are, and the secret on standard input alone.
func TestAShellGivesCurlExactlyWhatWasCopied(t *testing.T) {
	sh := newShell(t)
	const user = "brd-customer-hl_demo01-zone-z"
	header := func(secret string) string {
		return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+secret)) + "\n"
	}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		secret, ca, body, value := "p"+nasty(r, 8, ""), "/"+nasty(r, 4, ""), "b"+nasty(r, 20, ""), "v"+nasty(r, 6, "\n\r")
		target := "http://lab.test/?q=" + nasty(r, 6, "\n\r ")
		url := []string{target}
		if strings.ContainsAny(target, "[]{}") {
			url = []string{"--globoff", target}
		}
		check := func(what string, args, want []string, stdin, wantStdin string) {
			t.Helper()
			if !slices.Equal(args, want) || stdin != wantStdin {
				t.Errorf("seed %d, %s\ngot  %q, %q\nwant %q, %q", seed, what, args, stdin, want, wantStdin)
			}
		}
		proxy := []string{"--proxy-header", "@-", "--proxy", "http://proxy.test:33335", "--cacert", ca}

		l := Login{Host: "proxy.test", Port: 33335, Username: user, CA: ca, Target: target}
		args, stdin := sh.run(l.Curl(), PasswordEnv+"="+secret)
		check("a login", args, slices.Concat(proxy, url), stdin, header(secret))
		l.Password = secret
		args, stdin = sh.run(l.Curl())
		check("a login with its password", args, slices.Concat(proxy, url), stdin, header(secret))

		p := profile.Profile{ProxyHost: "proxy.test", ProxyPort: 33335, UsernamePrefix: "brd", Account: "hl_demo01", Verify: true, CA: ca, Local: true, BaseURL: "http://api.test/"}
		req := model.FetchRequest{Via: model.ViaNative, URL: target, Zone: model.Zone{Name: "z", Password: "env:MINE"}, Method: "POST", Body: body, Header: http.Header{"X-It": {value}}}
		script, err := RequestCurl(p, req, model.WirePreview{}, "")
		if err != nil {
			t.Fatal(err)
		}
		args, stdin = sh.run(script, "MINE="+secret)
		check("a fetch natively", args, slices.Concat(proxy, []string{"-sS", "-X", "POST", "-H", "X-It: " + value, "--data-raw", body}, url), stdin, header(secret))

		req.Via = model.ViaAPI
		script, err = RequestCurl(p, req, model.WirePreview{Lines: []string{"POST /request HTTP/1.1", "", body}}, "env:MINE")
		if err != nil {
			t.Fatal(err)
		}
		args, stdin = sh.run(script, "MINE="+secret)
		check("a fetch by API", args, []string{"-sS", "-H", "@-", "-H", "Content-Type: application/json", "--data-raw", body, "http://api.test/request"}, stdin, "Authorization: Bearer "+secret+"\n")
	}
}
