package model

import "testing"

func TestAWorthlessResultIsInDoubt(t *testing.T) {
	failed := []JobRowErrors{{Code: "dead_page", Rows: 3}}
	drift := JobDrift{Text: "5 fields emptied since job-1", Fields: 5, Since: "job-1"}
	for _, c := range []struct {
		job  Job
		want string
	}{
		{Job{State: JobDownloaded, Rows: JobRows{Counted: true, Returned: 12, Useful: 12}}, ""},
		{Job{State: JobDownloaded, Rows: JobRows{Counted: true, Returned: 12, Useful: 6, Empty: 6}}, ""},
		{Job{State: JobDownloaded, Rows: JobRows{Counted: true, Returned: 12, Useful: 5, Empty: 7}}, "5 of 12 rows useful"},
		{Job{State: JobDownloaded, Rows: JobRows{Counted: true, Returned: 12, Useful: 12, Drift: drift}}, "drift: 5 fields emptied since job-1"},
		{Job{State: JobDownloaded, Rows: JobRows{Counted: true, Returned: 12, Empty: 12, Drift: drift}}, "drift: 5 fields emptied since job-1"},
		{Job{State: JobDownloaded, Rows: JobRows{Counted: true, Returned: 12, Empty: 12}}, "no useful row"},
		{Job{State: JobDownloaded, Rows: JobRows{Counted: true, Returned: 3, Errors: failed}}, "no useful row"},
		{Job{State: JobDownloaded, Rows: JobRows{Counted: true}}, "no rows"},
		{Job{State: JobDownloaded, Rows: JobRows{Problem: "record 2 cannot be read"}}, ""},
		{Job{State: JobReady, Records: 0}, "ready, no records"},
		{Job{State: JobReady, Records: -1}, ""},
		{Job{State: JobRunning, Records: 0}, ""},
		{Job{State: JobExpired, Rows: JobRows{Counted: true, Returned: 3, Errors: failed}}, ""},
	} {
		if got := c.job.Doubt(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.job, got, c.want)
		}
		if label := c.job.Label(); (label == c.job.State.Label()) != (c.want == "") {
			t.Errorf("%+v is called %q", c.job, label)
		}
	}
}
