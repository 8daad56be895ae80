package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/fetch"
	"zonedeck/service/importers"
	"zonedeck/service/saved"
	"zonedeck/ui/kit/text"
)

// requestSource says where to take a request from, in addition to the flags.
type requestSource struct {
	Curl     string `flag:"curl" takes:"file" help:"take the request from this curl command, or the one in this file; - for standard input"`
	HAR      string `flag:"har" takes:"file" help:"take the request from this HAR file; - for standard input"`
	Entry    int    `flag:"entry" help:"which entry of the HAR file, counting from 1 (needed if it has several)"`
	Saved    string `flag:"saved" takes:"request" help:"take the request from this saved one"`
	Fetch    string `flag:"fetch" takes:"fetch" help:"take the request from this fetch of the history, as 'request --json' names it"`
	Template string `flag:"template" takes:"file" help:"take the request from this file, written as requests are saved or as a curl command, with {{name}} as variables; - for standard input"`
}

// compose fills flags that were not given from the source.
func (t *task) compose(ctx context.Context, given func(flag string) bool, target *string, f *composedFlags, columns bool) error {
	whole := slices.DeleteFunc([]string{f.Curl, f.HAR, f.Saved, f.Template, f.Fetch}, func(s string) bool { return s == "" })
	if len(whole) > 1 {
		return usage("--curl, --har, --saved, --template and --fetch are each a whole request: give one of them")
	}
	if f.Entry != 0 && f.HAR == "" {
		return usage("--entry needs --har")
	}
	r, is, err := t.sourced(ctx, f.requestSource, columns)
	if err != nil {
		return err
	}
	if is {
		if err := f.fill(r, given, target); err != nil {
			return usage("%w", err)
		}
	}
	return nil
}

// sourced returns the request of the source, if one is named; columns says that {{name}} in it is one of a batch. It says what was replaced or dropped.
func (t *task) sourced(ctx context.Context, s requestSource, columns bool) (model.FetchRequest, bool, error) {
	switch {
	case s.Saved != "":
		r, err := saved.New(t.Paths.RequestsDir()).Load(ctx, s.Saved)
		if err != nil {
			return r, false, usage("%w", err)
		}
		return r, true, nil
	case s.Fetch != "":
		return t.sentBefore(ctx, s.Fetch)
	case s.Curl+s.HAR+s.Template == "":
		return model.FetchRequest{}, false, nil
	}
	name, place := cmp.Or(s.Curl, s.HAR, s.Template), "--curl "+s.Curl // one of them is given
	switch name {
	case s.HAR:
		place = "--har " + name
	case s.Template:
		place = "--template"
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return model.FetchRequest{}, false, fail(exitState, "%w", err)
	}
	var in io.ReadCloser
	if importers.IsCurl(s.Curl) {
		in, place = io.NopCloser(strings.NewReader(s.Curl)), "--curl" // it may hold secrets
	} else if in, err = t.app.open(ctx, name); err != nil {
		return model.FetchRequest{}, false, usage("%s: %w", strings.Fields(place)[0], err)
	}
	defer in.Close()
	got, err := t.imported(in, s, importers.Known{Profile: p, Keys: t.Keys.Inventory().All(), Columns: columns})
	if ctx.Err() != nil {
		return model.FetchRequest{}, false, fail(ExitInterrupted, "interrupted; nothing was sent")
	}
	if err != nil {
		return model.FetchRequest{}, false, usage("%s: %w", place, err)
	}
	for _, note := range got.Replaced {
		t.app.say("zonedeck: %s", note)
	}
	for _, note := range got.Dropped {
		t.app.warn("%s", note)
	}
	return got.Request, true, nil
}

// sentBefore is the request of a fetch in the history, without the secrets that the history does not keep. Its texts were
// sent as they are: nothing in them is a variable.
func (t *task) sentBefore(ctx context.Context, id string) (model.FetchRequest, bool, error) {
	kept, err := t.History.LoadFetch(ctx, id)
	r := kept.Request
	switch {
	case errors.Is(err, database.ErrNotFound):
		return r, false, usage("--fetch: the history has no fetch %s", id)
	case err != nil:
		return r, false, fail(exitState, "%w", err)
	}
	for name, values := range r.Header {
		if slices.Contains(values, model.Masked) {
			delete(r.Header, name)
			t.app.warn("%s of that fetch was a secret, which the history does not keep: give it by -H", name)
		}
	}
	return r.Template(), true, nil
}

// imported reads a curl command or an entry of a HAR file.
func (t *task) imported(in io.Reader, s requestSource, known importers.Known) (importers.Imported, error) {
	if s.HAR == "" {
		b, err := io.ReadAll(io.LimitReader(in, 1<<20))
		if err != nil {
			return importers.Imported{}, err
		}
		if s.Template != "" {
			return fetch.ReadTemplate(s.Template, string(b), known)
		}
		return importers.Curl(string(b), known)
	}
	entries, err := importers.HAR(in)
	if err != nil {
		return importers.Imported{}, err
	}
	switch at := s.Entry; {
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
func (f *composedFlags) fill(r model.FetchRequest, given func(flag string) bool, target *string) error {
	set := func(flag string, into *string, value string) {
		if !given(flag) && value != "" {
			*into = value
		}
	}
	if *target == "" {
		*target = r.URL
	}
	set("zone", &f.Zone, string(r.Zone.Name))
	set("via", &f.Via, string(r.Via))
	set("format", &f.Format, string(r.Format))
	set("key", &f.Key, r.Key)
	set("method", &f.Method, r.Method)
	set("data", &f.Body, r.Body)
	set("country", &f.Country, r.Country)
	set("session", &f.Session, r.Session)
	set("tool", &f.Tool, r.Tool)
	for _, o := range model.AllOptions() {
		if value := o.Value(r.Options); value != "" && !given(o.Flag()) {
			o.Set(&f.Options.Options, value)
		}
	}
	if !given("require") {
		f.Required = r.Required
	}
	if !given("timeout") {
		f.Timeout.d = r.Timeout
	}
	if !given("retries") {
		f.Retries = r.Retries
	}
	var own []string // the names of headers given by flags
	for _, h := range f.Headers {
		name, _, _ := strings.Cut(h, ":")
		own = append(own, http.CanonicalHeaderKey(strings.TrimSpace(name)))
	}
	for _, line := range text.HeaderLines(r.Header) {
		name, _, _ := strings.Cut(line, ":")
		if !slices.Contains(own, name) {
			f.Headers = append(f.Headers, line)
		}
	}
	if given("tool") || given("arg") {
		return nil
	}
	var err error
	f.Args, err = argFlags(r.Args)
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
