package model

import (
	"slices"
	"time"
)

// The rules of the verdicts on a job that the service accepted and does not know, or whose result it no longer has.
const (
	RuleJobUnknown    = "job_unknown"    // the service's own words say so
	RuleJobNotFound   = "job_not_found"  // something answers 404 in other words
	RuleResultExpired = "result_expired" // the service had its result, and no longer has it
	RuleJobForgotten  = "job_forgotten"  // the service said so for long enough, and nothing speaks against it
)

// JobUnknown is the verdict on an answer by which a job that the service accepted is not known, by the
// verdict on the answer alone. own says that it is in the service's own words, why what speaks for and
// against it.
func JobUnknown(answer Diagnosis, own bool, why ...Evidence) Diagnosis {
	d := answer
	d.Evidence = append(slices.Clone(d.Evidence), why...)
	again := Step{Action: ActionRetry, Text: "ask again once that is corrected"}
	if !own {
		d.Rule = RuleJobNotFound
		d.Summary = "The 404 is not in the service's words: it says nothing about the job."
		d.Steps = []Step{{Action: ActionCheckNetwork, Text: "check what answers at the profile's base URL"}, again}
		return d
	}
	d.Rule = RuleJobUnknown
	d.Summary = "The service says that it knows no such job."
	d.Steps = []Step{
		{Action: ActionCheckKey, Text: "check that the key is of the account that launched the job"},
		{Action: ActionCheckNetwork, Text: "check the profile's base URL, version and account"},
		again,
	}
	return d
}

// ResultExpired is the verdict on an answer by which the service no longer has a job's result, by the verdict on
// the answer alone.
func ResultExpired(answer Diagnosis) Diagnosis {
	d := answer
	d.Rule, d.Summary = RuleResultExpired, "The service no longer has the result."
	d.Steps = []Step{{Action: ActionLaunch, Text: "launch it again: the service no longer has its result"}}
	return d
}

// JobForgotten is the verdict on a job that the service accepted and no longer knows.
func JobForgotten(answer Diagnosis, why ...Evidence) Diagnosis {
	d := answer
	d.Class, d.Cause, d.Rule = ClassOutside, CauseServiceError, RuleJobForgotten
	d.Summary = "The service accepted it and no longer knows it."
	d.Evidence = append(slices.Clone(d.Evidence), why...)
	d.Steps = []Step{
		{Action: ActionRetry, Text: "look for it in the service's list of jobs, and ask again: it is followed again if the service knows it"},
		{Action: ActionLaunch, Text: "launch it again: if the service has billed it, the same inputs are billed a second time"},
	}
	return d
}

// Forgotten reports whether the job has expired because the service no longer knew it. It may know
// it again, as when another account was asked: the job is then taken back.
func (j Job) Forgotten() bool {
	return j.State == JobExpired && j.Fault.Diagnosis.Rule == RuleJobForgotten
}

// Unknown reports whether the job is not over and was not known when it was last asked for.
func (j Job) Unknown() bool {
	rule := j.Fault.Diagnosis.Rule
	return !j.State.Final() && (rule == RuleJobUnknown || rule == RuleJobNotFound)
}

// GivenUp reports whether the job is not over, and yet nobody asks for it any more by itself: its state
// is the one that was last seen.
func (j Job) GivenUp() bool { return !j.State.Final() && j.Fault.GivenUp }

// Label is the job's state in words, or the Doubt about its result. One that nobody asks for any more was in the state.
func (j Job) Label() string {
	if doubt := j.Doubt(); doubt != "" {
		return doubt
	}
	if j.GivenUp() {
		return "was " + j.State.Label()
	}
	return j.State.Label()
}

// JobPlace is where a job was launched, as far as is known: an answer from another place may be about
// another account.
type JobPlace struct {
	Service string `json:"service,omitempty"` // its address
	Version string `json:"version,omitempty"` // of its paths
	Account string `json:"account,omitempty"` // as the profile has it
	Key     string `json:"key,omitempty"`     // the fingerprint of the key's value
}

// Differs says in what another place differs, or nothing. What is not known of one of them does not.
func (p JobPlace) Differs(other JobPlace) string {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	switch {
	case differ(p.Service, other.Service):
		return "it was launched at " + p.Service + ", but " + other.Service + " is asked"
	case differ(p.Account, other.Account):
		return "it was launched for account " + p.Account + ", but " + other.Account + " is asked"
	case differ(p.Version, other.Version):
		return "it was launched by version " + p.Version + " of the service's paths, but " + other.Version + " is asked"
	case differ(p.Key, other.Key):
		return "the key's value is not the one that launched it, and may belong to another account"
	default:
		return ""
	}
}

// RuleJobNotOver is the rule of NotOver.
const RuleJobNotOver = "job_not_over"

// NotOver is the verdict on a job that was asked for until its deadline and is not over.
// says is the service's last word.
func NotOver(limit time.Duration, says string) Diagnosis {
	d := Diagnosis{
		Class: ClassTimeout, Cause: CauseClientTimeout, Rule: RuleJobNotOver,
		Summary: "The job was not over " + limit.String() + " after it was accepted, so it is no longer asked for automatically.",
		Steps:   []Step{{Action: ActionRetry, Text: "look at the job in the service's own pages; following it asks again"}},
	}
	if says != "" {
		d.Evidence = []Evidence{{Kind: "error", Text: quote("the service last said: " + says)}}
	}
	return d
}

// PreviewNotOver is the verdict on a preview that was asked for until the time for it was over. says is the service's
// last word.
func PreviewNotOver(limit time.Duration, says string) Diagnosis {
	d := NotOver(limit, says)
	d.Rule = "preview_not_over"
	d.Summary = "The preview was not over " + limit.String() + " after it was asked for, so it is no longer waited for."
	d.Steps = []Step{begunAlready(CallPreview)}
	return d
}
