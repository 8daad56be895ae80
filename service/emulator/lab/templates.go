package lab

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"net/http"
	"strings"
	"sync"
)

// pageFiles are static pages and scripts, and templates.
//
//go:embed pages
var pageFiles embed.FS

// templates are parsed when the first of them is shown.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"capital": capital, "lower": strings.ToLower, "stars": stars,
		"cents": func(n int) string { return fmt.Sprintf("%02d", n%100) },
	}).ParseFS(pageFiles, "pages/*.tmpl"))
})

// show answers with a page made by a template.
func show(w http.ResponseWriter, status int, name string, v any) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, v); err != nil {
		panic(err) // the templates are part of the program
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a failed write means that the client left
}

// file answers with a file as it is.
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

const typeHTML = "text/html; charset=utf-8"

// page answers with a small page; the body is HTML.
func page(w http.ResponseWriter, status int, title, body string) {
	w.Header().Set("Content-Type", typeHTML)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>"+
		html.EscapeString(title)+"</title></head>\n<body>\n"+body+"</body>\n</html>\n")
}
