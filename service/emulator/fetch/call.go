package fetch

import (
	"errors"
	"net/http"
	"net/url"

	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/fetch/async"
	"zonedeck/service/emulator/serp"
	"zonedeck/service/emulator/username"
)

const (
	maxRequestBytes = 8 << 20
	maxURLBytes     = 8192
	// maxHeaders bounds the headers that a call adds.
	maxHeaders = 100
)

type call struct {
	zone, format string
	method       string
	url          *url.URL
	header       http.Header
	body         []byte
	jsonBody     bool // body was JSON, not a string
	flags        username.Flags

	// form is the form of the answer (data_format), or "" for the target's bytes.
	form          string
	render        bool
	expect        expectation
	city, zipcode string // x-unblock-city, x-unblock-zipcode
	// custom means that the caller sent headers: then every request is billed, not only those
	// that succeed (public documentation).
	custom bool
	hook   async.Hook
	// query is the search of a search page's address, if the product reads those.
	query serp.Query
	// at is the lab's page that replaces a search engine's; nil for other pages.
	at *url.URL

	unfit []string // the fields that have no meaning for the zone's product, with the zones that they are for
	notes []string // what a loose service ignored
}

// endpoint decides which fields a call can have: each has those of the ones before it.
type endpoint int

const (
	atRequest endpoint = iota // POST /request and its GET twin
	atAsync                   // POST /request?async=true
	atUnblock                 // POST /unblocker/req
	atSERP                    // POST /serp/req
)

func (e endpoint) async() bool { return e != atRequest }

type parser struct {
	at      endpoint
	loose   bool
	product string // of the call's zone; "" takes every field

	*document.Table // the fields, and what is wrong with them
	c               call
}

// parse reads the fields of a call. The error is an [*answer.InvalidError].
func (p *parser) parse() (call, error) {
	p.c = call{method: http.MethodGet, header: http.Header{}}
	required := []string{"url", "format"}
	switch p.at {
	case atUnblock:
		p.c.format, required = "raw", []string{"url"}
	case atSERP:
		p.c.format, required = "raw", nil
	}
	for _, name := range p.Names() {
		p.field(name)
	}
	for _, name := range required {
		p.Require(name)
	}
	if p.Raw("url") != nil && p.Raw("query") != nil && p.at == atSERP {
		p.Refuse("", "url and query are two ways to say the same: send one")
	}
	if p.c.url == nil && p.at == atSERP && p.Invalid() == nil {
		p.Refuse("", "url or query is required")
	}
	var flag *username.FlagError
	if err := p.c.flags.Check(); errors.As(err, &flag) {
		p.Refuse(flag.Flag, "%s", flag.Reason)
	}
	if p.c.jsonBody && p.c.header.Get("Content-Type") == "" {
		p.c.header.Set("Content-Type", "application/json")
	}
	if err := p.Invalid(); err != nil {
		return call{}, err
	}
	return p.c, nil
}

func (p *parser) field(name string) {
	f, ok := fields[name]
	switch {
	case ok && p.at >= f.since:
		p.take("", name, f.zones, func() { f.read(p, name) })
	case p.loose:
		p.c.notes = append(p.c.notes, name+" is ignored: not a field of this call")
	default:
		p.Refuse(name, "is not allowed")
	}
}

// take reads a field, and refuses it for zones where it has no meaning. A loose service notes
// such a field and ignores it.
func (p *parser) take(where, name string, z zones, read func()) {
	before := p.c
	read()
	switch {
	case z.have(p.product):
	case p.loose:
		p.c = before
		p.c.notes = append(p.c.notes, name+" is ignored: it is for "+z.text)
	default:
		p.c.unfit = append(p.c.unfit, where+name+" is for "+z.text)
	}
}
