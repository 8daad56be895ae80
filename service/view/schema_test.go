package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/export"
	"zonedeck/service/local"
)

var update = flag.Bool("update", false, "write the files of docs/schema that follow from the types")

// pages are the files of docs/schema that follow from a type: what prints it, and what it is.
var pages = map[string]struct {
	title, about string
	value        any
}{
	"account":         {"zonedeck account --json", "The account of a profile, as the service shows it to the key. The contract shows none of it: a dialect does.", Account{}},
	"batch":           {"zonedeck batch --json", "A batch as it is now: one that is running and not live is interrupted. cost and max_cost are dollars, null where there is no rate or no cap. remaining are the items without a result that are still sent, answer_lost those that were sent and not answered and wait for a decision.", Batch{}},
	"batch-plan":      {"zonedeck batch --dry-run --json", "A batch that was planned and not begun. cost_estimate is what one try for each item costs at most, null without a rate; first are the first ten requests.", BatchPlan{}},
	"batch-report":    {"zonedeck batch report --json", "What a batch came to by its results. by_rule is the number of the rule that led to the zone, 0 for the batch's own; cost_per_ok has all that was spent in it, also on what failed, and is null where there is no rate.", BatchReport{}},
	"compare-list":    {"zonedeck compare --input FILE --json", "Zones compared over a sample of a list. Costs are in dollars.", CompareList{}},
	"batch-probe":     {"zonedeck batch probe --json", "What a probe of a page found: safe is how many fetches at once, 0 where none is, and wall the least that is too many, null where it was not reached. cost is in dollars, null without a rate.", BatchProbe{}},
	"batches":         {"zonedeck batch list --json", "The batches of this machine, the newest first.", Batches{}},
	"datasets":        {"zonedeck datasets list --json", "The data sets that jobs can be started for, and their inputs. Texts may be the service's.", Catalogue{}},
	"dataset":         {"zonedeck datasets show --json", "The data sets that jobs can be started for, and their inputs. Texts may be the service's.", CatalogueDataset{}},
	"diagnose":        {"zonedeck diagnose FILE --json", "The diagnosis of a saved answer: what request --json says of one.", Diagnosed{}},
	"drift":           {"zonedeck drift list --json, drift accept --json", "The collectors as they stand, those without useful rows first, then those with drift; of accept the one that it is about.", Standings{}},
	"drift-check":     {"zonedeck drift check --json", "What the check of each collector came to.", DriftChecks{}},
	"drift-show":      {"zonedeck drift show --json", "A collector with its fields over its runs, those with findings first.", DriftDetail{}},
	"failure":         {"zonedeck COMMAND --json, where a call of the service failed and there is nothing else to print", "Of commands that ask the service about jobs, data sets or the account. The exit code is that of the diagnosis.", Failure{}},
	"job":             {"zonedeck jobs launch|watch|show|cancel|download|adopt --json", "One job of the ledger. done is null where the service did not say.", JobObject{}},
	"job-event":       {"a line of zonedeck jobs follow --json", "One thing that happened to a job in flight.", JobEvent{}},
	"job-plan":        {"zonedeck jobs launch|relaunch --dry-run --json", "A job that was not launched. rows are its inputs as they would be sent, bad, folded and blank the rows of the source that would not; records_estimate and cost_estimate (dollars) are null where they are not known, and basis says what they rest on; launched_before are jobs of the ledger with the inputs or some of them, newest first: those of the last hour, and those with the very same inputs that run or may have started; needs_again says that one of them has the same inputs, so that a launch needs --again; inputs_unknown are jobs of the last hour and of this data set whose inputs the ledger does not have, newest first: each may have any of these.", JobPlan{}},
	"job-preview":     {"zonedeck jobs launch --preview --json", "What a deep lookup would give, or why that is not known: nothing was launched. Texts are the service's. What a preview costs is not shown by public sources: one that was begun, or may have been, may be billed.", JobPreview{}},
	"jobs":            {"zonedeck jobs list --json", "The jobs of the ledger, newest first.", Jobs{}},
	"jobs-candidates": {"zonedeck jobs settle --json", "The jobs of the service's list that a job that may have started can be, the likeliest first. With --adopt, --find and --not-started the object is that of job.json.", Candidates{}},
	"jobs-remote":     {"zonedeck jobs list --remote --json", "The jobs that the service lists, whoever started them, the newest first.", RemoteJobs{}},
	"jobs-rows":       {"zonedeck jobs rows --json", "The rows and columns of a result on this disk.", Rows{}},
	"keys":            {"zonedeck keys list --json", "The keys with both clocks. Days are null where unknown.", Keys{}},
	"keys-check":      {"zonedeck keys check --json", "The keys, the lint findings, and the exit code of the check.", KeysCheck{}},
	"keys-import":     {"zonedeck keys import --json", "What became of the keys that were imported, by name.", KeysImport{}},
	"keys-lint":       {"zonedeck keys lint --json", "What the rules find wrong with the keys, with the evidence and the fix.", KeysLint{}},
	"keys-rotate":     {"zonedeck keys rotate --json", "The rotation of a key, or of a zone's proxy password, as its record says it now. No value is in it. next says what a person has to do before it goes on.", Rotation{}},
	"keys-uses":       {"zonedeck keys uses NAME --json", "What uses a key, and whether the console can prove it after a rotation.", KeyUses{}},
	"paths":           {"zonedeck paths --json", "Where the files are.", Paths{}},
	"profile":         {"zonedeck profiles add, edit and check --json", "One profile, and the verdict on each of its values.", Profile{}},
	"profiles":        {"zonedeck profiles list --json", "", Profiles{}},
	"profiles-remove": {"zonedeck profiles remove --json", "", ProfileRemoval{}},
	"compare-logins":  {"zonedeck compare --logins --json", "A test of the proxy logins of several zones. baseline is the time of the baseline that it was compared with, null without --baseline compare. A time is null where it was not measured, problem says why a zone was not called.", Logins{}},
	"zones-password":  {"zonedeck zones password --json", "What uses a zone's proxy password, and its rotation as the record says it now. No password is in it. refusal says why it cannot be replaced; steps are empty without --rotate.", Password{}},
	"proxy-test":      {"zonedeck proxy test --json", "A test of a proxy login. sticky is null where it was not tried, took_ms where a step was not measured, trust where no certificate was presented, rotation without --rotation. connect_head is the proxy's answer to CONNECT as it came, a line each. A verdict is unknown where a client's certificates cannot be read.", Probe{}},
	"proxy-url":       {"zonedeck proxy url --json", "A proxy URL. The password is masked unless --reveal.", ProxyURL{}},
	"request":         {"zonedeck request --json", "One fetch and its diagnosis. Times in milliseconds; null means that the phase did not happen.", Fetch{}},
	"rules":           {"zonedeck rules --json", "The operator's rules of diagnosis, in the order in which they are tried.", Rules{}},
	"saved":           {"zonedeck saved list --json", "", SavedRequests{}},
	"secrets":         {"zonedeck secrets list --json", "", Secrets{}},
	"secrets-migrate": {"zonedeck secrets migrate --json", "", SecretMoves{}},
	"diagnose-url":    {"zonedeck diagnose URL --json", "What a few more fetches show about one that was refused. culprit is empty where it is not decided, or where the page was not refused; probes are then none.", Refusal{}},
	"text":            {"zonedeck COMMAND --json", "What a command prints that has no more to say than a text, or says once it is done.", Text{}},
	"version":         {"zonedeck version --json", "The version.", Build{}},
	"webhook":         {"zonedeck webhook show --json", "One webhook of the inbox.", WebhookObject{}},
	"compare":         {"zonedeck compare --json", "One page through several zones and access methods. Times in milliseconds, of a run those of all its attempts with the pauses between them; null means that it was not seen.", export.Comparison{}},
	"emulate":         {"zonedeck emulate --json", "Where the emulator listens, and the logins of the account it plays. Printed on one line when it is ready.", local.Ready{}},
	"webhook-line":    {"a line of zonedeck webhook listen --json", "The first line says where it listens, each other one that a webhook was worked on or came once more.", WebhookObject{}},
	"webhooks":        {"zonedeck webhook list --json", "The newest webhooks of the inbox, newest first.", webhooks{}},
	"webhook-replay":  {"zonedeck webhook replay --json", "A webhook that was sent once more.", WebhookReplay{}},
	"zone":            {"zonedeck zones show --json", "One zone, as the account shows it to the key. The contract shows none of it: a dialect does.", Zone{}},
	"zones":           {"zonedeck zones list --json", "The zones of a profile as the config file has them. Rates are in dollars, null where there is none.", Zones{}},
	"zones-rates":     {"zonedeck zones rates --json", "The rate of each zone, measured by the account's cost of some days: no price list. Both rates are null where none can be told, and problem says why.", Rates{}},
}

