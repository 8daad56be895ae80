package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/fetch"
	"zonedeck/service/keys"
	"zonedeck/service/view"
)

type requestFlags struct {
	composedFlags
	Output string `flag:"output" takes:"output" short:"o" help:"file for the body"`
	Raw    bool   `flag:"raw" help:"write the body as it came, even on a terminal, where control characters then act"`
}

// composedFlags are a whole request.
type composedFlags struct {
	askFlags
	Zone    string   `flag:"zone" takes:"zone" help:"zone to use (required, except for agent access)"`
	Via     string   `flag:"via" takes:"api|native|agent|browser" default:"api" help:"access method: api, native, agent (a tool of the MCP endpoint) or browser (a screenshot)"`
	Tool    string   `flag:"tool" help:"tool of agent access (default: the one that fetches a page)"`
	Args    []string `flag:"arg" help:"argument of the tool, as name=value (repeatable)"`
	Session string   `flag:"session" help:"session that keeps an exit (not shown by the contract)"`
	requestSource
	Given givenFlags `flag:"*"`
}

// formFlags say what is sent to the target, and what must come back.
type formFlags struct {
	Format   string       `flag:"format" takes:"raw|json" default:"raw" help:"answer format: raw or json (json is not shown by the contract)"`
	Country  string       `flag:"country" help:"two-letter country code"`
	Key      string       `flag:"key" takes:"key" help:"name of the key in the inventory"`
	Method   string       `flag:"method" short:"X" help:"method of the request to the target"`
	Headers  []string     `flag:"header" short:"H" help:"header for the target, as 'Name: value' (repeatable)"`
	Body     string       `flag:"data" takes:"data" short:"d" help:"body for the target; @FILE is that of a file, - that of standard input"`
	Required []string     `flag:"require" help:"field that must be present: a CSS selector, or a path into JSON (repeatable)"`
	Vars     []string     `flag:"var" help:"value of a variable {{name}}, as name=value (repeatable)"`
	Timeout  durationFlag `flag:"timeout" help:"longest time for one attempt (default: the product's)"`
	Options  optionFlags  `flag:"*"`
}

// askFlags say what is sent, and how often.
type askFlags struct {
	formFlags
	Retries int `flag:"retries" help:"retries to make if the class of the failure allows them; -1 for the usual number, 3"`
	reasonFlag
	jsonFlag
}

func (f askFlags) needs() needs {
	return needs{key: f.Key, journal: true, rules: true, reason: f.Reason}
}

func (a *app) requestCommand() *cobra.Command {
	return command(a, spec[requestFlags]{
		use:   "request [URL]",
		short: "Fetch one page through a zone and say how it went",
		long: `Fetches one page: by API, through the proxy, by a tool of agent access, or in
the remote browser, whose screenshot is then the body.

The body goes to stdout or to the file of -o, the verdict to stderr, and the
exit code is the class of the failure. With --json, one object on stdout holds
both. On a terminal, control characters of the body are shown and not obeyed,
unless you give --raw.

You may leave out the URL where --query says what to search for, or --tool what
to call. A value of --arg that is a JSON number, true, false, null, a list or an
object is sent as that, any other as text; 'n="5"' is the text 5.

--curl, --har, --saved, --template and --fetch fill in what their request says;
flags beside them win. {{name}} in a request is a variable: its value comes from --var, the
profile or the environment. -d @FILE takes the body from a file, -d - from
standard input, without its line ends, as curl does.`,
		defaults: requestFlags{composedFlags: composedFlags{askFlags: askFlags{Retries: -1}}},
		unless:   "query tool curl har saved template fetch",
		run: func(ctx context.Context, t *task, f requestFlags, args []string) (printed, error) {
			target := firstOf(args)
			if err := t.compose(ctx, f.Given.has, &target, &f.composedFlags, false); err != nil {
				return printed{}, err
			}
			return printed{}, t.request(ctx, target, f)
		},
	})
}

// maxDataFile bounds a body that --data takes from a file, in bytes.
const maxDataFile = 16 << 20

// dataOf is what --data names: a file behind an @, standard input for - and @-, or the text itself. As with curl, line ends and
// zero bytes of a file are left out, and nothing in it is a variable.
func (a *app) dataOf(ctx context.Context, value string) (string, error) {
	name, is := strings.CutPrefix(value, "@")
	if !is && value != "-" {
		return value, nil
	}
	b, err := a.read(ctx, "--data", name, maxDataFile)
	if err != nil {
		return "", err
	}
	return model.WithoutVariables(strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(string(b))), nil
}

// optionFlags are the flags of the products' options.
type optionFlags struct{ model.Options }

