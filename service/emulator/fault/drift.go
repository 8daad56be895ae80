package fault

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"mime"
	"net/http"
	"strings"

	"golang.org/x/net/html"
)

// maxToken bounds one tag or text of a page whose markup drifts.
const maxToken = 1 << 20

// drift renames the classes and ids of an HTML page, as a rebuilt site does: a person sees
// the same page, and selectors find nothing (service.md 7, parsing drift). A name changes in
// the same way on every page. Anything other than plain HTML passes unchanged.
func drift(resp *http.Response) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "text/html" || resp.Header.Get("Content-Encoding") != "" {
		return
	}
	z := html.NewTokenizer(resp.Body)
	z.SetMaxBuf(maxToken)
	resp.Body = &drained{body: resp.Body, more: func(out *bytes.Buffer) error {
		kind := z.Next()
		raw := z.Raw()
		switch kind {
		case html.ErrorToken:
			out.Write(raw)
			return z.Err()
		case html.StartTagToken, html.SelfClosingTagToken:
			raw = bytes.Clone(raw)
			if t := z.Token(); renamed(t.Attr) {
				raw = []byte(t.String())
			}
			out.Write(raw)
		default:
			out.Write(raw)
		}
		return nil
	}}
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	resp.Header.Del("Etag")
}

// Drifts reports whether a drift always hits a target's page. It leaves out rules that
// count calls or have a probability: those are decided as calls pass. It counts nothing, and
// takes the call's point to be Target.
func (e *Engine) Drifts(c Call) bool {
	c.Point, c.Host = Target, strings.ToLower(c.Host)
	now := e.conf.Now()
	for _, h := range *e.rules.Load() {
		w := &h.rule.When
		counts := w.Nth > 0 || w.From > 1 || w.Until > 0 || w.Every > 1 || w.Times > 0 || w.Probability > 0 && w.Probability < 1
		if h.rule.Do.Kind == Drift && !counts && !h.off.Load() && h.rule.Match.matches(&c) && w.active(h.added, now) {
			return true
		}
	}
	return false
}

// renamed gives new names to the classes and the id of a tag, and reports whether it has any.
func renamed(attrs []html.Attribute) bool {
	found := false
	for i := range attrs {
		if a := &attrs[i]; a.Key == "class" || a.Key == "id" {
			found = true
			names := strings.Fields(a.Val)
			for i := range names {
				names[i] = newName(names[i])
			}
			a.Val = strings.Join(names, " ")
		}
	}
	return found
}

// newName is a name like those of build tools: a letter and some digits.
func newName(old string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(old)) // a hash never fails
	return fmt.Sprintf("c%08x", h.Sum32())
}
