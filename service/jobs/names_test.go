package jobs

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// An answer that names a job twice: both names are kept, and where the service does not know the job by the first, it is
// asked by the other from then on, for the state and for the result.
func TestAJobIsAskedByTheIdentifierThatTheServiceKnows(t *testing.T) {
	for known, want := range map[string]model.JobNames{
		"s_1": {Snapshot: "s_1", JobID: "j_1", SnapshotID: "s_1"},
		"j_1": {Snapshot: "j_1", JobID: "j_1", SnapshotID: "s_1"},
	} {
		var asked []string
		cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
			path := strings.TrimPrefix(r.URL.Path, "/datasets/v3/")
			if asked = append(asked, path); path == "trigger" {
				text(200, `{"job_id":"j_1","snapshot_id":"s_1"}`)(w, r)
				return
			}
			switch kind, id, _ := strings.Cut(path, "/"); {
			case id != known:
				text(404, "Snapshot does not exist")(w, r)
			case kind == "progress":
				text(200, `{"status":"ready","records":1}`)(w, r)
			default:
				text(200, `{"title":"x"}`+"\n")(w, r)
			}
		})
		cl.cfg.DownloadsDir = t.TempDir()
		job := launched(t, cl, trigger("http://lab.test/1"), model.JobAccepted)
		if job.Names() != (model.JobNames{Snapshot: "s_1", JobID: "j_1", SnapshotID: "s_1"}) || job.Steps[2].Text != "snapshot_id s_1, job_id j_1" {
			t.Errorf("%+v", job)
		}
		job = noerr.Try(cl.Watch(t.Context(), job.ID, nil)).Must(t)
		told := strings.Contains(job.Steps[len(job.Steps)-1].Text, "asked by j_1 from now on, because the service does not know s_1: ready")
		if job.State != model.JobReady || job.Names() != want || told != (known == "j_1") {
			t.Errorf("known by %s: %+v", known, job)
		}
		job = noerr.Try(cl.Download(t.Context(), "j_1", Destination{}, nil)).Must(t)
		if job.State != model.JobDownloaded || job.Rows.Returned != 1 || asked[len(asked)-1] != "snapshot/"+known {
			t.Errorf("known by %s: %+v; asked %v", known, job, asked)
		}
	}
}

// A prepared call is not used any more after the identifier has changed.
func TestTheOtherIdentifierIsUsedFromThenOn(t *testing.T) {
	var polls []string
	cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		switch polls = append(polls, id); {
		case id == "s_1":
			text(404, "Snapshot does not exist")(w, r)
		case len(polls) < 5:
			text(200, `{"status":"running"}`)(w, r)
		default:
			text(200, `{"status":"ready"}`)(w, r)
		}
	})
	job := begun(t, cl, "", func(job *model.Job) {
		job.Name(model.JobNames{Snapshot: "s_1", JobID: "j_1", SnapshotID: "s_1"})
		job.State, job.Accepted = model.JobAccepted, time.Now()
	})
	noerr.Must(t, noerr.From(cl.Watch(t.Context(), job.ID, nil)))
	if got := strings.Join(polls, " "); got != "s_1 j_1 j_1 j_1 j_1" {
		t.Error(got)
	}
}
