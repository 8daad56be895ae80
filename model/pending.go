package model

import "time"

// RuleJobNotOver is the rule of NotOver.
const RuleJobNotOver = "job_not_over"

// NotOver is the verdict on a job that was asked for until its deadline and is not over.
// says is the service's last word.
func NotOver(limit time.Duration, says string) Diagnosis {
	d := Diagnosis{
		Class: ClassTimeout, Cause: CauseClientTimeout, Rule: RuleJobNotOver,
		Summary: "The job was not over " + limit.String() + " after it was accepted, and is not asked for by itself any more.",
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
	d.Summary = "The preview was not over " + limit.String() + " after it was asked for, and is not waited for any more."
	d.Steps = []Step{begunAlready(CallPreview)}
	return d
}
