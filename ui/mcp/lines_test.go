package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	listTools  = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
)

func TestWhatIsNotAMessageIsAnsweredAndTheSessionGoesOn(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":8,"method":"ping"}`
	for name, tt := range map[string]struct {
		line string
		want []string // of the answers before that to tools/list
	}{
		"no JSON":                        {"hello", []string{`-32700`}},
		"half of a message":              {`{"jsonrpc":"2.0",`, []string{`-32700`}},
		"two on a line":                  {ping + ping, []string{`-32700`}},
		"a log line behind one":          {ping + " done", []string{`-32700`}},
		"bytes":                          {"\x00\xff\xfe", []string{`-32700`}},
		"deep":                           {strings.Repeat("[", 100_000), []string{`-32700`}},
		"too long":                       {`"` + strings.Repeat("x", maxMessage) + `"`, []string{`-32700`}},
		"a number":                       {"1", []string{`-32600`}},
		"null":                           {"null", []string{`-32600`}},
		"no version":                     {`{"id":1,"method":"ping"}`, []string{`-32600`}},
		"another version":                {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, []string{`-32600`}},
		"an identifier of another type":  {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, []string{`-32600`}},
		"a method of another type":       {`{"jsonrpc":"2.0","id":1,"method":1}`, []string{`-32600`}},
		"an empty batch":                 {"[]", []string{`-32600`}},
		"a batch":                        {"[" + ping + `,{"jsonrpc":"2.0","method":"notifications/x"},7,{"jsonrpc":"2.0","id":9,"method":"ping"}]`, []string{`-32600`, `"id":8`, `"id":9`}},
		"an answer to nothing":           {`{"jsonrpc":"2.0","id":99,"result":{}}`, nil},
		"an empty line":                  {"", nil},
		"a carriage return":              {ping + "\r", []string{`"id":8`}},
		"an unknown method":              {`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, []string{`-32601`}},
		"parameters of another type":     {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, []string{`"id":1`}},
		"parameters that are no objects": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}`, []string{`"id":1`}},
	} {
		t.Run(name, func(t *testing.T) {
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- newServer(&fake{}, Rules{}).Run(t.Context(), in, out)
				out.Close()
			}()
			t.Cleanup(func() {
				toServer.Close()
				fromServer.Close()
			})
			answers := bufio.NewScanner(fromServer)
			answers.Buffer(nil, 1<<20)
			say := func(line string) {
				go func() { _, _ = io.WriteString(toServer, line+"\n") }()
			}
			next := func() string {
				if !answers.Scan() {
					t.Fatalf("the session has ended: %v", answers.Err())
				}
				if !json.Valid(answers.Bytes()) {
					t.Errorf("the server wrote %q", answers.Bytes())
				}
				return answers.Text()
			}
			say(initialize)
			if first := next(); !strings.Contains(first, "serverInfo") {
				t.Fatal(first)
			}
			say(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + tt.line)
			var got []string
			for range tt.want { // those of a batch come in any order
				got = append(got, next())
			}
			for _, want := range tt.want {
				if !strings.Contains(strings.Join(got, "\n"), want) {
					t.Errorf("%s, want %s", got, want)
				}
			}
			say(listTools)
			if got := next(); !strings.Contains(got, `"id":7`) || !strings.Contains(got, "keys_check") {
				t.Errorf("after it: %.200s", got)
			}
			toServer.Close()
			for answers.Scan() {
			}
			noerr.Want(t, <-ended)
		})
	}
}

// atEnd closes reached when a reader comes to it.
type atEnd struct{ reached chan struct{} }

func (e atEnd) Read([]byte) (int, error) {
	close(e.reached)
	return 0, io.EOF
}

func TestEverythingThatWasAskedIsAnsweredVisiblyBeforeTheEnd(t *testing.T) {
	end := atEnd{make(chan struct{})}
	f := &fake{body: "\u009b31m \u202e \u200b \U000e0041", during: func() { <-end.reached }}
	asked := initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":"f","method":"tools/call","params":{"name":"fetch","arguments":{"url":"http://lab.test/","zone":"priced"}}}` + "\n" + listTools + "\n"
	var out bytes.Buffer
	noerr.Must(t, newServer(f, Rules{}).Run(t.Context(), io.MultiReader(strings.NewReader(asked), end), &out))
	for _, want := range []string{`"id":0,`, `"id":7,`, `"id":"f",`, `\u009b31m \u202e \u200b \udb40\udc41`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %.2000q", want, out.String())
		}
	}
	if i := strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !model.Visible(r) }); i >= 0 {
		t.Errorf("raw: %.40q", out.String()[i:])
	}
}

// Whatever a client sends, what is passed on is a message a line, and what is not is answered.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{initialize + "\n" + listTools, "[1,2]\n[]\n", "[{}", "\n\n", `[` + listTools + `]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		var answers bytes.Buffer
		out := newOutput(&answers)
		noerr.Must(t, out.Close()) // nobody answers
		passed, err := io.ReadAll(newLines(iotest.OneByteReader(bytes.NewReader(sent)), out))
		noerr.Must(t, err)
		for line := range bytes.Lines(passed) {
			if _, err := jsonrpc.DecodeMessage(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				t.Errorf("%q was passed on: %v", line, err)
			}
		}
		for line := range bytes.Lines(answers.Bytes()) {
			if m, err := jsonrpc.DecodeMessage(line); err == nil {
				t.Errorf("an answer without an identifier is %v", m)
			}
			if !json.Valid(line) {
				t.Errorf("the answer %q", line)
			}
		}
		if len(bytes.TrimSpace(sent)) > 0 && len(passed)+answers.Len() == 0 {
			t.Errorf("%q was dropped", sent)
		}
	})
}
