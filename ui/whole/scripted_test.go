package whole

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// scripted is a service whose every answer is decided by what it is asked for:
// the last part of the target's path, or of the data set's name.
type scripted struct {
	api   string
	proxy int // the port of its proxy on 127.0.0.1
}

// reply is one answer of the scripted service.
type reply struct {
	status int
	header map[string]string
	body   string
	// short announces more bytes than come.
	short bool
}

// fetchReplies are the answers to POST /request, by the end of the target's path.
var fetchReplies = map[string]reply{
	"ok":                 {200, map[string]string{"X-Brd-Status-Code": "200", "Content-Type": "text/html"}, "<p>It works</p>", false},
	"skewed":             {200, map[string]string{"X-Brd-Status-Code": "200", "Content-Type": "text/html", "Date": moment.Add(15 * time.Minute).Format(http.TimeFormat)}, "<p>It works</p>", false},
	"unsaid":             {200, map[string]string{"Content-Type": "text/html"}, "<p>It works</p>", false},
	"key-rejected":       {401, nil, "Invalid API key", false},
	"missing-permission": {403, map[string]string{"X-Brd-Err-Code": "client_10120", "X-Brd-Err-Msg": "the key's level does not permit it"}, "", false},
	"policy":             {403, map[string]string{"X-Brd-Err-Code": "policy_20050", "X-Brd-Err-Msg": "this address is not allowed"}, "", false},
	"nobody-says":        {403, nil, "Forbidden", false},
	"service-timeout":    {504, map[string]string{"X-Brd-Error-Code": "proxy_timeout", "X-Brd-Error": "the page took too long"}, "", false},
	"service-error":      {502, map[string]string{"X-Brd-Err-Code": "no_peers", "X-Brd-Err-Msg": "no address is free"}, "", false},
	"refused":            {400, map[string]string{"Content-Type": "application/json"}, `{"error":"Request validation failed","details":[{"field":"zone","message":"unknown"}]}`, false},
	"incomplete":         {200, map[string]string{"X-Brd-Status-Code": "200", "Content-Type": "text/html"}, "<html><body><h1>Half a page", true},
	"unrecognised":       {302, map[string]string{"Location": "https://elsewhere.example/"}, "", false},
	"screenshot":         {200, map[string]string{"X-Brd-Status-Code": "200", "Content-Type": "image/png"}, screenshot(), false},
	"avif":               {200, map[string]string{"X-Brd-Status-Code": "200", "Content-Type": "image/avif"}, "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avif", false},
	"not-json":           {200, map[string]string{"X-Brd-Status-Code": "200", "Content-Type": "application/json"}, "{\n  \"name\": \"Brass desk lamp\",\n  \"price\": 14,25\n}\n", false},
	"too-fast":           {429, map[string]string{"Retry-After": "300"}, "slow down", false},
}

// accountReplies are what the account shows, by path.
var accountReplies = map[string]string{
	"/status":             `{"status":"active","customer":"hl_1234abcd"}`,
	"/zone/get_all_zones": `[{"name":"unlocker1","type":"unblocker","status":"active"},{"name":"isp_old","type":"isp","status":"disabled"},{"name":"serp1","type":"serp","status":"active"}]`,
	"/zone":               `{"password":["a-password-of-the-zone"],"plan":{}}`,
}

// jobReplies are what the service has beside the states of jobs, by path: two jobs in its list of which one has as
// many inputs as the ledger's, the preview of a deep lookup, and a result.
var jobReplies = map[string]string{
	"/datasets/v3/snapshots": `[{"id":"sd_running","created":"2026-11-21T12:00:05Z","status":"running","dataset_id":"gd_products"},
		{"id":"sd_other","created":"2026-11-21T12:00:02Z","status":"ready","dataset_id":"gd_products"}]`,
	"/datasets/deep_lookup/v1/preview": `{"preview_id":"dld_1"}`,
	"/datasets/deep_lookup/v1/preview/dld_1": `{"status":"completed",
		"columns":[{"name":"name","description":"what it is called","type":"enrichment"},{"name":"price","description":"in euros","type":"enrichment"}],
		"sample_data":[{"name":"Brass desk lamp","price":14.25},{"name":"Oak shelf","price":80}]}`,
	"/datasets/deep_lookup/v1/preview/dld_failed": `{"status":"failed","error":"the question is too wide"}`,
	"/datasets/v3/snapshot/sd_products":           `{"url":"https://shop.example/product/1","name":"Brass desk lamp"}` + "\n",
}

// startScripted starts the service; it ends with the test.
func startScripted(t *testing.T) scripted {
	t.Helper()
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/request":
			answerFetch(w, r, done)
		case strings.HasSuffix(r.URL.Path, "/trigger"):
			answerTrigger(w, r, done)
		case strings.Contains(r.URL.Path, "/progress/"):
			answerProgress(w, path.Base(r.URL.Path))
		case strings.HasSuffix(r.URL.Path, "/preview") && answerPreview(w, r):
		case strings.HasSuffix(r.URL.Path, "/snapshots") && r.URL.Query().Get("dataset_id") == "gd_too_fast":
			answerTooFast(w)
		case jobReplies[r.URL.Path] != "":
			w.Header().Set("Date", moment.UTC().Format(http.TimeFormat)) // which the times in the list go by
			_, _ = io.WriteString(w, jobReplies[r.URL.Path])
		case strings.Contains(r.Header.Get("Authorization"), refusedKey):
			reply{401, nil, "Invalid credentials", false}.write(w)
		case accountReplies[r.URL.Path] != "":
			_, _ = io.WriteString(w, accountReplies[r.URL.Path])
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(func() {
		close(done)
		s.Close()
	})
	return scripted{api: s.URL, proxy: startScriptedProxy(t)}
}

