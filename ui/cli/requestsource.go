package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/importers"
	"zonedeck/service/saved"
	"zonedeck/ui/kit/text"
)

// requestSource says where to take a request from, in addition to the flags.
type requestSource struct {
	curl, har, saved string
	entry            int
}

func (s *requestSource) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&s.curl, "curl", "", "take the request from the curl command in this file; - for standard input")
	fl.StringVar(&s.har, "har", "", "take the request from this HAR file; - for standard input")
	fl.IntVar(&s.entry, "entry", 0, "which entry of the HAR file, counting from 1 (needed if it has several)")
	fl.StringVar(&s.saved, "saved", "", "send this saved request")
}

// compose fills flags that were not given from the source, and puts in the values of
// variables.
func (t *task) compose(ctx context.Context, given func(flag string) bool, target *string, f *requestFlags) error {
	if s := f.source; s.curl != "" && s.har+s.saved != "" || s.har != "" && s.saved != "" {
		return usage("--curl, --har and --saved are each a whole request: give one of them")
	}
	if f.source.entry != 0 && f.source.har == "" {
		return usage("--entry needs --har")
	}
	r, is, err := t.sourced(ctx, f.source)
	if err != nil {
		return err
	}
	if is {
		if err := f.fill(r, given, target); err != nil {
			return usage("%w", err)
		}
	}
	return t.fillInRequest(f, target)
}

// fillInRequest puts in the values of variables.
func (t *task) fillInRequest(f *requestFlags, target *string) error {
	rest := model.FetchRequest{
		Zone: model.Zone{Name: model.ZoneName(f.zone)}, Session: f.session, Tool: f.tool, Args: strings.Join(f.args, textBreak),
	}
	if err := t.fillIn(&f.askFlags, target, &rest); err != nil {
		return err
	}
	f.zone, f.session, f.tool = string(rest.Zone.Name), rest.Session, rest.Tool
	if len(f.args) > 0 {
		f.args = strings.Split(rest.Args, textBreak)
	}
	return nil
}

// sourced returns the request of the source, if one is named. It says what was replaced or dropped.
func (t *task) sourced(ctx context.Context, s requestSource) (model.FetchRequest, bool, error) {
	switch {
	case s.saved != "":
		r, err := saved.New(t.Paths.RequestsDir()).Load(ctx, s.saved)
		if err != nil {
			return r, false, usage("%w", err)
		}
		return r, true, nil
	case s.curl == "" && s.har == "":
		return model.FetchRequest{}, false, nil
	}
	name, flag := s.curl, "--curl"
	if s.har != "" {
		name, flag = s.har, "--har"
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return model.FetchRequest{}, false, fail(exitState, "%w", err)
	}
	in, err := t.app.open(ctx, name)
	if err != nil {
		return model.FetchRequest{}, false, usage("%s: %w", flag, err)
	}
	defer in.Close()
	got, err := t.imported(in, s, importers.Known{Profile: p, Keys: t.Keys.Inventory().All()})
	if ctx.Err() != nil {
		return model.FetchRequest{}, false, fail(exitInterrupted, "interrupted; nothing was sent")
	}
	if err != nil {
		return model.FetchRequest{}, false, usage("%s %s: %w", flag, name, err)
	}
	for _, note := range slices.Concat(got.Replaced, got.Dropped) {
		t.app.say("zonedeck: %s", sanitizeLine(note))
	}
	return got.Request, true, nil
}

// imported reads a curl command or an entry of a HAR file.
func (t *task) imported(in io.Reader, s requestSource, known importers.Known) (importers.Imported, error) {
	if s.har == "" {
		b, err := io.ReadAll(io.LimitReader(in, 1<<20))
		if err != nil {
			return importers.Imported{}, err
		}
		return importers.Curl(string(b), known)
	}
	entries, err := importers.HAR(in)
	if err != nil {
		return importers.Imported{}, err
	}
	switch at := s.entry; {
	case at > len(entries) || at < 0:
		return importers.Imported{}, fmt.Errorf("--entry %d: it has %s", at, text.Counted(len(entries), "request"))
	case at > 0:
		return entries[at-1].Import(known)
	case len(entries) == 1:
		return entries[0].Import(known)
	}
	const most = 20
	var list strings.Builder
	for i, e := range entries[:min(len(entries), most)] {
		fmt.Fprintf(&list, "; %d %s %s", i+1, e.Method, model.Cut(model.Line(e.URL, 100), 100))
	}
	if len(entries) > most {
		fmt.Fprintf(&list, "; and %d more", len(entries)-most)
	}
	return importers.Imported{}, fmt.Errorf("it has %d requests: choose one by --entry N%s", len(entries), list.String())
}

// fill takes from a request the values of flags that were not given.
func (f *requestFlags) fill(r model.FetchRequest, given func(flag string) bool, target *string) error {
	set := func(flag string, into *string, value string) {
		if !given(flag) && value != "" {
			*into = value
		}
	}
	if *target == "" {
		*target = r.URL
	}
	set("zone", &f.zone, string(r.Zone.Name))
	set("via", &f.via, string(r.Via))
	set("format", &f.format, string(r.Format))
	set("key", &f.key, r.Key)
	set("method", &f.method, r.Method)
	set("data", &f.body, r.Body)
	set("country", &f.country, r.Country)
	set("session", &f.session, r.Session)
	set("tool", &f.tool, r.Tool)
	for _, o := range model.AllOptions() {
		if value := o.Value(r.Options); value != "" && !given(o.Flag()) {
			o.Set(&f.options, value)
		}
	}
	if !given("require") {
		f.required = r.Required
	}
	if !given("timeout") {
		f.timeout.d = r.Timeout
	}
	if !given("retries") {
		f.retries = r.Retries
	}
	var own []string // the names of headers given by flags
	for _, h := range f.headers {
		name, _, _ := strings.Cut(h, ":")
		own = append(own, http.CanonicalHeaderKey(strings.TrimSpace(name)))
	}
	for _, line := range text.HeaderLines(r.Header) {
		name, _, _ := strings.Cut(line, ":")
		if !slices.Contains(own, name) {
			f.headers = append(f.headers, line)
		}
	}
	if given("tool") || given("arg") {
		return nil
	}
	var err error
	f.args, err = argFlags(r.Args)
	return err
}

// argFlags converts a tool's arguments, a JSON object or "", to values of --arg.
func argFlags(object string) ([]string, error) {
	if strings.TrimSpace(object) == "" {
		return nil, nil
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &args); err != nil {
		return nil, fmt.Errorf("its arguments are not a JSON object: %w", err)
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value := string(args[name])
		var plain string
		if json.Unmarshal(args[name], &plain) == nil && !json.Valid([]byte(plain)) {
			value = plain
		}
		out = append(out, name+"="+value)
	}
	return out, nil
}
