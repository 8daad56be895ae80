package jobs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Fields of the dialog that depend on the data set, and those of a job's settings, by the names that a Draft's have in errors.
const (
	fieldDiscover = "discover"
	fieldMore     = "more"
	fieldColumns  = "columns"
	fieldSample   = "sample"
	fieldSaveList = "save_list"
	fieldPerInput = "limit_per_input"
	fieldTotal    = "limit_total"
	fieldMaxCost  = "max_cost"
	fieldNotify   = "notify"
	fieldEndpoint = "endpoint"
	fieldAuth     = "auth_header"
	fieldFormat   = "format"
	fieldPlain    = "plain"
)

// collected is the value of fieldDiscover for a job that discovers nothing.
const collected = "collect"

// dataset is the data set that the form names, if the list has it.
func (l *launch) dataset() (model.Dataset, bool) {
	name := strings.TrimSpace(l.form.Value(fieldDataset))
	i := slices.IndexFunc(l.m.dataSets.listing.Datasets, func(c model.Dataset) bool { return c.Known(name) })
	if name == "" || i < 0 {
		return model.Dataset{}, false
	}
	return l.m.dataSets.listing.Datasets[i], true
}

// describe fits the form to the data set: its ways to collect, and what a row needs.
func (l *launch) describe() {
	c, known := l.dataset()
	help, listing := "", l.m.dataSets.listing
	if n := len(listing.Datasets); n > 0 {
		help = fmt.Sprintf("%s lists %d data sets: %s.", l.m.deps.Theme.Key("launch.data-sets"), n, listing.Origin(l.m.deps.Clock.Now()))
		if listing.Problem != "" {
			problem := text.Clean(listing.Problem)
			if d, ok := service.Verdict(listing.Err); ok {
				problem += " (" + model.ClassWord(d.Class, d.Cause) + ")"
			}
			help += " " + problem + "."
		}
	}
	if known {
		help = text.Clean(c.Title()) + ". " + help
	}
	if help != "" {
		l.form.SetHelp(fieldDataset, help, false)
	}
	if l.describeWays(c, known); !known && l.base.Settings.Discover != "" {
		return
	}
	way, err := c.Method(l.discover())
	shown := known && err == nil && way.FieldsKnown()
	l.shapeTyped(c.ID, way, shown)
	l.way = way
	l.form.SetPlaceholder(fieldPaste, pasteWords(way, shown))
	if !shown {
		l.form.SetHelp(fieldPaste, rowsHelp, false)
		l.form.SetHelp(fieldPath, pathHelp, false)
		return
	}
	needs := "Rows: " + fieldWords(way.Fields) + "."
	l.form.SetHelp(fieldPaste, needs, false)
	l.form.SetHelp(fieldPath, needs+" list:NAME is a saved list.", false)
}

// pasteWords say what is pasted for a way to collect, in whose field the lines of a text go.
func pasteWords(way model.CollectMethod, shown bool) string {
	var required []string
	for _, f := range way.Fields {
		if f.Required {
			required = append(required, text.Clean(f.Name))
		}
	}
	switch {
	case !shown || slices.Contains(required, "url") || len(required) == 0:
		return "one URL per line, or CSV, JSON, NDJSON with url"
	case len(required) == 1:
		return fmt.Sprintf("one %[1]s per line, or CSV, JSON, NDJSON with %[1]s", required[0])
	default:
		return "CSV, JSON or NDJSON with " + strings.Join(required, ", ")
	}
}

// describeWays offers the ways to collect.
func (l *launch) describeWays(c model.Dataset, known bool) {
	if base := l.base.Settings.Discover; !known && base != "" && l.form.Value(fieldDiscover) == base {
		l.form.SetOptions(fieldDiscover, []widget.Option{{Value: base, Label: "discover by " + text.Clean(base)}})
		l.form.SetHidden(fieldDiscover, false)
		return // what a job asked for, of a data set that is not listed
	}
	options := make([]widget.Option, 0, len(c.Methods))
	for _, way := range c.Methods {
		options = append(options, widget.Option{Value: wayValue(way.Discover), Label: text.Clean(way.Label())})
	}
	l.form.SetHidden(fieldDiscover, len(options) == 0 || len(options) == 1 && c.Methods[0].Discover == "")
	l.form.SetOptions(fieldDiscover, options)
	if !slices.ContainsFunc(options, func(o widget.Option) bool { return o.Value == l.form.Value(fieldDiscover) }) {
		first := ""
		if len(options) > 0 {
			first = options[0].Value
		}
		l.form.SetValue(fieldDiscover, first)
	}
}