// byHand are the files of docs/schema that describe what no type of this package is.
var byHand = []string{"har", "jobs-rows-change", "request-log"}

// enums are the sets that several fields take their values from; a field names one, or lists its values with "|".
var enums = map[string][]string{
	"class":     words(model.Classes()),
	"failure":   words(model.Classes()[1:]),
	"job state": {"accepted", "canceled", "downloaded", "expired", "failed", "intent", "may_have", "not_sent", "ready", "refused", "running", "sending"},
	"via":       {"agent", "api", "browser", "native"},
}

func words[T ~string](all []T) []string {
	var out []string
	for _, w := range all {
		out = append(out, string(w))
	}
	slices.Sort(out)
	return out
}

// patches are what tags do not say.
var patches = map[string]func(*jsonschema.Schema){
	"request": func(s *jsonschema.Schema) {
		s.OneOf = []*jsonschema.Schema{{Required: []string{"body"}}, {Required: []string{"body_base64"}}, {Required: []string{"body_file"}}}
	},
	"compare": func(s *jsonschema.Schema) {
		s.Properties["schema_version"] = &jsonschema.Schema{Const: jsonschema.Ptr[any](SchemaVersion)}
		s.Properties["cells"].MinItems = jsonschema.Ptr(1)
	},
	"emulate": func(s *jsonschema.Schema) {
		s.Properties["schema_version"] = &jsonschema.Schema{Const: jsonschema.Ptr[any](SchemaVersion)}
	},
	"job-event": func(s *jsonschema.Schema) {
		s.Properties["job"] = &jsonschema.Schema{Type: "object", Description: "The job as in job.json, without schema_version."}
	},
	"job-plan":    func(s *jsonschema.Schema) { s.Properties["rows"].Items.Type = "object" },
	"job-preview": func(s *jsonschema.Schema) { s.Properties["rows"].Items = nil },
	"datasets":    func(s *jsonschema.Schema) { s.Properties["source"].Enum = []any{"builtin", "service"} },
	"dataset": func(s *jsonschema.Schema) {
		s.Properties["problem"].Description = "why the service was not asked, that it did not answer as it should, or that its list does not have the data set"
	},
	"webhook": func(s *jsonschema.Schema) {
		delete(s.Properties, "event")
		s.PropertyOrder = slices.DeleteFunc(s.PropertyOrder, func(name string) bool { return name == "event" })
	},
	"webhooks": func(s *jsonschema.Schema) {
		s.Properties["webhooks"].Items.Description = "A webhook as in webhook.json, without schema_version."
	},
	"webhook-line": func(s *jsonschema.Schema) {
		came := s.CloneSchemas()
		came.Required = append(came.Required, "event")
		first, err := jsonschema.For[Listening](options)
		if err != nil {
			panic(err) // of a type that For cannot read
		}
		*s = jsonschema.Schema{OneOf: []*jsonschema.Schema{first, came}}
	},
}

