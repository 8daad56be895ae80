package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/dialect"
	"zonedeck/service/fetch"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

type proxyTestFlags struct {
	loginFlags
	URL      string `flag:"url" help:"page to fetch through the proxy (default: the test page of the profile's dialect)"`
	Repeat   int    `flag:"repeat" default:"1" help:"calls that the test itself makes"`
	Rotation int    `flag:"rotation" help:"afterwards, measure the rotation of the exits over this many calls"`
	Client   string `flag:"client" takes:"curl|requests|node|chromium|go" help:"say in full where this client looks for CAs and how to install one: curl, requests, node, chromium or go"`
}

func (a *app) proxyTestCommand() *cobra.Command {
	return command(a, spec[proxyTestFlags]{
		use:   "test --zone ZONE",
		short: "Test a zone's proxy login and explain what goes wrong",
		long: `Logs in to the proxy and fetches a page. It shows the connection, CONNECT, the
TLS handshake and the request, each with its time.

The chain of certificates is checked against the system's store, the profile's
CA file, and the places where other clients look for theirs. Outer proxies in
the environment are named; the console uses none of them.

With --rotation N it then makes N more calls, one after the other, and counts
the exit addresses. With --session all of them use that session. Each call is
billed.`,
		needs: func(proxyTestFlags) needs { return needs{journal: true, rules: true} },
		run:   proxyTest,
	})
}

// clientNames are the values of --client.
var clientNames = map[string]model.TrustClient{
	"curl": model.ClientCurl, "requests": model.ClientRequests, "node": model.ClientNode, "chromium": model.ClientChromium, "go": model.ClientGo,
}

func proxyTest(ctx context.Context, t *task, f proxyTestFlags, _ []string) (printed, error) {
	client, known := clientNames[f.Client]
	if f.Client != "" && !known {
		return printed{}, usage("--client %q: write curl, requests, node, chromium or go", f.Client)
	}
	p, zone, c, err := t.credential(ctx, f.loginFlags)
	if err != nil {
		return printed{}, err
	}
	target, err := t.probeTarget(p, f.URL)
	switch {
	case zone.Password == "":
		return printed{}, usage("zone %q has no password reference: set password in the config file, or %s", zone.Name, service.EnvPassword)
	case f.Repeat < 1 || f.Repeat > fetch.MaxRounds:
		return printed{}, usage("--repeat %d: write a number from 1 to %d", f.Repeat, fetch.MaxRounds)
	case f.Rotation < 0 || f.Rotation > model.MaxExitCalls:
		return printed{}, usage("--rotation %d: write a number from 1 to %d", f.Rotation, model.MaxExitCalls)
	case err != nil:
		return printed{}, err
	}
	q := fetch.ProbeRequest{Zone: zone, Params: c.Params, Target: target, Rounds: f.Repeat, Session: f.Session}
	r, err := t.Fetch.Probe(ctx, q, nil)
	if err != nil {
		return printed{}, fetchError(ctx, err)
	}
	var rotation *model.Grid
	var ended error // calls already made are billed: print them
	if f.Rotation > 0 && r.Diagnosis.OK() {
		var got model.Grid
		if got, ended = t.rotate(ctx, q, f.Rotation); ended == nil || len(got.Cells) > 0 && len(got.Cells[0].Runs) > 0 {
			rotation = &got
		}
	}
	trust := t.Machine().TrustOf(r, p.CA)
	outer := t.Machine().OuterProxies()
	out := printed{object: view.NewProbe(r, trust, outer, rotation), rows: probeRows(r, trust, client, outer, rotation), code: diagnosisExit(r.Diagnosis)}
	if ended != nil {
		return out.withError(fetchError(ctx, ended))
	}
	if rotation != nil && rotation.Cells[0].Ended != "" && len(rotation.Cells[0].Runs) > 0 {
		runs := rotation.Cells[0].Runs
		last := runs[len(runs)-1]
		out.code = diagnosisExit(model.Diagnosis{Class: last.Class, Cause: last.Cause})
	}
	return out, nil
}

// probeTarget is the page to fetch.
func (t *task) probeTarget(p model.Profile, target string) (string, error) {
	if target != "" {
		return target, nil
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return "", usage("%w", err)
	}
	if target = d.TestPage(p); target == "" {
		return "", usage("--url is missing: name a page to fetch through the proxy")
	}
	return target, nil
}