// unlisted says that no list has the identifier of the form.
func (l *launch) unlisted() string {
	id, listing := strings.TrimSpace(l.form.Value(fieldDataset)), l.m.dataSets.listing
	if len(listing.Datasets) == 0 || !listing.Lacks(id) {
		return ""
	}
	return "! not in " + listing.Origin(l.m.deps.Clock.Now()) + ": the inputs are unknown"
}

// costs say how the way to collect may cost more than its inputs suggest, unless a limit is set.
func (l *launch) costs() string {
	cost := l.way.Cost()
	if cost == "" || l.form.Value(fieldPerInput) != "" || l.form.Value(fieldTotal) != "" {
		return ""
	}
	if bound := l.way.Bound; bound != "" {
		if l.form.Value(fieldSource) != sourceTyped || l.form.Value(typedField+bound) != "" {
			return "" // other sources may set it for themselves: the check says what it costs
		}
		return "! " + text.Clean(cost)
	}
	return "! " + text.Clean(l.way.Label()) + " costs: " + cost + " (More)"
}

const (
	rowsHelp = "One URL per line, CSV with a url column, a JSON array or NDJSON."
	pathHelp = "Path of a CSV, JSON, NDJSON or text file; list:NAME is a saved list."
)

// wayValue is a discovery as a value of the form.
func wayValue(discover string) string {
	if discover == "" {
		return collected
	}
	return discover
}

// fieldWords are the fields of an input: those that are required, then the others, with what
// they take and their defaults.
func fieldWords(fields []model.InputField) string {
	if len(fields) == 0 {
		return "no field"
	}
	var required, optional []string
	for _, f := range fields {
		word := text.Clean(f.Name)
		if f.Type != "" && f.Type != "text" && f.Type != f.Name {
			word += " (" + text.Clean(f.Type) + ")"
		}
		if f.Default != "" {
			word += "=" + text.Clean(f.Default)
		}
		if f.Required {
			required = append(required, word)
		} else {
			optional = append(optional, word)
		}
	}
	out := "nothing required"
	if len(required) > 0 {
		out = strings.Join(required, ", ") + " required"
	}
	if len(optional) > 0 {
		out += "; optional " + strings.Join(optional, ", ")
	}
	return out
}

// discover is the discovery of the form, "" to collect.
func (l *launch) discover() string {
	if v := l.form.Value(fieldDiscover); v != collected {
		return v
	}
	return ""
}

// settingFields are the fields behind "more".
func settingFields() []widget.Field {
	count := func(s string) error {
		if n, err := strconv.Atoi(s); s != "" && (err != nil || n < 1) {
			return errors.New("type a number from 1, or leave it empty")
		}
		return nil
	}
	address := func(s string) error {
		if s == "" || s == model.InboxEndpoint {
			return nil
		}
		_, err := model.ParseTarget(s)
		return err
	}
	formats := []widget.Option{{Value: "", Label: "the service's"}}
	for _, f := range model.DeliveryFormats() {
		formats = append(formats, widget.Option{Value: f})
	}
	return []widget.Field{
		{Name: fieldMore, Label: "More", Kind: widget.FieldToggle, Help: "Limits, a sample, the columns of a CSV, notifications and deliveries."},
		{Name: fieldPerInput, Label: "Per input", Hidden: true, Placeholder: "no limit", Help: "The most records per input: each is billed.", Check: count},
		{Name: fieldTotal, Label: "In all", Hidden: true, Placeholder: "no limit", Help: "The most records of the job: each is billed.", Check: count},
		{Name: fieldMaxCost, Label: "Cap, $", Hidden: true, Placeholder: "the profile's", Help: "The job is refused if its highest estimate is more than this, or unknown.", Check: func(s string) error {
			if n, err := strconv.ParseFloat(s, 64); s != "" && (err != nil || !(n > 0) || math.IsInf(n, 0)) {
				return errors.New("type dollars above 0, or leave it empty")
			}
			return nil
		}},
		{Name: fieldSample, Label: "Sample", Hidden: true, Placeholder: "all rows", Help: "Launch only the first rows that are not left out; all rows are checked.", Check: count},
		{Name: fieldSaveList, Label: "Save as", Hidden: true, Placeholder: "not saved", Help: "Keep all good rows under this name for list:NAME; an existing list is not replaced.", Check: func(s string) error {
			if s == "" {
				return nil
			}
			return service.CheckListName(s)
		}},
		{Name: fieldColumns, Label: "Columns", Hidden: true, Placeholder: "by their header", Help: "Columns of a CSV and the fields they fill: Term=keyword, note=", Check: func(s string) error {
			_, err := columnMap(s)
			return err
		}},
		{Name: fieldNotify, Label: "Notify", Hidden: true, Placeholder: "nobody", Help: "An address to call when the job has ended; inbox stands for the console's inbox.", Check: address},
		{Name: fieldEndpoint, Label: "Endpoint", Hidden: true, Placeholder: "nowhere", Help: "An address to send the records to; inbox stands for the console's inbox.", Check: address},
		{
			Name: fieldAuth, Label: "Auth", Hidden: true, Placeholder: "none", Check: kit.CheckRef,
			Help: "A reference (env:, keyring:, file:, cmd:) to the whole Authorization header that these addresses get.",
		},
		{Name: fieldFormat, Label: "Format", Kind: widget.FieldChoice, Hidden: true, Options: formats, Help: "The format of the records sent to the endpoint."},
		{Name: fieldPlain, Label: "Plain", Kind: widget.FieldToggle, Hidden: true, Help: "Send records to the endpoint without compression."},
	}
}

