package jobs

import (
	"fmt"
	"strconv"
	"strings"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// jobTitle is a job's name, which is the ledger's everywhere (the service's identifier is
// its snapshot), and its dataset, if it has one.
func jobTitle(j model.Job) string {
	if j.Dataset == "" {
		return j.ID
	}
	return j.ID + " · " + j.Dataset
}

// doubtWords are the doubt about a job's result, with the key that shows why; empty for none.
func doubtWords(t *kit.Theme, j model.Job) string {
	switch doubt := j.Doubt(); {
	case doubt == "" || j.State == model.JobReady:
		return doubt
	case j.Rows.Drift.Text != "":
		return doubt + " (" + t.Key("jobs.drift") + " shows the fields)"
	default:
		return doubt + " (" + t.Key("jobs.preview") + " shows the rows)"
	}
}

// datasetWords names a dataset in a sentence.
func datasetWords(name string) string {
	if name == "" {
		return "a dataset without a name"
	}
	return "dataset " + text.Clean(name)
}

// count is a number, or "-" if the service did not report it.
func count(n int) string {
	if n < 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// watchable reports whether the service can be asked about the job's progress.
func watchable(j model.Job) bool {
	return j.Snapshot != "" && !j.State.Final()
}

// progress is the share done, from 0 to 1; known is false if the service did not
// report it.
func progress(j model.Job) (share float64, known bool) {
	if j.State.HasResult() {
		return 1, true
	}
	if j.Done < 0 || j.Inputs <= 0 {
		return 0, false
	}
	return min(1, float64(j.Done)/float64(j.Inputs)), true
}

// bar draws a share in w cells.
func bar(share float64, w int) string {
	if w <= 0 {
		return ""
	}
	full := max(0, min(w, int(share*float64(w)+0.5)))
	return strings.Repeat("▇", full) + strings.Repeat("░", w-full)
}

// progressLine is "143 of 200  ▇▇▇▇░░  71 %".
func progressLine(j model.Job, w int) string {
	share, known := progress(j)
	switch {
	case known:
	case j.State == model.JobIntent:
		return text.Counted(j.Inputs, "input") + " · not sent yet"
	case j.State == model.JobSending:
		return text.Counted(j.Inputs, "input") + " · being sent, no answer yet"
	default:
		return fmt.Sprintf("%s · the service reports no progress", text.Counted(j.Inputs, "input"))
	}
	done := j.Done
	if j.State.HasResult() || done < 0 {
		done = j.Inputs
	}
	left := fmt.Sprintf("%d of %d", done, j.Inputs)
	right := fmt.Sprintf("%d %%", int(share*100))
	room := w - text.Width(left) - text.Width(right) - 4
	if room < 4 {
		return left + "  " + right
	}
	return left + "  " + bar(share, min(room, 40)) + "  " + right
}

// advice says what the operator should do about a job; empty for nothing.
func advice(t *kit.Theme, j model.Job) []string {
	switch j.State {
	case model.JobMayHave:
		why := "The service may have started this job and may bill it."
		if j.Status > 0 {
			why = "The answer may not be the service's own refusal, so it may have started this job and may bill it."
		}
		return []string{
			why,
			"It is never sent again automatically. " + t.Key("jobs.settle") + " looks for it in the service's list and adopts it; if it is not there, " + t.Key("jobs.again") + " launches the same inputs again.",
		}
	case model.JobNotSent:
		if j.SaidNotStarted() {
			return []string{"It was marked as not started. " + t.Key("jobs.again") + " launches it again."}
		}
		return []string{"Nothing was sent and nothing is billed. " + t.Key("jobs.again") + " launches it again."}
	case model.JobRefused:
		return []string{"The service refused it, so nothing is billed. " + t.Key("jobs.again") + ", then e, corrects it and launches it again."}
	case model.JobFailed:
		return []string{"The service gave up on it. Try a few of its URLs in the Sandbox (" + t.Key("console.sandbox") + ") before launching it again."}
	case model.JobExpired:
		if j.Forgotten() { // its fault says all of it
			return nil
		}
		return []string{"The service no longer has the result: it keeps results only for a time."}
	default:
		return nil
	}
}
