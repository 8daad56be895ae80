package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/view"
)

// hostile holds characters that a terminal would obey or hide.
const hostile = "title\x1b]0;owned\x07 \u009b31m del\x7f \u202eabc\u2066 zero\u200bwidth\r\nsecond line é\n\x1b[2J end"

// hostileRequest runs "request" against a service that answers with the hostile page.
func hostileRequest(t *testing.T, tty bool, args ...string) (stdout string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, hostile) }))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	text := "[profiles.p]\nbase_url = \"" + s.URL + "\"\naccount = \"hl_demo01\"\nkey = \"k\"\n[[profiles.p.zones]]\nname = \"z\"\nproduct = \"datacenter\"\npassword = \"env:ZP\"\n"
	noerr.Must(t, os.WriteFile(config, []byte(text), 0o600))
	keys := filepath.Join(dir, "zonedeck", "keys.toml")
	noerr.Must(t, os.MkdirAll(filepath.Dir(keys), 0o700))
	noerr.Must(t, os.WriteFile(keys, []byte("version = 1\n[[keys]]\nname = \"k\"\nlevel = \"USER\"\nsecret = \"env:KV\"\n"), 0o600))
	var out, messages bytes.Buffer
	code := Main(t.Context(), Process{
		Args:  append([]string{"--config", config, "--profile", "p", "request", "http://lab.test/", "--zone", "z"}, args...),
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &messages, StdoutTTY: tty, Now: time.Now,
		Getenv: func(name string) string {
			return map[string]string{
				"HOME": dir, "XDG_CONFIG_HOME": dir, "XDG_DATA_HOME": dir, "XDG_STATE_HOME": dir, "XDG_CACHE_HOME": dir,
				"KV": "0123456789abcdef", "ZP": "zone-password",
			}[name]
		},
	})
	if code != 0 {
		t.Fatalf("exit %d: %s", code, messages.String())
	}
	return out.String()
}

func TestABodyOnATerminalIsNotObeyed(t *testing.T) {
	if got := hostileRequest(t, false); got != hostile {
		t.Errorf("a pipe gets %q", got)
	}
	if got := hostileRequest(t, true, "--raw"); got != hostile {
		t.Errorf("--raw gives %q", got)
	}
	got := hostileRequest(t, true)
	if strings.ContainsAny(got, "\x1b\x07\x7f\r\u009b\u202e\u2066\u200b") || !strings.Contains(got, "␛]0;owned") || strings.Count(got, "\n") != 3 || !strings.HasSuffix(got, " end\n") || !strings.Contains(got, "second line é") {
		t.Errorf("a terminal gets %q", got)
	}
}

func TestJSONHoldsNothingThatATerminalObeys(t *testing.T) {
	for _, tty := range []bool{false, true} {
		got := hostileRequest(t, tty, "--json")
		if strings.ContainsAny(got, "\x1b\x07\x7f\r\u009b\u202e\u2066\u200b") {
			t.Errorf("%q", got)
		}
		var answer struct{ Body string }
		if err := json.Unmarshal([]byte(got), &answer); err != nil || answer.Body != hostile {
			t.Errorf("%v: the body is %q", err, answer.Body)
		}
	}
}

func TestABodyThatTheCacheCannotTakeIsInTheJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	for _, page := range []string{strings.Repeat("paid for ", inlineBody), "\xff\xd8 paid for"} {
		var out view.Fetch
		attachBody(&out, model.BodyRef{Bytes: []byte(page), Size: int64(len(page)), SHA256: "abc"}, filepath.Join(file, "bodies"))
		got := string(out.BodyBase64)
		if out.Body != nil {
			got += *out.Body
		}
		if out.BodyFile != "" || got != page || (out.Body != nil) != utf8.ValidString(page) {
			t.Errorf("%.12q: file %q, %.12q", page, out.BodyFile, got)
		}
	}
}

// What a message holds may come from a damaged file, whatever its type.
func TestMessagesHoldNothingThatATerminalObeys(t *testing.T) {
	var out bytes.Buffer
	a := &app{Process: Process{Stdout: &out, Stderr: &out, StdoutTTY: true}}
	a.say("zonedeck: job %s: %s, %v, %d", "job-1", model.JobState(hostile), errors.New(hostile), 7)
	a.warn("%s", struct{ text string }{hostile})
	noerr.Want(t, noerr.From(teller{a}.Write([]byte(hostile+"\n"))))
	noerr.Want(t, a.printLine(hostile))
	noerr.Want(t, a.printText(hostile+"\n"))
	if got := out.String(); strings.ContainsAny(got, "\x1b\x07\x7f\r\u009b\u202e\u2066\u200b") || strings.Count(got, "\n") != 7 || strings.Count(got, "␛]0;owned") != 6 || !strings.Contains(got, ", 7\n") {
		t.Errorf("a terminal gets %q", got)
	}
}