// columnMap reads pairs like Term=keyword, note=.
func columnMap(s string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, field, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		if _, twice := out[name]; !ok || name == "" || twice {
			return nil, errors.New("write column=field, each column once, separated by commas")
		}
		out[name] = strings.TrimSpace(field)
	}
	return out, nil
}

// showSettings shows or hides the fields behind "more".
func (l *launch) showSettings() {
	can := l.m.session.Profile.Can
	sent := can.Sends().JobSettings
	on := l.form.On(fieldMore)
	product := l.way.Bound != "" // it takes no other settings, and has its bound among its fields
	for _, name := range []string{fieldSample, fieldSaveList, fieldColumns, fieldMaxCost} {
		l.form.SetHidden(name, !on)
	}
	l.form.SetHidden(fieldTotal, !on || !sent)
	for _, name := range []string{fieldPerInput, fieldNotify, fieldEndpoint} {
		l.form.SetHidden(name, !on || !sent || product)
	}
	for _, name := range []string{fieldFormat, fieldPlain} {
		l.form.SetHidden(name, !on || !sent || product || strings.TrimSpace(l.form.Value(fieldEndpoint)) == "")
	}
	called := strings.TrimSpace(l.form.Value(fieldNotify)+l.form.Value(fieldEndpoint)) != ""
	l.form.SetHidden(fieldAuth, !on && !l.inbox.auth || !sent || product || !called)
	_, named := can.ProductOf(strings.TrimSpace(l.form.Value(fieldDataset))) // before its list is there
	l.showInbox(sent, product || named)
}

// draft is what the form asks for besides its rows. The form was checked.
func (l *launch) draft() service.Draft {
	number := func(name string) int {
		n, _ := strconv.Atoi(l.form.Value(name))
		return n
	}
	d := service.Draft{
		Dataset: strings.TrimSpace(l.form.Value(fieldDataset)), Key: l.form.Value(fieldKey), Repeats: l.base.Repeats,
		Sample: number(fieldSample), SaveList: strings.TrimSpace(l.form.Value(fieldSaveList)),
		Settings: model.JobSettings{
			Discover: l.discover(), LimitPerInput: number(fieldPerInput), LimitTotal: number(fieldTotal),
			Notify: l.notify(), Endpoint: strings.TrimSpace(l.form.Value(fieldEndpoint)),
		},
	}
	d.MaxCost, _ = strconv.ParseFloat(l.form.Value(fieldMaxCost), 64)
	if d.Settings.Notify+d.Settings.Endpoint != "" {
		d.Settings.Auth = strings.TrimSpace(l.form.Value(fieldAuth))
	}
	if d.Settings.Endpoint != "" {
		d.Settings.Format, d.Settings.Plain = l.form.Value(fieldFormat), l.form.On(fieldPlain)
	}
	return d
}

// estimateLine is the estimate in a line of the form.
func estimateLine(e service.Estimate) string { return text.Clean(e.String()) }
