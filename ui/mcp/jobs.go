package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/jobs"
	"zonedeck/service/view"
)

// The bounds of the tools about jobs.
const (
	usualJobs, maxJobs = 20, 200
	usualWait, maxWait = 20, 300
	maxInputs          = 10_000
)

func (s *Server) addJobs(srv *sdk.Server) {
	add(s, srv, tool[view.JobsListArgs, view.AgentJobs]{
		name: "jobs_list", help: "List the dataset jobs of the ledger, newest first.", reads: true,
		asks: func(view.JobsListArgs) model.HistoryEntry { return model.HistoryEntry{} }, run: s.listJobs,
	})
	add(s, srv, tool[view.JobsWatchArgs, view.AgentJob]{
		name: "jobs_watch", help: "Wait until a job is ready or has failed, and say how it stands.", reads: true,
		asks: func(in view.JobsWatchArgs) model.HistoryEntry { return model.HistoryEntry{Text: in.ID} }, run: s.watchJob,
	})
	add(s, srv, tool[view.JobsDownloadArgs, view.AgentJob]{
		name: "jobs_download", help: "Download a job's results into a file among the console's downloads, and give their beginning.",
		asks: func(in view.JobsDownloadArgs) model.HistoryEntry { return model.HistoryEntry{Text: in.ID} }, run: s.download,
	})
	if s.c.Rules.Inputs > 0 {
		add(s, srv, tool[view.JobsLaunchArgs, view.AgentJob]{
			name: "jobs_launch", help: "Launch a dataset job. It is billed by the service, and never sent twice by itself.",
			asks: func(in view.JobsLaunchArgs) model.HistoryEntry {
				return model.HistoryEntry{Text: fmt.Sprintf("%s with %d inputs", model.Line(in.Dataset, 60), len(in.Inputs))}
			},
			run: s.launch,
		})
	}
}

func (s *Server) listJobs(ctx context.Context, c *call, in view.JobsListArgs) (view.AgentJobs, string, error) {
	limit, err := bounded("limit", in.Limit, usualJobs, maxJobs)
	if err != nil {
		return view.AgentJobs{}, "", err
	}
	if _, err := c.Recover(ctx); err != nil {
		return view.AgentJobs{}, "", err
	}
	jobs, _, err := c.Jobs(ctx, 0)
	if err != nil {
		return view.AgentJobs{}, "", err
	}
	out := view.AgentJobs{Jobs: []view.AgentJob{}}
	for _, j := range jobs {
		if j.Profile == c.line.Profile && len(out.Jobs) < limit {
			out.Jobs = append(out.Jobs, view.NewAgentJob(j))
		}
	}
	return out, fmt.Sprintf("listed: %d", len(out.Jobs)), nil
}

// job is a job of the profile in use.
func (c *call) job(ctx context.Context, id string) (model.Job, error) {
	if id == "" {
		return model.Job{}, errors.New("id is missing: name a job of jobs_list")
	}
	j, err := c.Job(ctx, id)
	if err == nil && j.Profile != c.line.Profile {
		err = refuse("--profiles", "job %s is not of profile %q", j.ID, c.line.Profile)
	}
	return j, err
}

func (s *Server) watchJob(ctx context.Context, c *call, in view.JobsWatchArgs) (view.AgentJob, string, error) {
	wait, err := bounded("wait_seconds", in.WaitSeconds, usualWait, maxWait)
	if err != nil {
		return view.AgentJob{}, "", err
	}
	j, err := c.job(ctx, in.ID)
	if err != nil {
		return view.AgentJob{}, "", err
	}
	if j.Snapshot != "" && (!j.State.Final() || j.Forgotten()) {
		waiting, cancel := context.WithTimeout(ctx, time.Duration(wait)*time.Second)
		defer cancel()
		if _, err = c.Watch(waiting, j.ID, nil); errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = nil // it still runs
		}
	}
	if err == nil {
		j, err = c.Job(ctx, j.ID)
	}
	return view.NewAgentJob(j), j.Label(), err
}

func (s *Server) download(ctx context.Context, c *call, in view.JobsDownloadArgs) (view.AgentJob, string, error) {
	chars, err := charsOf(in.MaxChars)
	if err != nil {
		return view.AgentJob{}, "", err
	}
	j, err := c.job(ctx, in.ID)
	if err == nil {
		j, err = c.Download(ctx, j.ID, jobs.Destination{Format: cmp.Or(in.Format, "json")}, nil)
	}
	if err != nil {
		return view.AgentJob{}, "", err
	}
	did := fmt.Sprintf("%d bytes in %s", j.Bytes, j.File)
	if seen, err := c.SeeFields(ctx, j.ID, nil); err == nil {
		j = seen
	} else { // it stays due
		did += fmt.Sprintf("; the fields of its rows were not looked at: %v", err)
	}
	if doubt := j.Doubt(); doubt != "" {
		did += "; " + doubt
	}
	out := view.NewAgentJob(j)
	if out.Untrusted.Results, err = beginning(j.File, chars); err != nil {
		return view.AgentJob{}, "", err
	}
	return out, did, nil
}