// rotate measures the rotation of the exits and shows its progress.
func (t *task) rotate(ctx context.Context, q fetch.ProbeRequest, n int) (model.Grid, error) {
	g, err := t.Fetch.Plan(ctx, model.Preset{Kind: model.CompareExits, Params: q.Params, Session: q.Session, Repeat: n}, model.FetchRequest{Zone: q.Zone, URL: q.Target})
	if err != nil {
		return g, err
	}
	return t.comparing(ctx, g, func(cells map[int]model.Cell, runs int) string {
		return fmt.Sprintf("%d of %s, %d addresses", runs, text.Counted(n, "call"), len(cells[0].Exits()))
	})
}

// probeRows shows a test of a login as a table without a heading.
func probeRows(r model.ProbeResult, trust *model.TrustReport, client model.TrustClient, outer []model.EnvSetting, rotation *model.Grid) [][]string {
	line := model.ClassWord(r.Diagnosis.Class, r.Diagnosis.Cause)
	if r.Diagnosis.Summary != "" && !r.Diagnosis.OK() {
		line += ": " + r.Diagnosis.Summary
	}
	rows := [][]string{
		{"result", line},
		{"proxy", r.Proxy},
		{"username", r.Username},
		{"target", fmt.Sprintf("%s  status %d", r.Target, r.TargetStatus)},
	}
	add := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	for _, s := range r.Steps() {
		add(s.Name, "%s", stepText(s))
	}
	if r.Code != "" {
		add("reason", "%s: %s", r.Code, cmp.Or(r.Reason, "its meaning is unknown"))
	}
	add("time", "%d ms", r.Timing.Total.Milliseconds())
	for i, e := range r.Exits {
		add(fmt.Sprintf("exit %d", i+1), "%s", cmp.Or(e, "-"))
	}
	if r.StickyRun {
		add("sticky", "%t", r.Sticky)
	}
	if rotation != nil {
		add("rotation", "%s", rotation.Verdict().Text)
		if c := rotation.Cells[0]; c.Ended != "" {
			add("", "ended after %d of %d calls: %s", len(c.Runs), rotation.Repeat, c.Ended)
		}
	}
	rows = append(rows, trustRows(r, trust, client)...)
	for _, s := range outer {
		add("environment", "%s=%s  not used by zonedeck; other programs may use it", s.Name, s.Value)
	}
	for _, e := range r.Diagnosis.Evidence {
		add("evidence", "%s", e.Text)
	}
	if !r.Diagnosis.OK() {
		for _, st := range r.Diagnosis.Steps {
			add("do next", "%s", st.Text)
		}
	}
	return rows
}

// stepText is a step of a test: its state, its time if it was measured, and what it showed.
func stepText(s model.ProbeStep) string {
	parts := []string{strings.ReplaceAll(string(s.State), "_", " ")}
	if s.Duration >= 0 {
		parts = append(parts, text.Duration(s.Duration))
	}
	if s.Text != "" {
		parts = append(parts, s.Text)
	}
	return strings.Join(parts, "  ")
}

// trustRows says who trusts the chain, with all details for one client.
func trustRows(r model.ProbeResult, trust *model.TrustReport, client model.TrustClient) [][]string {
	var rows [][]string
	for _, c := range r.Chain.Certificates {
		rows = append(rows, []string{"certificate", fmt.Sprintf("%s  by %s  until %s  sha256 %s", c.Subject, c.Issuer, c.NotAfter.UTC().Format(time.DateOnly), c.SHA256)})
	}
	if trust == nil {
		if client != "" {
			rows = append(rows, []string{string(client), "no certificate was presented: nothing to check"})
		}
		return rows
	}
	rows = append(rows, []string{"CA needed", trust.Root})
	if trust.HostMismatch != "" {
		rows = append(rows, []string{"host", trust.HostMismatch + "; no CA fixes that"})
	}
	rows = append(rows, []string{trust.System.Name, storeText(trust.System)})
	if trust.File != nil {
		rows = append(rows, []string{trust.File.Name, storeText(*trust.File)})
	}
	for _, c := range trust.Clients {
		rows = append(rows, []string{string(c.Client), string(c.Verdict)})
		if c.Client != client {
			continue
		}
		for _, s := range c.Stores {
			rows = append(rows, []string{"  looks in", s.Name + ": " + storeText(s)})
		}
		for _, s := range c.Settings {
			rows = append(rows, []string{"  set", s.Name + "=" + s.Value})
		}
		if c.Note != "" {
			rows = append(rows, []string{"  note", c.Note})
		}
		for _, line := range c.Install {
			rows = append(rows, []string{"  install", line})
		}
	}
	return rows
}

func storeText(s model.TrustStore) string {
	out := string(s.Verdict)
	if s.Path != "" {
		out += "  " + s.Path
	}
	if s.Reason != "" {
		out += "  " + s.Reason
	}
	return out
}
