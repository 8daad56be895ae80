package lab

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"math/bits"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A visitor gets past a block as on real sites: its page names a script and an endpoint, which
// hands out a puzzle (a proof of work). A puzzle is signed, expires, and is valid for the
// visitor's address only. The right answer earns a cookie with the same bounds, and the cookie
// gives access to the page. The signatures replace any state of the site.

const (
	// puzzleBits is how many leading zero bits an answer's hash has: some 4,000 tries.
	puzzleBits = 12
	// puzzleLife is how long an answer is accepted, clearanceLife how long a cookie lasts.
	puzzleLife    = 2 * time.Minute
	clearanceLife = 10 * time.Minute
	// maxAnswerBytes bounds what is posted to /challenge.
	maxAnswerBytes = 4 << 10
)

func clearable(block string) bool {
	return block == "captcha" || block == "forbidden" || block == "too-fast"
}

// seal makes a token: its expiry, and a signature of a purpose, a block, the visitor's address
// and the expiry.
func (s *site) seal(purpose, block, address string, until time.Time) string {
	expiry := strconv.FormatInt(until.Unix(), 10)
	m := hmac.New(sha256.New, s.Secret)
	m.Write([]byte(strings.Join([]string{purpose, block, address, expiry}, "|")))
	return expiry + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// holds reports whether a token is valid for this purpose, block and address.
func (s *site) holds(token, purpose, block, address string) bool {
	expiry, _, _ := strings.Cut(token, ".")
	until, err := strconv.ParseInt(expiry, 10, 64)
	return err == nil && s.Now().Unix() < until && hmac.Equal([]byte(token), []byte(s.seal(purpose, block, address, time.Unix(until, 0))))
}

func cookieOf(block string) string { return "lab_clearance_" + block }

// cleared reports whether the visitor has earned the page behind a block.
func (s *site) cleared(r *http.Request, block string) bool {
	for _, c := range r.CookiesNamed(cookieOf(block)) {
		if s.holds(c.Value, "clearance", block, visitor(r)) {
			return true
		}
	}
	return false
}

// solves reports whether the SHA-256 of "token:answer" begins with puzzleBits zero bits.
func solves(token, answer string) bool {
	sum := sha256.Sum256([]byte(token + ":" + answer))
	return bits.LeadingZeros16(uint16(sum[0])<<8|uint16(sum[1])) >= puzzleBits
}

// challenge hands out a puzzle (GET ?for=BLOCK) and checks its answer (POST token, answer, for,
// and return: a path to redirect to).
func (s *site) challenge(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		block := r.URL.Query().Get("for")
		if !clearable(block) {
			writeStatus(w, http.StatusForbidden, map[string]any{"error": "there is no way past this block"})
			return
		}
		until := s.Now().Add(puzzleLife)
		writeJSON(w, map[string]any{
			"algorithm": "sha256", "difficulty": puzzleBits, "expires": until.Unix(),
			"token": s.seal("puzzle", block, visitor(r), until),
		})
	case http.MethodPost:
		s.answer(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		writeStatus(w, http.StatusMethodNotAllowed, map[string]any{"error": "GET or POST"})
	}
}

func (s *site) answer(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxAnswerBytes)
	if err := r.ParseForm(); err != nil {
		writeStatus(w, http.StatusBadRequest, map[string]any{"error": "a form with token, answer and for"})
		return
	}
	block, token := r.PostForm.Get("for"), r.PostForm.Get("token")
	if !clearable(block) || !s.holds(token, "puzzle", block, visitor(r)) || !solves(token, r.PostForm.Get("answer")) {
		writeStatus(w, http.StatusForbidden, map[string]any{"error": "that is not the answer, or it came too late or from elsewhere"})
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieOf(block), Value: s.seal("clearance", block, visitor(r), s.Now().Add(clearanceLife)),
		Path: "/", MaxAge: int(clearanceLife.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	if to := r.PostForm.Get("return"); localPath(to) {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// localPath reports whether a reference stays on this site.
func localPath(to string) bool {
	return strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") && !strings.ContainsAny(to, "\\\r\n\t")
}

// blocks are the pages that keep visitors out. With ?hard=1 nothing gets past.
func (s *site) blocks(mux *http.ServeMux) {
	mux.HandleFunc("/forbidden", func(w http.ResponseWriter, r *http.Request) {
		s.block(w, r, http.StatusForbidden, forbiddenPage, "forbidden", "Members only")
	})
	mux.HandleFunc("/too-fast", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		s.block(w, r, http.StatusTooManyRequests, tooFastPage, "too-fast", "No hurry")
	})
	mux.HandleFunc("/captcha", func(w http.ResponseWriter, r *http.Request) {
		s.block(w, r, http.StatusOK, captchaPage, "captcha", "Welcome, human")
	})
	mux.HandleFunc("/challenge", s.challenge)
	// On a page with a CAPTCHA's widget the script draws a box to tick; on others it starts at
	// once. It contains a hash function, because browsers offer theirs on secure pages only, and
	// the site is also served over plain HTTP.
	mux.Handle("/challenge.js", file("challenge.js", "text/javascript; charset=utf-8"))
}

func hard(r *http.Request) bool { return r.URL.Query().Get("hard") == "1" }

// blockPage is a page that keeps visitors out; its body is HTML.
type blockPage struct{ title, body string }

var (
	forbiddenPage = blockPage{"Access denied", "<h1>Access denied</h1>\n<p>You do not have permission to view this page.</p>\n"}
	tooFastPage   = blockPage{"Too many requests", "<h1>Too many requests</h1>\n<p>Slow down and come back in a second.</p>\n"}
	captchaPage   = blockPage{"Are you a robot?", `<h1>Please verify you are a human</h1>
<p>Our systems have detected unusual traffic from your network.</p>
<form action="/captcha" method="post">
<div class="g-recaptcha" data-sitekey="6LeLabLabLabLabLabLabLabLabLabLabLabLabLa"></div>
<noscript>Turn on JavaScript to solve the challenge.</noscript>
<button type="submit">Continue</button>
</form>
`}
)

// block shows a block, or the page behind it to a visitor who has solved its challenge.
func (s *site) block(w http.ResponseWriter, r *http.Request, status int, b blockPage, name, behind string) {
	switch {
	case hard(r) && name == "captcha":
		name = "captcha-hard" // which has no puzzle
	case hard(r):
		name = ""
	case s.cleared(r, name):
		w.Header().Del("Retry-After")
		page(w, http.StatusOK, behind, "<h1>"+behind+`</h1>
<p class="behind">This is the page behind the block: the visitor has solved its challenge.</p>
<p><a href="/shop">Go on to the shop</a></p>
`)
		return
	}
	var m markup
	m.head(b.title)
	m.WriteString(b.body)
	if name != "" {
		m.add("<script src=\"/challenge.js\" data-challenge=\"/challenge?for=%v\" async></script>\n", name)
	}
	m.foot()
	m.send(w, status)
}