// answerPreview answers what is asked for too fast, or too wide; false for any other preview.
func answerPreview(w http.ResponseWriter, r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	switch {
	case strings.Contains(string(body), "too fast"):
		return answerTooFast(w)
	case strings.Contains(string(body), "everything"):
		_, _ = io.WriteString(w, `{"preview_id":"dld_failed"}`)
		return true
	}
	return false
}

func answerTooFast(w http.ResponseWriter) bool {
	reply{429, map[string]string{"Content-Type": "text/plain", "Retry-After": "90"}, "You have too many running jobs", false}.write(w)
	return true
}

func answerFetch(w http.ResponseWriter, r *http.Request, done <-chan struct{}) {
	var asked struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	target, err := url.Parse(asked.URL)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a, known := fetchReplies[path.Base(target.Path)]
	if !known { // in flight until somebody leaves
		select {
		case <-r.Context().Done():
		case <-done:
		}
		panic(http.ErrAbortHandler)
	}
	a.write(w)
}

func (a reply) write(w http.ResponseWriter) {
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	if a.short {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)+1000))
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body) // the client may have left
}

// answerTrigger starts a job whose snapshot is named after the data set.
func answerTrigger(w http.ResponseWriter, r *http.Request, done <-chan struct{}) {
	switch dataset := r.URL.Query().Get("dataset_id"); dataset {
	case "gd_refused":
		reply{400, map[string]string{"Content-Type": "application/json"}, `{"error":"dataset gd_refused is not known","code":"validation_error"}`, false}.write(w)
	case "gd_too_fast":
		answerTooFast(w)
	case "gd_rejected":
		reply{401, nil, "Invalid API key", false}.write(w)
	case "gd_may_have":
		panic(http.ErrAbortHandler)
	case "gd_sending":
		select {
		case <-r.Context().Done():
		case <-done:
		}
		panic(http.ErrAbortHandler)
	default:
		fmt.Fprintf(w, `{"snapshot_id":"sd_%s"}`, strings.ReplaceAll(strings.TrimPrefix(dataset, "gd_"), "_", ""))
	}
}

// answerProgress says what became of the job of a snapshot.
func answerProgress(w http.ResponseWriter, snapshot string) {
	switch snapshot {
	case "sd_running":
		_, _ = io.WriteString(w, `{"status":"running","inputs":3,"inputs_done":2,"records":2}`)
	case "sd_failed":
		_, _ = io.WriteString(w, `{"status":"failed","error_message":"the collector broke"}`)
	case "sd_canceled":
		_, _ = io.WriteString(w, `{"status":"canceled"}`)
	default:
		_, _ = io.WriteString(w, `{"status":"ready","inputs":3,"inputs_done":3,"records":3}`)
	}
}

// startScriptedProxy starts a proxy that answers a CONNECT by the host's first
// label, and gives its port.
func startScriptedProxy(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	t.Cleanup(func() { l.Close() })
	stranger := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate, which nobody trusts
	stranger.Close()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerConnect(c, stranger.TLS, done)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func answerConnect(c net.Conn, stranger *tls.Config, done <-chan struct{}) {
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	label, _, _ := strings.Cut(r.Host, ".")
	switch label {
	case "login":
		_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nX-Brd-Err-Code: client_10000\r\nX-Brd-Err-Msg: wrong password\r\nContent-Length: 0\r\n\r\n")
	case "forbidden":
		_, _ = io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nX-Brd-Err-Code: policy_20050\r\nX-Brd-Err-Msg: this address is not allowed\r\nContent-Length: 0\r\n\r\n")
	case "gateway":
		_, _ = io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\nX-Brd-Err-Code: target_40001\r\nX-Brd-Err-Msg: the target cannot be reached\r\nContent-Length: 0\r\n\r\n")
	case "tls":
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		_ = tls.Server(c, stranger).Handshake()
	case "silent":
		<-done
	}
}

// acme makes the home that of an account at the scripted service, by a dialect.
func (s scripted) acme(h *home, dialect string) {
	h.env["ACME_KEY"], h.env["ACME_PASSWORD"] = "a-key-of-nobody-f2a1", "a-password-of-nobody"
	h.write("config/zonedeck/config.toml", fmt.Sprintf(`default_profile = "acme"
[profiles.acme]
base_url = %q
proxy_host = "127.0.0.1"
proxy_port = %d
username_prefix = "abc"
account = "hl_1234abcd"
dialect = %q
key = "etl-main"
[[profiles.acme.zones]]
name = "unlocker1"
product = "unlocker"
password = "env:ACME_PASSWORD"
`, s.api, s.proxy, dialect))
	h.write("data/zonedeck/keys.toml", `[[keys]]
name = "etl-main"
level = "OPS"
duty = "batch job"
expires = "2027-01-20"
rotated = "2026-11-01"
secret = "env:ACME_KEY"
`)
}
