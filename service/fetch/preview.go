package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"zonedeck/model"
	"zonedeck/service/agent"
	"zonedeck/service/browse"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// mask stands for a secret in a preview.
const mask = "••••"

// Preview is the request as Fetch would write it, line by line, with the secrets
// masked: of the key only the last four characters are shown (last4, "" when they are
// not known), of the password nothing. It uses the functions that write the request,
// and does no I/O. Problem says why Fetch would refuse it.
func (ft *Fetcher) Preview(p model.Profile, r model.FetchRequest, last4 string) model.WirePreview {
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return model.WirePreview{Problem: err.Error()}
	}
	if r.Via == "" {
		r.Via = model.ViaAPI
	}
	r = d.Locate(r)
	problem := check(p, d, r)
	r = r.Reveal(func(name string) string {
		if _, secret := r.Secrets[name]; !secret { // it has no value yet
			return "{{" + name + "}}"
		}
		return mask
	})
	var lines []string
	switch {
	case r.Via == model.ViaNative:
		lines, err = previewNative(p, d, d.Outgoing(r))
	case r.Via == model.ViaAgent && p.AgentURL != "":
		lines, err = previewAgent(p, d, r, mask+last4)
	case r.Via == model.ViaBrowser && p.BrowserURL != "":
		lines, err = previewBrowser(p, d, r)
	case r.Via == model.ViaAPI:
		lines, err = previewAPI(p, d, r, last4)
	}
	w := model.WirePreview{Lines: lines}
	if problem == nil {
		problem = err
	}
	if problem != nil {
		w.Problem = firstLine(problem.Error())
	}
	return w
}

func previewAPI(p model.Profile, d dialect.Dialect, r model.FetchRequest, last4 string) ([]string, error) {
	body, err := d.Request(r)
	if err != nil {
		return nil, err
	}
	call := exchange.Call{Profile: p, Method: http.MethodPost, Path: dialect.RequestPath, Body: body}
	req, err := call.Request(context.Background(), mask+last4)
	if err != nil {
		return nil, err
	}
	return wireLines(req, (*http.Request).Write)
}

func previewNative(p model.Profile, d dialect.Dialect, r model.FetchRequest) ([]string, error) {
	name, err := exchange.Username(p, r.Zone.Name, d.Params(r))
	if err != nil {
		return nil, err
	}
	authorization := fmt.Sprintf("Basic base64(%s:%s)", name, mask)
	req, err := exchange.NativeRequest(context.Background(), r, authorization)
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme == "http" {
		return wireLines(req, (*http.Request).WriteProxy)
	}
	addr, err := exchange.ConnectAddr(req.URL)
	if err != nil {
		return nil, err
	}
	inner, err := wireLines(req, (*http.Request).Write)
	if err != nil {
		return nil, err
	}
	return append(append(exchange.ConnectLines(addr, authorization), ""), inner...), nil
}

// previewAgent is the call of a tool; a session was begun before it.
func previewAgent(p model.Profile, d dialect.Dialect, r model.FetchRequest, key string) ([]string, error) {
	name, args := tool(d, r)
	req, err := agent.Request(context.Background(), p.AgentURL, "(given by initialize)", name, args)
	if err != nil {
		return nil, err
	}
	lines, err := wireLines(exchange.WithKey(req, d.TokenParam(), key), (*http.Request).Write)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], url.QueryEscape(key), key)
	}
	return lines, err
}

// previewBrowser is the request that opens the remote browser, and the navigation.
func previewBrowser(p model.Profile, d dialect.Dialect, r model.FetchRequest) ([]string, error) {
	name, err := exchange.Username(p, r.Zone.Name, d.Params(r))
	if err != nil {
		return nil, err
	}
	req, err := exchange.SocketRequest(context.Background(), p, fmt.Sprintf("Basic base64(%s:%s)", name, mask), "(random)")
	if err != nil {
		return nil, err
	}
	lines, err := wireLines(req, (*http.Request).Write)
	return append(lines, browse.Steps(r.URL)...), err
}

// wireLines gives the lines that net/http writes for a request.
func wireLines(req *http.Request, write func(*http.Request, io.Writer) error) ([]string, error) {
	var b bytes.Buffer
	if err := write(req, &b); err != nil {
		return nil, err
	}
	head, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	lines := append(strings.Split(head, "\r\n"), "")
	if body == "" {
		return lines, nil
	}
	return append(lines, strings.Split(body, "\n")...), nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
