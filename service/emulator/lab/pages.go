package lab

import (
	"cmp"
	"compress/gzip"
	"crypto/subtle"
	"fmt"
	"html"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/encoding/htmlindex"
)

// Bounds of the pages below.
const (
	maxStreamKB  = 64 << 10
	maxChunkKB   = 1 << 10
	maxStreamGap = 10 * time.Second
	maxRedirects = 50
	maxFormBytes = 4 << 10
	maxCookies   = 20
)

func (s *site) otherPages(mux *http.ServeMux) {
	mux.Handle("/js", file("js.html", typeHTML)) // empty until a script has run
	mux.HandleFunc("/login", s.login)
	mux.HandleFunc("/redirect", redirect)
	mux.HandleFunc("/cookies", cookies)
	mux.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, map[string]any{"headers": r.Header}) })
	mux.HandleFunc("/stream", stream)
	mux.HandleFunc("/status/{code}", status)
	mux.HandleFunc("/gzip", zipped)
	mux.HandleFunc("/encoding", encoded)
	mux.HandleFunc("/mygeo.json", s.geo)
	mux.HandleFunc("/welcome.txt", s.welcome)
}

// login accepts the user lab with the password lamp, and shows an account page to visitors who
// have signed in.
func (s *site) login(w http.ResponseWriter, r *http.Request) {
	const cookie = "lab_user"
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
		if err := r.ParseForm(); err != nil || r.PostForm.Get("user") != "lab" ||
			subtle.ConstantTimeCompare([]byte(r.PostForm.Get("password")), []byte("lamp")) != 1 {
			signIn(w, http.StatusUnauthorized, "That is not the user or not the password.")
			return
		}
		http.SetCookie(w, &http.Cookie{Name: cookie, Value: s.seal("login", "lab", "", s.Now().Add(time.Hour)), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	for _, c := range r.CookiesNamed(cookie) {
		if s.holds(c.Value, "login", "lab", "") {
			page(w, http.StatusOK, "Your account", "<h1>Your account</h1>\n<p class=\"user\">You are signed in as lab.</p>\n<p>Orders: none yet.</p>\n")
			return
		}
	}
	signIn(w, http.StatusOK, "User lab, password lamp.")
}

// signIn answers with the login form and a hint.
func signIn(w http.ResponseWriter, status int, hint string) {
	var m markup
	m.head("Sign in")
	m.add(`<h1>Sign in</h1>
<form action="/login" method="post">
<label>User <input name="user" autocomplete="username"></label>
<label>Password <input type="password" name="password" autocomplete="current-password"></label>
<button type="submit">Sign in</button>
</form>
<p class="hint">%s</p>
`, hint)
	m.foot()
	m.send(w, status)
}

// redirect redirects n times (1 to 50), the last time to the address in to, by default /ok. code
// is the status.
func redirect(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	to, n := cmp.Or(v.Get("to"), "/ok"), max(number(v.Get("n")), 1)
	code := number(cmp.Or(v.Get("code"), "302"))
	if n > maxRedirects || code < 301 || code > 308 || code == 304 || code == 305 || code == 306 || strings.ContainsAny(to, "\r\n") {
		page(w, http.StatusBadRequest, "Bad request", "<p>n: 1 to 50; code: 301, 302, 303, 307 or 308; to: where it ends.</p>\n")
		return
	}
	if n > 1 {
		v.Set("n", strconv.Itoa(n-1))
		to = "/redirect?" + v.Encode()
	}
	http.Redirect(w, r, to, code)
}

// cookies sets the cookies of ?set=name=value, which can be repeated, and shows those of the
// request.
func cookies(w http.ResponseWriter, r *http.Request) {
	for i, pair := range r.URL.Query()["set"] {
		name, value, _ := strings.Cut(pair, "=")
		if c := (&http.Cookie{Name: name, Value: value, Path: "/"}); i < maxCookies && c.Valid() == nil {
			http.SetCookie(w, c)
		}
	}
	seen := map[string]string{}
	for _, c := range r.Cookies() {
		seen[c.Name] = c.Value
	}
	writeJSON(w, map[string]any{"cookies": seen})
}

// stream sends kb KiB in chunks of chunk KiB, ms milliseconds apart.
func stream(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	kb, chunk := number(cmp.Or(v.Get("kb"), "64")), number(cmp.Or(v.Get("chunk"), "4"))
	gap := time.Duration(number(cmp.Or(v.Get("ms"), "0"))) * time.Millisecond
	if kb > maxStreamKB || chunk < 1 || chunk > maxChunkKB || gap > maxStreamGap {
		page(w, http.StatusBadRequest, "Bad request", fmt.Sprintf("<p>kb: up to %d; chunk: KiB from 1 to %d; ms: up to %d.</p>\n", maxStreamKB, maxChunkKB, maxStreamGap.Milliseconds()))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	block := []byte(strings.Repeat("the quick brown fox jumps over the lazy dog, and then it rests.\n", 16*chunk))
	flush := http.NewResponseController(w)
	t := time.NewTimer(gap)
	defer t.Stop()
	for left := kb << 10; left > 0; {
		n := min(left, len(block))
		if _, err := w.Write(block[:n]); err != nil {
			return
		}
		if left -= n; left == 0 || gap == 0 {
			continue
		}
		if flush.Flush() != nil {
			return
		}
		t.Reset(gap)
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
}

func status(w http.ResponseWriter, r *http.Request) {
	code, err := strconv.Atoi(r.PathValue("code"))
	if err != nil || code < 200 || code > 599 {
		page(w, http.StatusBadRequest, "Bad request", "<p>A status from 200 to 599.</p>\n")
		return
	}
	switch code {
	case http.StatusNoContent, http.StatusNotModified:
		w.WriteHeader(code)
		return
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		w.Header().Set("Location", "/ok")
	case http.StatusUnauthorized:
		w.Header().Set("Www-Authenticate", `Basic realm="lab"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	page(w, code, strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code))), fmt.Sprintf("<h1>%d</h1>\n<p>The lab answered %d, as asked.</p>\n", code, code))
}

// zipped is always compressed, even if the client does not accept it.
func zipped(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = z.Write([]byte("<!doctype html>\n<html lang=\"en\">\n<head><title>Compressed</title></head>\n<body>\n<h1>Compressed</h1>\n<p>This page travels as gzip.</p>\n</body>\n</html>\n"))
	_ = z.Close()
}

// encoded is a page in another character set, which where declares: header, meta, both, or none.
func encoded(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	name := cmp.Or(v.Get("charset"), "iso-8859-1")
	enc, err := htmlindex.Get(name)
	if err != nil {
		page(w, http.StatusBadRequest, "Bad request", "<p>charset: a name that browsers know.</p>\n")
		return
	}
	where := cmp.Or(v.Get("where"), "header")
	ct, meta := "text/html", ""
	if where == "header" || where == "both" {
		ct += "; charset=" + name
	}
	if where == "meta" || where == "both" {
		meta = "<meta charset=\"" + html.EscapeString(name) + "\">"
	}
	text := map[string]string{
		"windows-1251": "Лампа", "koi8-r": "Лампа", "iso-8859-5": "Лампа", "shift_jis": "ランプ", "euc-jp": "ランプ",
		"gbk": "台灯", "gb18030": "台灯", "big5": "檯燈", "euc-kr": "램프",
	}[strings.ToLower(name)]
	body := "<!doctype html>\n<html>\n<head>" + meta + "<title>" + cmp.Or(text, "Café Größe") + "</title></head>\n<body>\n<h1>" + cmp.Or(text, "Café Größe") + "</h1>\n</body>\n</html>\n"
	b, err := enc.NewEncoder().Bytes([]byte(body))
	if err != nil {
		page(w, http.StatusBadRequest, "Bad request", "<p>The page cannot be written in that character set.</p>\n")
		return
	}
	w.Header()["Content-Type"] = []string{ct}
	_, _ = w.Write(b)
}

// town is the location of the addresses of a country.
type town struct {
	city, region, regionName, postal, zone string
	latitude, longitude                    float64
}

func townOf(country string) town {
	return map[string]town{
		"us": {"Chicago", "IL", "Illinois", "60601", "America/Chicago", 41.88, -87.62},
		"de": {"Hamburg", "HH", "Hamburg", "20095", "Europe/Berlin", 53.55, 9.99},
		"gb": {"London", "ENG", "England", "EC1A", "Europe/London", 51.51, -0.12},
		"jp": {"Tokyo", "13", "Tokyo", "100-0001", "Asia/Tokyo", 35.68, 139.69},
		"br": {"Recife", "PE", "Pernambuco", "50010", "America/Recife", -8.05, -34.88},
		"fr": {"Lyon", "ARA", "Auvergne-Rhone-Alpes", "69001", "Europe/Paris", 45.76, 4.84},
	}[country]
}

// privateASN is the first number of the private range (RFC 6996).
const privateASN = 64512

func (s *site) originOf(r *http.Request) Origin {
	a, err := netip.ParseAddr(visitor(r))
	if err != nil {
		return Origin{}
	}
	return s.Origin(a.Unmap())
}

// geo says where a visitor is, in the shape of the public test page (ip, country, asn, geo).
// Unknown fields are empty.
func (s *site) geo(w http.ResponseWriter, r *http.Request) {
	o := s.originOf(r)
	t := townOf(o.Country)
	asn := map[string]any{"asnum": 0, "org_name": ""}
	if o.Network != "" {
		asn = map[string]any{"asnum": privateASN, "org_name": strings.TrimSpace("Lab " + o.Network + " network " + strings.ToUpper(o.Country))}
	}
	writeJSON(w, map[string]any{
		"ip": visitor(r), "country": strings.ToUpper(o.Country), "asn": asn,
		"geo": map[string]any{
			"city": t.city, "region": t.region, "region_name": t.regionName, "postal_code": t.postal,
			"latitude": t.latitude, "longitude": t.longitude, "tz": t.zone,
			"lum_city": strings.ToLower(t.city), "lum_region": strings.ToLower(t.region),
		},
	})
}

func (s *site) welcome(w http.ResponseWriter, r *http.Request) {
	o := s.originOf(r)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v := r.URL.Query()
	fmt.Fprintf(w, "Welcome to the lab!\n\nYour address: %s\nCountry: %s\nNetwork: %s\n", visitor(r), cmp.Or(o.Country, "unknown"), cmp.Or(o.Network, "unknown"))
	for _, name := range [...]string{"product", "method"} {
		if x := repeatable(v.Get(name)); x != "" {
			fmt.Fprintf(w, "You said %s: %s\n", name, strings.Join(strings.Fields(x), " "))
		}
	}
}
