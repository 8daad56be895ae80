package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/exchange"
)

// Saved is an answer that was saved earlier, and how it came.
type Saved struct {
	// Answer is a status line, headers, an empty line and the body, as "curl -i" prints it.
	Answer io.Reader
	// Via is how it came: by Native Access it is the target's own, or the proxy's; by API it
	// is the service's. Empty means Native.
	Via model.Via
	// Dialect reads the service's headers in it; empty is as in a profile that names none.
	Dialect  string
	Required []string
	// URL is what was asked for, and Rules what the operator added; both may be left out.
	URL   string
	Rules []model.UserRule
	// Bodies takes a large body meanwhile.
	Bodies exchange.Bodies
	Now    func() time.Time
}

// ErrNotSaved says that a text is not a saved answer.
var ErrNotSaved = errors.New("not a saved answer")

// Diagnose gives the result that a fetch has when it receives this answer now: the whole
// client reads it, from a connection in memory. Its times mean nothing. Errors are
// ErrNotSaved, and those of Fetch.
func Diagnose(ctx context.Context, s Saved) (model.FetchResult, error) {
	answer, err := replayed(s.Answer)
	if err != nil {
		return model.FetchResult{}, err
	}
	const nowhere = "saved.invalid"
	p := model.Profile{
		Name: "saved", BaseURL: "http://" + nowhere, ProxyHost: nowhere, ProxyPort: model.DefaultProxyPort,
		UsernamePrefix: "saved", Account: "hl_saved", APIVersion: model.DefaultAPIVersion, Dialect: s.Dialect, Key: "saved", Verify: true,
	}
	wire := exchange.New(exchange.Config{Now: s.Now, Connect: func(context.Context, string, string) (net.Conn, error) {
		return replay(answer), nil
	}})
	added := func(string) ([]model.UserRule, error) { return s.Rules, nil }
	ft := New(Config{Wire: wire, Bodies: s.Bodies, Rules: added, url: &s.URL, Now: s.Now, Source: exchange.Fixed(p, model.Key{Name: p.Key, Secret: "env:NONE"}, keystore.NewSecret("-"))})
	r := model.FetchRequest{
		Zone: model.Zone{Name: "saved", Password: "env:NONE"}, URL: "http://" + nowhere + "/", Via: model.ViaNative, Required: s.Required,
		Timeout: time.Hour, // whoever pipes the answer in may be slow
	}
	if s.Via != "" {
		r.Via = s.Via
	}
	return ft.Fetch(ctx, r, nil)
}

// replay is a connection that answers one request.
func replay(answer io.Reader) net.Conn {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		r, err := http.ReadRequest(bufio.NewReader(server))
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err == nil {
			_, _ = io.Copy(server, answer) // the client has hung up
		}
	}()
	return client
}

// maxHead bounds the head of a saved answer, in bytes.
const maxHead = 1 << 20

var statusLine = regexp.MustCompile(`^HTTP/[0-9.]+ ([1-9][0-9]{2})(?: (.*))?$`)

// replayed is a saved answer as it is sent again: as HTTP/1.1, its body as long as it is,
// without the heads that came before it (100, a redirect, a proxy's "Connection established").
func replayed(saved io.Reader) (io.Reader, error) {
	in := bufio.NewReader(saved)
	for {
		lines, err := readHead(in)
		if err != nil {
			return nil, err
		}
		lines[0], _ = model.TrimMarks(lines[0])
		m := statusLine.FindStringSubmatch(lines[0])
		if m == nil {
			return nil, fmt.Errorf("%w: line 1 is %q; expected a status line like \"HTTP/1.1 200 OK\", then headers, an empty line and the body, as 'curl -i' prints them",
				ErrNotSaved, model.Cut(model.Line(lines[0], 60), 60))
		}
		status, _ := strconv.Atoi(m[1]) // three digits
		if next, _ := in.Peek(5); string(next) == "HTTP/" && (status < 200 || status >= 300 && status < 400 || strings.HasSuffix(strings.ToLower(m[2]), "connection established")) {
			continue
		}
		_, _ = in.Peek(1) // a reading of the body says why it is shorter
		begin, _ := in.Peek(in.Buffered())
		head, err := framed(m, lines[1:], model.Packed(begin))
		return io.MultiReader(strings.NewReader(head), in), err
	}
}

// readHead reads the lines up to an empty one, or to the end.
func readHead(in *bufio.Reader) ([]string, error) {
	var lines []string
	size := 0
	for {
		line, err := in.ReadSlice('\n')
		size += len(line)
		if errors.Is(err, bufio.ErrBufferFull) || size > maxHead {
			return nil, fmt.Errorf("%w: a line of its head is longer than %d bytes, or all of it than %d", ErrNotSaved, in.Size(), maxHead)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		text := string(bytes.TrimRight(line, "\r\n"))
		if text == "" && (len(lines) > 0 || err != nil) {
			if len(lines) == 0 {
				return nil, fmt.Errorf("%w: it is empty", ErrNotSaved)
			}
			return lines, nil
		}
		if text != "" {
			lines = append(lines, text)
		}
	}
}

// framed is the head with which the rest is sent: how it was framed then means nothing to
// the text that was saved, nor how it was compressed when it no longer is ("curl --compressed").
func framed(status, headers []string, packed string) (string, error) {
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %s %s\r\n", status[1], status[2])
	for i, line := range headers {
		name, _, ok := strings.Cut(line, ":")
		if !ok || !model.ValidToken(name) {
			return "", fmt.Errorf("%w: line %d is %q; expected a header like \"Content-Type: text/html\"", ErrNotSaved, i+2, model.Cut(model.Line(line, 60), 60))
		}
		switch strings.ToLower(name) {
		case "transfer-encoding", "content-length", "connection", "trailer":
			continue
		case "content-encoding":
			if packed == "" || strings.HasSuffix(strings.TrimSpace(line), "gzip") && packed != "compressed (gzip)" {
				continue
			}
		}
		head.WriteString(line + "\r\n")
	}
	head.WriteString("Connection: close\r\n\r\n")
	return head.String(), nil
}