// webhooks are what "webhook list --json" prints, one webhook after the other.
type webhooks struct {
	SchemaVersion Version   `json:"schema_version"`
	Total         int       `json:"total" minimum:"0"`
	Webhooks      []Webhook `json:"webhooks"`
}

var options = &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[Version]():         {Const: jsonschema.Ptr[any](SchemaVersion)},
	reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
}}

// TestTheSchemasFollowFromTheTypes compares docs/schema with the types. What prints an object is its title; the tags of a field
// are its description (jsonschema), minimum, maximum, maxItems, pattern, format, enum, and nullable for a list that may be null.
func TestTheSchemasFollowFromTheTypes(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "schema")
	for name, page := range pages {
		typ := reflect.TypeOf(page.value)
		s, err := jsonschema.ForType(typ, options)
		noerr.Must(t, err)
		describe(t, s, typ)
		if patch, ok := patches[name]; ok {
			patch(s)
		}
		want, file := printed(t, page.title, page.about, s), filepath.Join(dir, name+".json")
		if *update {
			noerr.Must(t, os.WriteFile(file, want, 0o600))
		}
		if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what %s says (%v): go test ./service/view -run TestTheSchemasFollowFromTheTypes -update", file, typ, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	noerr.Must(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if _, follows := pages[name]; !follows && !slices.Contains(byHand, name) {
			t.Errorf("%s describes no type", file)
		}
	}
}

