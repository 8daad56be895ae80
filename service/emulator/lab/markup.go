package lab

import (
	"embed"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
	"time"
)

// pageFiles are static pages, scripts and files.
//
//go:embed pages
var pageFiles embed.FS

// markup writes HTML. html/template would cost every zonedeck 3 MB of memory, because the linker
// keeps all methods of a program that has templates.
type markup struct{ strings.Builder }

// add writes HTML with escaped values where format has %v.
func (m *markup) add(format string, values ...any) {
	for i, v := range values {
		values[i] = html.EscapeString(fmt.Sprint(v))
	}
	fmt.Fprintf(m, format, values...)
}

func (m *markup) head(title string) {
	m.add("<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>%v</title></head>\n<body>\n", title)
}

func (m *markup) foot() { m.add("</body>\n</html>\n") }

func (m *markup) rating(r float64) {
	m.add(`<span class="rating" data-rating="%v">%v of 5</span>`, stars(r), stars(r))
}

func (m *markup) published(at time.Time) {
	m.add(`<time datetime="%v">%v</time>`, at.Format(time.DateOnly), at.Format("2 Jan 2006"))
}

// links writes links as elements of a list.
func (m *markup) links(links []link) {
	for _, l := range links {
		m.add("<li><a href=\"%v\">%v</a></li>\n", l.To, l.Text)
	}
}

func (m *markup) send(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", typeHTML)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, m.String()) // a failed write means that the client left
}

const typeHTML = "text/html; charset=utf-8"

// page answers with a small page; the body is HTML.
func page(w http.ResponseWriter, status int, title, body string) {
	var m markup
	m.head(title)
	m.WriteString(body)
	m.foot()
	m.send(w, status)
}

// file answers with a file.
func file(name, contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		b, err := pageFiles.ReadFile("pages/" + name)
		if err != nil {
			panic(err) // the file is part of the program
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(b)
	}
}
