package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

// serveTrigger is POST /datasets/v3/trigger (service.md 4.2). It answers after the
// job is on disk.
func (a *API) serveTrigger(w http.ResponseWriter, r *http.Request) error {
	basis, dataset := answer.BasisTrigger, ""
	if r.URL.RawQuery == "" { // as the contract shows it
		basis, dataset = basisDefault, jobs.DefaultDataset
	}
	spec, err := a.readSpec(w, r, dataset)
	if err != nil {
		return err
	}
	snap, err := a.conf.Jobs.Trigger(spec)
	if err != nil {
		return fmt.Errorf("starting a job: %w", err)
	}
	return give(w, basis, map[string]string{"snapshot_id": snap.ID})
}

// serveScrape is POST /datasets/v3/scrape: a trigger that answers with the records if they
// come in time.
func (a *API) serveScrape(w http.ResponseWriter, r *http.Request) error {
	spec, err := a.readSpec(w, r, "")
	if err != nil {
		return err
	}
	if len(spec.Inputs) > MaxSyncInputs {
		return refused("input", fmt.Sprintf("At most %d inputs; trigger a job for more", MaxSyncInputs))
	}
	snap, err := a.conf.Jobs.Trigger(spec)
	if err != nil {
		return fmt.Errorf("starting a job: %w", err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.conf.SyncWait)
	defer cancel()
	if snap, err = a.conf.Jobs.Wait(ctx, snap.ID); err != nil {
		w.Header().Set("Retry-After", retryAfter)
		answer.JSON(w, http.StatusAccepted, basisScrape, map[string]string{
			"snapshot_id": snap.ID, "status": string(snap.Status),
			"message": "Your request is still in progress; follow the snapshot and download it when it is ready",
		})
		return nil
	}
	// Not Download: it would not find the new snapshot within the grace.
	write, err := a.conf.Jobs.Records(snap.ID, spec.Format, jobs.Slice{})
	if err == nil && snap.Rows() == 0 {
		err = jobs.ErrEmpty
	}
	if err != nil {
		return unusable(snap, err)
	}
	a.send(w, snap.ID, spec.Format, false, basisScrape, write)
	return nil
}

// readSpec reads what a call asks for; dataset is the data set of one that names none.
func (a *API) readSpec(w http.ResponseWriter, r *http.Request, dataset string) (jobs.Spec, error) {
	s := settings{spec: jobs.Spec{Format: "json", Dataset: dataset}, loose: a.conf.Loose}
	q := r.URL.Query()
	s.spec.Via = r.URL.Path + "?" + withoutSecrets(q)
	if name, reason := s.parameters().query(q, s.ignoring()); name != "" {
		return s.spec, refused(name, reason)
	}
	if s.spec.Dataset == "" {
		return s.spec, badRequest("dataset missing")
	}
	d, err := jobs.Find(s.spec.Dataset)
	if err != nil {
		return s.spec, errNoDataset()
	}
	if s.spec.Inputs, err = a.readInputs(w, r, &s); err != nil {
		return s.spec, err
	}
	if err := s.finish(d); err != nil {
		return s.spec, err
	}
	if len(s.spec.Inputs) == 0 {
		return s.spec, badRequest("No data to trigger")
	}
	if err := a.check(&s, s.spec.Inputs); err != nil {
		return s.spec, err
	}
	for _, name := range s.ignored {
		answer.NoteUnknown(w, name)
	}
	return s.spec, nil
}

// check checks every input; the error names the first invalid one.
func (a *API) check(s *settings, inputs []json.RawMessage) error {
	fields, err := jobs.InputFields(s.spec.Dataset, s.spec.Discover)
	switch {
	case errors.Is(err, jobs.ErrNoCollection):
		return badRequest("This dataset does not support collection")
	case errors.Is(err, jobs.ErrNoDiscovery):
		return refused("discover_by", "Unknown value for this dataset")
	case err != nil:
		return err
	}
	const maxLine = 1024
	for _, raw := range inputs {
		faults := jobs.CheckInput(fields, raw, a.conf.Loose)
		if a.conf.Loose {
			for _, name := range jobs.UnknownFields(fields, raw) {
				s.ignore("input." + name)
			}
		}
		if len(faults) == 0 {
			continue
		}
		bad := inputErrors(string(raw[:min(len(raw), maxLine)]))
		for _, f := range faults {
			bad.Errors = append(bad.Errors, [2]string{shortened(f.Field), f.Reason})
		}
		return bad
	}
	return nil
}

// settings are the parts of a job besides its inputs, from query, body and form.
type settings struct {
	spec     jobs.Spec
	loose    bool
	kind     string // the parameter type
	notify   string
	endpoint string
	auth     string
	plain    bool
	ignored  []string // unknown names that a loose service accepts
}

const maxIgnored = 20

// parameters are the settings by name. Settings that this emulator does not support are refused
// by name.
func (s *settings) parameters() parameters {
	return parameters{
		"dataset_id": text(&s.spec.Dataset), "include_errors": truth(&s.spec.IncludeErrors),
		"format":          text(&s.spec.Format, oneOf("Must be one of "+strings.Join(jobs.Formats(), ", "), jobs.Formats()...)),
		"limit_per_input": number(&s.spec.LimitPerInput, 1), "limit_multiple_results": number(&s.spec.LimitTotal, 1),
		"type": text(&s.kind, oneOf("Must be discover_new", "discover_new")), "discover_by": text(&s.spec.Discover),
		"custom_output_fields": func(v string) string {
			s.spec.Fields = strings.Split(v, "|")
			return ""
		},
		"notify": func(v string) string {
			if v == "true" || v == "false" {
				return "" // a notice without an address
			}
			return text(&s.notify, wrongHook)(v)
		},
		"endpoint": text(&s.endpoint, wrongHook), "webhook": text(&s.endpoint, wrongHook), "uncompressed_webhook": truth(&s.plain),
		"auth_header": text(&s.auth, wrongAuth), "webhook_header_Authorization": text(&s.auth, wrongAuth),
		"sdk_function": func(string) string { return "" }, // some public clients send it; it has no meaning
	}
}

func (s *settings) ignoring() func(name string) {
	if s.loose {
		return s.ignore
	}
	return nil
}

// ignore notes an unknown name that is accepted.
func (s *settings) ignore(name string) {
	if name = shortened(name); len(s.ignored) < maxIgnored && !slices.Contains(s.ignored, name) {
		s.ignored = append(s.ignored, name)
	}
}

func wrongHook(v string) (reason string) {
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || len(v) > maxURLBytes {
		return "Must be an absolute http or https address"
	}
	return ""
}

func wrongAuth(v string) (reason string) {
	if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) || len(v) > maxURLBytes {
		return "Must be a header value"
	}
	return ""
}