// printed is a file of docs/schema.
func printed(t *testing.T, title, about string, s *jsonschema.Schema) []byte {
	head := struct {
		Schema string `json:"$schema"`
		Title  string `json:"title"`
		About  string `json:"description,omitempty"`
	}{"https://json-schema.org/draft/2020-12/schema", title, about}
	parts := make([]bytes.Buffer, 2)
	for i, part := range []any{head, s} {
		enc := json.NewEncoder(&parts[i])
		enc.SetEscapeHTML(false)
		noerr.Must(t, enc.Encode(part))
	}
	joined := append(bytes.TrimSuffix(parts[0].Bytes(), []byte("}\n")), ',')
	var out bytes.Buffer
	noerr.Must(t, json.Indent(&out, append(joined, parts[1].Bytes()[1:]...), "", "  "))
	return out.Bytes()
}

// describe puts what the tags of a struct say into its schema.
func describe(t *testing.T, s *jsonschema.Schema, typ reflect.Type) {
	for _, f := range reflect.VisibleFields(typ) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		p, at := s.Properties[name], f.Type
		nullable := f.Tag.Get("nullable") != "" || at.Kind() == reflect.Pointer && option == ""
		if at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if p.Types = slices.DeleteFunc(p.Types, func(word string) bool { return word == "null" && !nullable }); len(p.Types) == 1 {
			p.Type, p.Types = p.Types[0], nil
		}
		number := func(tag string) *float64 {
			if f.Tag.Get(tag) == "" {
				return nil
			}
			n, err := strconv.ParseFloat(f.Tag.Get(tag), 64)
			if err != nil {
				t.Fatal(name, err)
			}
			return &n
		}
		if p.Pattern = f.Tag.Get("pattern"); f.Tag.Get("format") != "" {
			p.Format = f.Tag.Get("format")
		}
		if n := number("maxItems"); n != nil {
			p.MaxItems = jsonschema.Ptr(int(*n))
		}
		if words := f.Tag.Get("enum"); words != "" {
			enumerate(p, words, at.Kind() == reflect.Int, nullable)
		}
		if at.Kind() == reflect.Map {
			p, at = p.AdditionalProperties, at.Elem()
			p.Type, p.Types = cmp.Or(p.Type, strings.Join(slices.DeleteFunc(p.Types, func(word string) bool { return word == "null" }), "")), nil
		}
		for at.Kind() == reflect.Slice && p.Items != nil {
			p, at = p.Items, at.Elem()
		}
		p.Minimum, p.Maximum = number("minimum"), number("maximum")
		if at.Kind() == reflect.Struct && len(p.Properties) > 0 {
			describe(t, p, at)
		}
	}
	if typ == reflect.TypeFor[Fault]() || typ == reflect.TypeFor[JobFault]() {
		s.Properties["class"].Enum = nil
		enumerate(s.Properties["class"], "failure", false, false)
	}
}

// enumerate gives a field its values.
func enumerate(p *jsonschema.Schema, words string, numbers, nullable bool) {
	all, named := enums[words]
	if !named {
		all = strings.Split(words, "|")
	}
	p.Type, p.Types = "", nil
	for _, word := range all {
		if n, err := strconv.Atoi(word); numbers && err == nil {
			p.Enum = append(p.Enum, n)
		} else {
			p.Enum = append(p.Enum, word)
		}
	}
	if nullable {
		p.Enum = append(p.Enum, nil)
	}
}