func (o *optionFlags) addTo(cmd *cobra.Command) {
	for _, option := range model.AllOptions() {
		cmd.Flags().VarPF(optionFlag{option, &o.Options}, option.Flag(), "", optionUsage(option)).NoOptDefVal = option.Bare()
		words := cobra.FixedCompletions(option.Choices, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
		if err := cmd.RegisterFlagCompletionFunc(option.Flag(), words); err != nil {
			panic(err) // the flag is there
		}
	}
}

// optionFlag is the flag of a product's option.
type optionFlag struct {
	option model.Option
	all    *model.Options
}

func (o optionFlag) Set(s string) error {
	o.option.Set(o.all, s)
	return o.option.Check(*o.all)
}

func (o optionFlag) String() string {
	if o.all == nil {
		return ""
	}
	return o.option.Value(*o.all)
}

func (o optionFlag) Type() string {
	if o.option.Switch {
		return "bool"
	}
	return "string"
}

func optionUsage(o model.Option) string {
	help := strings.ToLower(o.Help[:1]) + strings.TrimSuffix(o.Help[1:], ".")
	if o.Choices != nil {
		help += " (" + strings.Join(o.Choices, ", ") + ")"
	}
	return fmt.Sprintf("%s: %s", o.Product, help)
}

func (t *task) request(ctx context.Context, target string, f requestFlags) error {
	req, err := t.fetchRequest(ctx, target, f.composedFlags)
	if err != nil {
		return err
	}
	dest, err := t.app.destination(f.Output)
	if err == nil {
		err = dest.checkFailed()
	}
	if err != nil {
		return err
	}
	if f.JSON && f.Output != "" && dest.stream != nil {
		return usage("-o %s and --json both want standard output: name a file, or leave one out", f.Output)
	}
	dest.visible, req.BodyFile = dest.visible && !f.Raw, dest.file
	var waiting fetchWait
	line := t.app.wait(waiting.text)
	result, err := t.Fetch.Fetch(ctx, req, func(e fetch.Event) { waiting.follow(t.app, line, e) })
	line.stop()
	if err != nil {
		return fetchError(ctx, err)
	}
	if err := t.reportFetch(ctx, result, dest, f); err != nil {
		return err
	}
	return exit(fetchExit(result))
}

// fetchError is the exit for a fetch that returned no result.
func fetchError(ctx context.Context, err error) error {
	var admin *keys.AdminError
	switch {
	case ctx.Err() != nil:
		return fail(ExitInterrupted, "interrupted")
	case errors.Is(err, keystore.ErrSecretMissing), errors.Is(err, keystore.ErrKeyValue), errors.Is(err, model.ErrRequest):
		return usage("%w", err)
	case errors.As(err, &admin):
		return fail(exitLint, "%w", err)
	default:
		return err
	}
}

// fetchRequest builds the request from the flags. Its error names all mistakes in them.
func (t *task) fetchRequest(ctx context.Context, target string, f composedFlags) (model.FetchRequest, error) {
	d, wrong := t.composed(target, f)
	_, r, _, err := t.checked(ctx, f.askFlags, d, f.Tool != "", wrong...)
	return r, err
}

// composed is the draft of the flags, and what is wrong with them.
func (t *task) composed(target string, f composedFlags) (fetch.Draft, []error) {
	d := f.draft(target)
	via, wrong := model.ParseVia(f.Via)
	if wrong != nil {
		wrong = fmt.Errorf("--via %w", wrong)
	}
	var zone error
	if f.Zone == "" && via != model.ViaAgent {
		zone = errors.New("--zone is missing: name the zone to fetch through")
	}
	if values, err := f.values(); err == nil && len(f.Args) > 0 { // a value decides whether its argument is JSON
		filled, open := model.FetchRequest{Args: strings.Join(f.Args, textBreak)}.Resolve(flagVariables{values, t}.Variable)
		if open == nil {
			f.Args = strings.Split(model.WithoutVariables(filled.Args), textBreak)
		}
	}
	args, badArgs := f.toolArgs(via)
	d.Request.Via, d.Request.Tool, d.Request.Args, d.Request.Zone.Name, d.Request.Session = via, f.Tool, args, model.ZoneName(f.Zone), f.Session
	return d, []error{zone, wrong, badArgs}
}

// toolArgs returns the arguments of --arg as a JSON object, "" without a tool.
func (f composedFlags) toolArgs(via model.Via) (string, error) {
	switch {
	case f.Zone != "" && via == model.ViaAgent:
		return "", errors.New("--zone: by agent access the service chooses the zone; leave it out")
	case (f.Tool != "" || len(f.Args) > 0) && via != model.ViaAgent:
		return "", errors.New("--tool and --arg need --via agent")
	case len(f.Args) > 0 && f.Tool == "":
		return "", errors.New("--arg needs --tool")
	case f.Tool == "":
		return "", nil
	}
	args := map[string]any{}
	for _, a := range f.Args {
		name, value, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			return "", fmt.Errorf("--arg %q: write it as name=value", a)
		}
		if json.Unmarshal([]byte(value), new(any)) == nil {
			args[name] = json.RawMessage(value)
		} else {
			args[name] = value
		}
	}
	raw, err := json.Marshal(args)
	return string(raw), err
}