// finish checks settings that depend on each other, and adds the webhooks.
func (s *settings) finish(d jobs.Dataset) error {
	if (s.kind != "") != (s.spec.Discover != "") {
		return refused("discover_by", "Goes with type=discover_new")
	}
	for _, f := range s.spec.Fields {
		if !d.HasPath(s.spec.Discover, f) {
			return refused("custom_output_fields", fmt.Sprintf("Unknown field %q", f))
		}
	}
	if s.notify != "" {
		s.spec.Hooks = append(s.spec.Hooks, jobs.Hook{Kind: jobs.Notify, URL: s.notify, Auth: s.auth})
	}
	if s.endpoint != "" {
		s.spec.Hooks = append(s.spec.Hooks, jobs.Hook{
			Kind: jobs.Endpoint, URL: s.endpoint, Auth: s.auth, Format: s.spec.Format, Plain: s.plain,
		})
	}
	return nil
}

// withoutSecrets is the query for a job's log. It masks webhooks, and unknown parameters,
// which could be anything.
func withoutSecrets(q url.Values) string {
	kept := url.Values{}
	for name, vs := range q {
		switch name {
		case "dataset_id", "include_errors", "format", "limit_per_input", "limit_multiple_results", "custom_output_fields",
			"type", "discover_by", "uncompressed_webhook":
			kept[name] = vs
		default:
			kept.Set(name, "***")
		}
	}
	return kept.Encode()
}
