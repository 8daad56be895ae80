package export

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"zonedeck/model"
)

// harMasked stands for what a HAR file must not hold.
const harMasked = "REDACTED"

// HARBody is how much of a body stands in a HAR file, in bytes.
const HARBody = 1 << 20

// The parts of a HAR 1.2 file. Names with a "_" are the console's own, as the format
// allows; what is required and not known is -1, as it says.
type (
	harEntry struct {
		Started  string      `json:"startedDateTime"`
		Time     float64     `json:"time"`
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		Comment  string      `json:"comment,omitempty"`
		Zonedeck harOwn      `json:"_zonedeck"`
	}
	harOwn struct {
		ID       string `json:"id,omitempty"`
		Zone     string `json:"zone"`
		Via      string `json:"via"`
		Tool     string `json:"tool,omitempty"`
		Country  string `json:"country,omitempty"`
		Session  string `json:"session,omitempty"`
		Class    string `json:"class"`
		Cause    string `json:"cause,omitempty"`
		Attempts int    `json:"attempts"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		Version     string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		Query       []harPair `json:"queryString"`
		Post        *harPost  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int       `json:"bodySize"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harPost struct {
		Type   string    `json:"mimeType"`
		Params []harPair `json:"params"`
		Text   string    `json:"text"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		Version     string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		Redirect    string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
	}
	harContent struct {
		Size     int64  `json:"size"`
		Type     string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
		Encoding string `json:"encoding,omitempty"`
		Comment  string `json:"comment,omitempty"`
	}
	harTimings struct {
		Blocked float64 `json:"blocked"`
		DNS     float64 `json:"dns"`
		Connect float64 `json:"connect"`
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
		TLS     float64 `json:"ssl"`
		Comment string  `json:"comment,omitempty"`
	}
)

// HAR writes fetches as a HAR 1.2 file, one entry each: the request to the target and what
// came back. Credentials are redacted in headers, cookies, addresses and forms, by their names;
// the results themselves hold no secret of the console. open gives a body; one that cannot be read is
// said to be missing, and one of more than HARBody bytes is cut, which its comment says. It
// gives the number of entries; an error of results ends it.
func HAR(w io.Writer, version string, results iter.Seq2[model.FetchResult, error], open func(model.BodyRef) (io.ReadCloser, error)) (n int, err error) {
	out := bufio.NewWriter(w)
	creator, err := json.Marshal(map[string]string{"name": "zonedeck", "version": version})
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(out, `{"log":{"version":"1.2","creator":%s,"entries":[`, creator)
	for r, err := range results {
		if err != nil {
			return n, err
		}
		entry, err := json.Marshal(entryOf(r, open))
		if err != nil {
			return n, err
		}
		if n > 0 {
			out.WriteByte(',') //nolint:errcheck // Flush reports it
		}
		out.WriteByte('\n') //nolint:errcheck // Flush reports it
		out.Write(entry)    //nolint:errcheck // Flush reports it
		n++
	}
	out.WriteString("\n]}}\n") //nolint:errcheck // Flush reports it
	return n, out.Flush()
}

func entryOf(r model.FetchResult, open func(model.BodyRef) (io.ReadCloser, error)) harEntry {
	q := r.Request
	e := harEntry{
		Started: r.Started.Format(time.RFC3339Nano),
		Timings: harTimingsOf(r.Timing),
		Request: harRequest{
			Method: cmp.Or(strings.ToUpper(q.Method), http.MethodGet), Version: "HTTP/1.1", Headers: harHeaders(q.Header),
			Cookies: []harPair{}, HeadersSize: -1, BodySize: len(q.Body),
		},
		Response: harResponse{
			Status: r.Status, StatusText: http.StatusText(r.Status), Version: "HTTP/1.1", Headers: harHeaders(r.Header),
			Cookies: harCookies(r.Header), Redirect: harURL(r.Header.Get("Location")), HeadersSize: -1, BodySize: -1,
			Content: harContentOf(r, open),
		},
		Zonedeck: harOwn{
			ID: r.ID, Zone: string(q.Zone.Name), Via: string(cmp.Or(q.Via, model.ViaAPI)), Tool: q.Tool, Country: q.Country, Session: q.Session,
			Class: string(r.Diagnosis.Class), Cause: string(r.Diagnosis.Cause), Attempts: len(r.Attempts),
		},
	}
	e.Request.URL = harURL(q.URL)
	if q.URL == "" { // a tool of agent access needs none, and the format wants one
		e.Request.URL = "mcp:" + q.Tool
	}
	e.Request.Query = harQuery(q.URL)
	if q.Body != "" {
		kind := q.Header.Get("Content-Type")
		e.Request.Post = &harPost{Type: kind, Params: []harPair{}, Text: harBody(kind, q.Body)}
	}
	for _, part := range []float64{e.Timings.DNS, e.Timings.Connect, e.Timings.Send, e.Timings.Wait, e.Timings.Receive} {
		e.Time += max(part, 0)
	}
	e.Comment = fmt.Sprintf("through zone %s by %s: %s", q.Zone.Name, q.Via, model.ClassWord(r.Diagnosis.Class, r.Diagnosis.Cause))
	if r.Status == 0 {
		e.Comment += "; the target's status is not known"
	}
	return e
}

// harTimingsOf are the phases in milliseconds. To a HAR file connecting includes the
// handshakes, and here the proxy's CONNECT.
func harTimingsOf(t model.Timing) harTimings {
	ms := func(ds ...time.Duration) float64 {
		sum, known := time.Duration(0), false
		for _, d := range ds {
			if d >= 0 {
				sum, known = sum+d, true
			}
		}
		if !known {
			return -1
		}
		return float64(sum.Microseconds()) / 1000
	}
	return harTimings{
		Blocked: -1, DNS: ms(t.DNS), Connect: ms(t.Connect, t.ProxyConnect, t.TLS), TLS: ms(t.TLS),
		Send: -1, Wait: ms(t.FirstByte), Receive: ms(t.Transfer),
		Comment: "-1 was not measured; sending is part of wait, and CONNECT to the proxy of connect",
	}
}

func harHeaders(h http.Header) []harPair {
	out := []harPair{}
	for _, line := range headerLines(h) {
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case model.SecretName(name):
			value = harMasked
		case http.CanonicalHeaderKey(name) == "Location", http.CanonicalHeaderKey(name) == "Referer":
			value = harURL(value)
		}
		out = append(out, harPair{name, value})
	}
	return out
}

// harCookies are the names of the cookies of an answer.
func harCookies(h http.Header) []harPair {
	out := []harPair{}
	for _, line := range h.Values("Set-Cookie") {
		name, _, _ := strings.Cut(line, "=")
		out = append(out, harPair{strings.TrimSpace(name), harMasked})
	}
	return out
}

// harURL is an address without the credentials in its login and its query.
func harURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		if strings.ContainsAny(address, "@?#") {
			return harMasked
		}
		return address
	}
	if u.User != nil {
		u.User = url.User(harMasked)
		address = u.String()
	}
	address, fragment, hasFragment := strings.Cut(address, "#")
	if begin, query, has := strings.Cut(address, "?"); has {
		address = begin + "?" + harForm(query)
	}
	if hasFragment {
		address += "#" + harForm(fragment)
	}
	return address
}

// harForm is a query, a fragment or a form without the values of its secrets.
func harForm(text string) string {
	parts := strings.Split(text, "&")
	for i, part := range parts {
		name, _, ok := strings.Cut(part, "=")
		if ok && secretParameter(name[strings.LastIndexByte(name, '?')+1:]) { // a fragment may have a path
			parts[i] = name + "=" + harMasked
		}
	}
	return strings.Join(parts, "&")
}

// harBody is a body that was sent. One that is no form has no names that tell of secrets.
func harBody(contentType, body string) string {
	if kind, _, err := mime.ParseMediaType(contentType); err == nil && kind == "application/x-www-form-urlencoded" {
		return harForm(body)
	}
	return body
}

func secretParameter(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return model.SecretName(name)
}

func harQuery(address string) []harPair {
	out := []harPair{}
	_, query, _ := strings.Cut(address, "?")
	query, _, _ = strings.Cut(query, "#")
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		if secretParameter(name) {
			value = harMasked
		}
		out = append(out, harPair{harUnescaped(name), harUnescaped(value)})
	}
	return out
}

func harUnescaped(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// harContentOf is the beginning of a body: as text if it is one, else in base64.
func harContentOf(r model.FetchResult, open func(model.BodyRef) (io.ReadCloser, error)) harContent {
	c := harContent{Size: r.Body.Size, Type: cmp.Or(r.ContentType, "x-unknown")}
	if r.Body.Size == 0 {
		return c
	}
	var notes []string
	src, err := open(r.Body)
	var b []byte
	if err == nil {
		b, err = io.ReadAll(io.LimitReader(src, HARBody+1))
		src.Close()
	}
	if err != nil {
		c.Comment = "the body is no longer there"
		return c
	}
	cut := len(b) > HARBody
	if cut {
		b = b[:HARBody]
		notes = append(notes, fmt.Sprintf("cut: the first %d of %d bytes", HARBody, r.Body.Size))
	}
	if r.Body.Cut {
		notes = append(notes, "the rest was lost when it was received")
	}
	if r.Body.Incomplete {
		notes = append(notes, "the connection ended before all of it had come")
	}
	if text := wholeRunes(b, cut); utf8.Valid(text) {
		c.Text = string(text)
	} else {
		c.Text, c.Encoding = base64.StdEncoding.EncodeToString(b), "base64"
	}
	c.Comment = strings.Join(notes, "; ")
	return c
}

// wholeRunes leaves out a rune that a cut went through.
func wholeRunes(b []byte, cut bool) []byte {
	for i := 1; cut && i < utf8.UTFMax && i <= len(b); i++ {
		if at := len(b) - i; utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return b[:at]
			}
			break
		}
	}
	return b
}