// draft is the request of the flags, without zone and access method.
func (f askFlags) draft(target string) fetch.Draft {
	return fetch.Draft{Headers: f.Headers, Request: model.FetchRequest{
		URL: target, Format: model.Format(f.Format), Method: f.Method, Body: f.Body, Country: f.Country, Key: f.Key,
		Required: f.Required, Timeout: f.Timeout.d, Retries: f.Retries, Options: f.Options.Options,
	}}
}

// reportFetch writes the body and the verdict.
func (t *task) reportFetch(ctx context.Context, r model.FetchResult, dest destination, f requestFlags) error {
	a := t.app
	place := dest.name
	if f.Output != "" || !f.JSON {
		var err error
		if place, err = dest.keep(ctx, r.Body, fetchExit(r) == exitOK); err != nil {
			a.verdict(exitState, verdict(r)) // the page arrived and was paid for
			return err
		}
	}
	if place != dest.name {
		a.warn("-o %s: the file that is there stays, because the fetch did not succeed; what came is in %s", f.Output, place)
	}
	if r.Body.Cut {
		a.warn("the body was cut after %d bytes, and the rest is lost: %s", r.Body.Size, cutReason(r))
		if r.Body.File == "" && f.Output == "" {
			a.say("zonedeck: with -o FILE a body goes to that file and needs no cache")
		}
	}
	if f.JSON {
		out := view.NewFetch(r)
		out.Profile = t.CurrentProfile().Name
		if r.KeyName == service.EnvKey {
			out.KeyReplaces = t.Keys.Replaced()
		}
		if f.Output != "" {
			out.BodyFile = place
		} else {
			attachBody(&out, r.Body, t.Paths.BodiesDir())
		}
		return a.printJSON(out)
	}
	a.verdict(fetchExit(r), verdict(r))
	if r.Diagnosis.OK() {
		for _, e := range r.Diagnosis.Evidence {
			if note := e.Note(); note != "" {
				a.say("  note      %s", note)
			}
		}
	} else {
		t.sayWhy(r.Diagnosis, r.KeyName)
	}
	return nil
}

// sayWhy prints the evidence of a verdict on a call with a key, and what to do next.
func (t *task) sayWhy(d model.Diagnosis, key string) {
	for _, e := range d.Evidence {
		t.app.say("  evidence  %s", e.Text)
	}
	for _, st := range d.Steps {
		t.app.say("  do next   %s", st.Text)
	}
	k, known := t.Keys.Key(key)
	if !known || d.Cause != model.CauseKeyRejected {
		return
	}
	if running, ok, _ := t.Rotations(nil).UnderWay(k.Name); ok { // an unreadable record may belong to another key
		t.app.say("  do next   %s is being rotated by %s: '%s' goes on with it", k.Name, running.Method, keys.GoOnWith(running))
	}
}

// cutReason says why a body was cut.
func cutReason(r model.FetchResult) string {
	for _, e := range r.Diagnosis.Evidence {
		if e.Kind == "error" {
			return e.Text
		}
	}
	return "it is larger than the cap"
}

// verdict is one line: class, status, access method, time and size.
func verdict(r model.FetchResult) string {
	line := model.ClassWord(r.Diagnosis.Class, r.Diagnosis.Cause)
	if !r.Diagnosis.OK() && r.Diagnosis.Summary != "" {
		line += ": " + r.Diagnosis.Summary
	}
	status := fmt.Sprintf("status %d", r.Status)
	switch {
	case r.Status == 0 && r.Diagnosis.OK():
		status = fmt.Sprintf("service %d, the target's status is not shown", r.ServiceStatus)
	case r.Status == 0 && r.ServiceStatus > 0:
		status = fmt.Sprintf("service %d", r.ServiceStatus)
	case r.Status == 0:
		status = "no answer"
	}
	cost := model.CostWords(r.Cost())
	if cost != "unpriced" {
		cost += " by your rate"
	}
	return fmt.Sprintf("%s (%s, %s, %d ms, %d bytes, attempt %d, %s)", line, status, r.Request.Via, r.Timing.Total.Milliseconds(), r.Body.Size, len(r.Attempts), cost)
}

// attachBody adds a body to the JSON: inline if it is UTF-8 of at most 64 KiB, else
// as a file name. It writes a body in memory to dir; if that fails, it includes the
// body all the same, because it may have been paid for.
func attachBody(f *view.Fetch, b model.BodyRef, dir string) {
	text := utf8.Valid(b.Bytes)
	f.BodyFile = b.File
	if name := filepath.Join(dir, b.SHA256); b.File == "" && (!text || len(b.Bytes) > inlineBody) && textfile.Write(name, b.Bytes) == nil {
		f.BodyFile = name
	}
	switch body := string(b.Bytes); {
	case f.BodyFile != "":
	case text:
		f.Body = &body
	default:
		f.BodyBase64 = b.Bytes
	}
}

// inlineBody is the largest body included in the JSON.
const inlineBody = 64 << 10
