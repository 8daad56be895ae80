package lab

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html/charset"

	"zonedeck/internal/noerr"
)

func TestTheShopsShelves(t *testing.T) {
	seen := map[string]int{}
	address, pages := "/shop?page=1", 0
	for ; address != ""; pages++ {
		d := results(t, address)
		d.Find(".product .sku").Each(func(_ int, s *goquery.Selection) { seen[s.Text()]++ })
		address = d.Find("a.next").AttrOr("href", "")
	}
	if len(seen) != Products*(1+variants) || pages != 5 {
		t.Errorf("%d products on %d pages", len(seen), pages)
	}
	for sku, n := range seen {
		if w := get(t, "/shop/product/"+sku); n != 1 || w.Code != 200 || !strings.Contains(w.Body.String(), sku) || !strings.Contains(w.Body.String(), `class="review"`) {
			t.Errorf("%s: %d times, %d", sku, n, w.Code)
		}
	}
	inCategories := 0
	for _, c := range categories() {
		for address := "/shop/category/" + c; address != ""; {
			d := results(t, address)
			inCategories += d.Find(".product").Length()
			address = d.Find("a.next").AttrOr("href", "")
		}
	}
	if inCategories != len(seen) {
		t.Errorf("%d products in categories", inCategories)
	}
	for q, want := range map[string]int{"lamp": 5, "lamps": 5, "LAMP brass": 5, "lamp large": 1, "kitchen": 12, "xyzzy": 0, "": 0, "<b>": 0} {
		d := results(t, "/shop/search?q="+url.QueryEscape(q))
		if n := d.Find(".product").Length(); n != want {
			t.Errorf("%q: %d products", q, n)
		}
	}
	if d := results(t, "/shop/search?q=large&page=1"); d.Find(".product").Length() != 12 {
		t.Error(d.Text())
	}
	for _, p := range []string{"/shop/category/cars", "/shop/product/LAB-0"} {
		if w := get(t, p); w.Code != 404 {
			t.Errorf("%s: %d", p, w.Code)
		}
	}
	if w := get(t, "/shop?page=999"); w.Code != 200 || strings.Contains(w.Body.String(), `class="product"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestTheMarkupDriftsWhenTheOptionSaysSo(t *testing.T) {
	drifted := false
	h := New(Options{Drifted: func(*http.Request) bool { return drifted }})
	for _, p := range []string{"/shop", "/shop?page=2", "/product/1", "/shop/product/LAB-1007", "/shop/category/kitchen", "/shop/search?q=lamp"} {
		for _, drifted = range []bool{false, true} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", p, nil))
			if strings.Contains(w.Body.String(), `class="price"`) == drifted || strings.Contains(w.Body.String(), `class="card"`) != drifted {
				t.Errorf("%s, drifted %v: %s", p, drifted, w.Body)
			}
		}
	}
}

func TestLogin(t *testing.T) {
	v := &visitorOf{h: New(Options{}), address: "127.0.0.1"}
	if w := v.do(t, "GET", "/login", nil); w.Code != 200 || !strings.Contains(w.Body.String(), `type="password"`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := v.do(t, "POST", "/login", url.Values{"user": {"lab"}, "password": {"torch"}}); w.Code != 401 || len(v.cookies) != 0 {
		t.Errorf("%d %v", w.Code, v.cookies)
	}
	if w := v.do(t, "POST", "/login", url.Values{"user": {"lab"}, "password": {"lamp"}}); w.Code != 303 {
		t.Errorf("%d", w.Code)
	}
	if w := v.do(t, "GET", "/login", nil); !strings.Contains(w.Body.String(), "You are signed in") {
		t.Errorf("%s", w.Body)
	}
	v.cookies[0].Value += "x"
	if w := v.do(t, "GET", "/login", nil); strings.Contains(w.Body.String(), "You are signed in") {
		t.Error("a changed cookie was taken")
	}
}

func TestRedirects(t *testing.T) {
	address, hops := "/redirect?n=3&code=307&to=/json", 0
	for {
		w := get(t, address)
		if w.Code == 200 {
			break
		}
		if w.Code != 307 || hops > 5 {
			t.Fatalf("%s: %d", address, w.Code)
		}
		address = w.Header().Get("Location")
		hops++
	}
	if hops != 3 || address != "/json" {
		t.Errorf("%d hops to %s", hops, address)
	}
	for _, bad := range []string{"n=51", "code=200", "code=304", "code=399"} {
		if w := get(t, "/redirect?"+bad); w.Code != 400 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
	if w := get(t, "/redirect?to="+url.QueryEscape("http://10.0.0.1/")); w.Header().Get("Location") != "http://10.0.0.1/" {
		t.Errorf("%v", w.Header())
	}
}

func TestCookiesAndHeaders(t *testing.T) {
	v := &visitorOf{h: New(Options{}), address: "127.0.0.1"}
	v.do(t, "GET", "/cookies?set=a=1&set=b=x%3Dy&set=%0A=no", nil)
	if w := v.do(t, "GET", "/cookies", nil); strings.Join(strings.Fields(w.Body.String()), "") != `{"cookies":{"a":"1","b":"x=y"}}` {
		t.Errorf("%s", w.Body)
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/headers", nil)
	r.Header.Set("X-Test", "yes")
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), `"X-Test": [`) {
		t.Errorf("%s", w.Body)
	}
}

// pieces counts the flushes of a response.
type pieces struct {
	*httptest.ResponseRecorder
	n int
}

func (p *pieces) FlushError() error { p.n++; return nil }

func TestAStreamComesInPiecesAndOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pieces{ResponseRecorder: httptest.NewRecorder()}
		begin := time.Now()
		New(Options{}).ServeHTTP(p, httptest.NewRequestWithContext(t.Context(), "GET", "/stream?kb=10&chunk=4&ms=500", nil))
		if p.Body.Len() != 10<<10 || p.n != 2 || time.Since(begin) != time.Second {
			t.Errorf("%d bytes, %d flushes, %s", p.Body.Len(), p.n, time.Since(begin))
		}
	})
	for _, bad := range []string{"kb=65537", "chunk=0", "chunk=2000", "ms=10001"} {
		if w := get(t, "/stream?"+bad); w.Code != 400 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
}

func TestAnyStatus(t *testing.T) {
	for _, code := range []int{200, 204, 301, 304, 401, 404, 418, 429, 503, 599} {
		if w := get(t, "/status/"+strconv.Itoa(code)); w.Code != code || (w.Body.Len() == 0) != (code == 204 || code == 304) {
			t.Errorf("%d: %d, %d bytes", code, w.Code, w.Body.Len())
		}
	}
	for _, bad := range []string{"199", "600", "x", "1e2"} {
		if w := get(t, "/status/"+bad); w.Code != 400 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
}

func TestCompressedWhateverIsAccepted(t *testing.T) {
	w := get(t, "/gzip")
	z, err := gzip.NewReader(w.Body)
	if err != nil || w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatal(err, w.Header())
	}
	if b, err := io.ReadAll(z); err != nil || !strings.Contains(string(b), "travels as gzip") {
		t.Errorf("%v %s", err, b)
	}
}

func TestEncodings(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"", "Café Größe"},
		{"?charset=windows-1251", "Лампа"},
		{"?charset=Shift_JIS&where=meta", "ランプ"},
		{"?charset=gbk&where=both", "台灯"},
		{"?charset=utf-16le", "Café Größe"},
	} {
		w := get(t, "/encoding"+c.query)
		r, err := charset.NewReader(w.Body, w.Header().Get("Content-Type"))
		noerr.Must(t, err)
		b, err := io.ReadAll(r)
		if err != nil || !strings.Contains(string(b), "<h1>"+c.want+"</h1>") {
			t.Errorf("%s: %v %q %v", c.query, err, b, w.Header())
		}
	}
	if w := get(t, "/encoding?where=none"); w.Header().Get("Content-Type") != "text/html" || strings.Contains(w.Body.String(), "charset") {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	if w := get(t, "/encoding?charset=klingon"); w.Code != 400 {
		t.Errorf("%d", w.Code)
	}
}

func TestWhereAVisitorSeemsToBe(t *testing.T) {
	h := New(Options{Origin: func(a netip.Addr) Origin {
		if a == netip.MustParseAddr("127.12.0.7") {
			return Origin{Country: "de", Network: "residential"}
		}
		return Origin{}
	}})
	v := &visitorOf{h: h, address: "127.12.0.7"}
	var geo struct {
		IP, Country string
		ASN         struct {
			Asnum   int
			OrgName string `json:"org_name"`
		}
		Geo struct {
			City, TZ string
			Latitude float64
		}
	}
	w := v.do(t, "GET", "/mygeo.json", nil)
	if err := json.Unmarshal(w.Body.Bytes(), &geo); err != nil || geo.IP != "127.12.0.7" || geo.Country != "DE" || geo.ASN.Asnum != privateASN ||
		geo.ASN.OrgName != "Lab residential network DE" || geo.Geo.City != "Hamburg" || geo.Geo.TZ != "Europe/Berlin" {
		t.Errorf("%v %s", err, w.Body)
	}
	w = v.do(t, "GET", "/welcome.txt?product=resi%0Adential&method=native", nil)
	if want := "Welcome to the lab!\n\nYour address: 127.12.0.7\nCountry: de\nNetwork: residential\nYou said product: resi dential\nYou said method: native\n"; w.Body.String() != want {
		t.Errorf("%q", w.Body)
	}
	v.address = "127.0.0.1"
	if w := v.do(t, "GET", "/mygeo.json", nil); !strings.Contains(w.Body.String(), `"country": ""`) || !strings.Contains(w.Body.String(), `"asnum": 0`) {
		t.Errorf("%s", w.Body)
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/mygeo.json", nil)
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("X-Forwarded-For", "127.12.0.7")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	if strings.Contains(rec.Body.String(), "DE") {
		t.Error("a header was believed")
	}
}