// beginning are the first characters of a file.
func beginning(file string, chars int) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the results: %w", err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, int64(chars)*4))
	if err != nil {
		return "", fmt.Errorf("read the results: %w", err)
	}
	return firstRunes(string(wholeRunes(head)), chars), nil
}

func (s *Server) launch(ctx context.Context, c *call, in view.JobsLaunchArgs) (view.AgentJob, string, error) {
	if len(in.Inputs) == 0 || len(in.Inputs) > maxInputs {
		return view.AgentJob{}, "", fmt.Errorf("inputs: give 1 to %d", maxInputs)
	}
	inputs := make(jobs.ReadyInputs, len(in.Inputs))
	for i, row := range in.Inputs {
		var err error
		if inputs[i], err = s.input(i+1, row); err != nil {
			return view.AgentJob{}, "", fmt.Errorf("input %d: %w", i+1, err)
		}
	}
	giveBack, err := s.budget.takeInputs(len(inputs))
	if err != nil {
		return view.AgentJob{}, "", err
	}
	out, err := s.launchJob(ctx, c, jobs.Draft{Dataset: in.Dataset, From: inputs, Once: in.Once}, in.Again)
	switch j := out.Job; {
	case j.ID == "", j.State == model.JobNotSent, j.State == model.JobRefused:
		giveBack() // certainly not started
	}
	if open, ok := ask.Missing(err, ask.SameInputs); ok {
		err = fmt.Errorf("%s; nothing was sent; again launches it", open.Text)
	}
	if err != nil {
		return view.AgentJob{}, "", err
	}
	return view.NewAgentJob(out.Job), out.Job.ID + " " + out.Job.State.Label(), nil
}

// launchJob launches a job and, under a cap, takes the upper end of its estimate from it. What a job that was started did cost
// is not known here: it counts as the whole. The job is refused, too, if it may cost more once it is sent. again is the yes to
// the jobs with the same inputs that there are now.
func (s *Server) launchJob(ctx context.Context, c *call, d jobs.Draft, again bool) (out jobs.Launched, err error) {
	r, err := c.Check(ctx, d)
	if err != nil {
		return out, err
	}
	answers := ask.Answers{}.Always(ask.Cost).Always(ask.SharedInputs) // the operator's rules are the yes
	for _, q := range r.Questions {
		if again && q.Kind == ask.SameInputs {
			answers.With(q, ask.Agreed)
		}
	}
	if err := answers.Open(r.Questions); err != nil || !s.c.Rules.Capped {
		if err == nil {
			out, err = c.Launch(ctx, r, answers)
		}
		return out, err
	}
	r.Request.MaxCost, _ = r.Estimate.UpperBound()
	settle, err := s.budget.reserve(r.Estimate.UpperBound())
	if err != nil {
		return out, err
	}
	out, err = c.Launch(ctx, r, answers)
	if j := out.Job; j.ID == "" || j.State == model.JobNotSent || j.State == model.JobRefused {
		settle(0)
	}
	return out, err
}

// input is one input of a job. Every address in it has to be allowed, and where hosts are
// limited it has to have one.
func (s *Server) input(n int, row map[string]any) (model.JobInput, error) {
	in := model.JobInput{Row: n}
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if err := s.addresses(row[name]); err != nil {
			return in, err
		}
		if text, ok := row[name].(string); ok && name == "url" {
			in.URL = text
			continue
		}
		value, err := json.Marshal(row[name])
		if err != nil {
			return in, fmt.Errorf("%s: %w", model.Line(name, 60), err)
		}
		if in.Extra == nil {
			in.Extra = map[string]string{}
		}
		in.Extra[name] = string(value)
	}
	if len(s.c.Rules.Domains) > 0 {
		if in.URL == "" {
			return in, refuse("--allow-domain", "it has no url, so it cannot be told which host it collects from")
		}
		return in, s.c.Rules.target(in.URL)
	}
	return in, nil
}

// addresses refuses a value that holds an address whose host is not allowed.
func (s *Server) addresses(value any) error {
	var err error
	switch v := value.(type) {
	case string:
		if _, bad := model.ParseTarget(v); bad == nil {
			err = s.c.Rules.target(v)
		}
	case []any:
		for _, each := range v {
			err = errors.Join(err, s.addresses(each))
		}
	case map[string]any:
		for _, each := range v {
			err = errors.Join(err, s.addresses(each))
		}
	}
	return err
}
