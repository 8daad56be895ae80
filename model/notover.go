package model

import "time"

// NotOver is the verdict on a job that was asked for until its deadline and is not over.
// says is the service's last word.
func NotOver(limit time.Duration, says string) Diagnosis {
	d := Diagnosis{
		Class: ClassOutside, Cause: CauseClientTimeout, Rule: "job_not_over",
		Summary: "The job was not over " + limit.String() + " after it was accepted, and is not asked for by itself any more.",
		Steps:   []Step{{Action: ActionRetry, Text: "look at the job in the service's own pages; following it asks again"}},
	}
	if says != "" {
		d.Evidence = []Evidence{{Kind: "error", Text: quote("the service last said: " + says)}}
	}
	return d
}
