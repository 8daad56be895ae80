//go:build unix

package fetch

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/text/encoding/simplifiedchinese"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/bodytext"
	"zonedeck/service/fields"
)

// page10MB is a shop's page of 10 MB.
func page10MB() []byte {
	row := `<div class="card product-card" data-sku="1"><a class="link" href="/p/1"><img src="/i/1.jpg" alt="椅子"></a><p>椅子, 19.50</p><script>track("captcha.js", 7)</script></div>` + "\n"
	return []byte("<!doctype html><html><head><meta charset=gbk><title>Shop</title></head><body>" + strings.Repeat(row, 10_000_000/len(row)) + `<p class="total">7</p></body></html>`)
}

// BenchmarkJudge decodes a page of 10 MB that came in gzip and GBK, and decodes and judges it, in turns.
func BenchmarkJudge(b *testing.B) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	noerr.Must(b, noerr.From(z.Write(noerr.Try(simplifiedchinese.GBK.NewEncoder().Bytes(page10MB())).Must(b))))
	noerr.Must(b, z.Close())
	header := http.Header{"Content-Encoding": {"gzip"}}
	decode := func(judge bool) {
		raw := noerr.Try(io.ReadAll(bodytext.Reader(io.NopCloser(bytes.NewReader(packed.Bytes())), header))).Must(b)
		noerr.Must(b, noerr.From(io.Copy(io.Discard, bodytext.Named("gbk").Reader(bytes.NewReader(raw)))))
		if judge {
			head := raw[:bodytext.MaxHead]
			c := bodytext.Detect("text/html", head)
			d := model.Diagnose(model.Outcome{TargetStatus: 200, ContentType: "text/html", BodyHead: c.Text(head), More: true, BodySize: int64(len(raw)), Charset: c.Name})
			if !d.OK() || c.Name != "gbk" {
				b.Fatal(d, c.Name)
			}
		}
	}
	ratio(b, func() { decode(true) }, func() { decode(false) })
}

// BenchmarkRequire looks for three required fields in a page of 10 MB, and parses it, in turns.
func BenchmarkRequire(b *testing.B) {
	page := page10MB()
	ratio(b, func() {
		found := noerr.Try(fields.Find("text/html", page, []string{"title", ".card a", ".total"})).Must(b)
		if len(found) != 3 || !found[2].Found {
			b.Fatal(found)
		}
	}, func() {
		noerr.Must(b, noerr.From(goquery.NewDocumentFromReader(bytes.NewReader(page))))
	})
}

// ratio reports how many times as much processor time one takes as the other. They run in turns.
func ratio(b *testing.B, one, other func()) {
	var ones, others time.Duration
	for b.Loop() {
		ones, others = ones+processorTime(b, one), others+processorTime(b, other)
	}
	b.ReportMetric(float64(ones)/float64(others), "ratio")
}

// processorTime is what a function, and the garbage collector behind it, takes of the processor.
func processorTime(b *testing.B, run func()) time.Duration {
	used := func() time.Duration {
		runtime.GC()
		var u syscall.Rusage
		noerr.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	run()
	return used() - before
}
