package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// Whatever a client sends, what passes the filter is one command of those that may
// pass, in a form that every reader reads alike.
func FuzzScreen(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"Page.navigate","params":{"url":"http://a/"}}`,
		`{"id":1,"method":"Page.navigate","params":{"url":"http://a/","url":"file:///x"}}`,
		`{"id":2,"method":"Page.navigate","METHOD":"SystemInfo.getInfo","params":{"URL":"file:///x","url":" file:///x"}}`,
		`{"id":3,"method":"Target.createBrowserContext","params":{"proxyServer":"x","disposeOnDetach":true}}`,
		`{"id":4,"method":"Browser.setDownloadBehavior","params":{"behavior":"allow","downloadPath":"/tmp"}}`,
		`{"id":5,"method":"Input.dispatchDragEvent","params":{"data":{"files":["/x"]}}}`,
		`{"id":-6,"method":"Runtime.evaluate","sessionId":"ab","params":{"expression":"\ud800"}}`,
		`{"id":7e0,"method":"a"}`, `[]`, `{"id":1,"method":"IO.read","params":[]}`, `{"id":1,"method":"IO.read","params":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := readCommand(raw)
		if err != nil {
			return
		}
		c, failure := screen(c)
		if failure != nil {
			if r := c.reply(nil, failure); !json.Valid(r) {
				t.Fatalf("%s", r)
			}
			return
		}
		out := c.encode()
		again, err := readCommand(out)
		if err != nil || again.method != c.method || again.session != c.session || !bytes.Equal(again.id, c.id) {
			t.Fatalf("%s became %s: %v", raw, out, err)
		}
		if _, failure := screen(again); failure != nil {
			t.Fatalf("%s passed once: %v", out, failure)
		}
		var p map[string]json.RawMessage
		if again.params != nil {
			if err := json.Unmarshal(again.params, &p); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
		}
		switch domain, _, _ := strings.Cut(again.method, "."); domain {
		case "SystemInfo", "Tracing", "Tethering", "Extensions", "FileSystem", "Cast", "DeviceAccess", "PWA":
			t.Fatalf("%s passed", out)
		}
		switch again.method {
		case "Page.navigate", "Target.createTarget":
			var s string
			if err := json.Unmarshal(p["url"], &s); err != nil || strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "file") || strings.HasPrefix(strings.ToLower(s), "chrome") {
				t.Fatalf("%s passed", out)
			}
		case "Target.createBrowserContext":
			if p["proxyServer"] != nil || p["proxyBypassList"] != nil {
				t.Fatalf("%s passed", out)
			}
		case "Browser.setDownloadBehavior":
			if string(p["behavior"]) != `"deny"` || p["downloadPath"] != nil {
				t.Fatalf("%s passed", out)
			}
		case "Input.dispatchDragEvent":
			if bytes.Contains(p["data"], []byte(`"files"`)) {
				t.Fatalf("%s passed", out)
			}
		}
	})
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte("{}\x00[]\x00"), 3)
	f.Add(bytes.Repeat([]byte("x"), 100), 10)
	f.Fuzz(func(t *testing.T, raw []byte, bound int) {
		if bound < 1 || bound > 1<<16 {
			return
		}
		r := bufio.NewReaderSize(bytes.NewReader(raw), 16)
		total := 0
		for {
			msg, err := readMessage(r, bound)
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, errMessageSize) {
					t.Fatal(err)
				}
				return
			}
			if len(msg) > bound || bytes.IndexByte(msg, 0) >= 0 {
				t.Fatalf("%d bytes of at most %d", len(msg), bound)
			}
			readEnvelope(msg)
			if total += len(msg); total > len(raw) {
				t.Fatal("more came out than went in")
			}
		}
	})
}
