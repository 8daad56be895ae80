package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/uitest"
)

func TestADownloadShowsHowFarItIsAndStopsOnDemand(t *testing.T) {
	var asked []service.Destination
	f := &fakeJobs{jobs: []model.Job{readyJob()}}
	f.downloads = func(ctx context.Context, to service.Destination, on func(service.Progress)) (model.Job, error) {
		asked = append(asked, to)
		if len(asked) == 2 {
			on(service.Progress{Part: 3, Parts: 5, Bytes: 4 << 20, Note: "goes on with /data/out.csv.part: 2 of 5 parts are there"})
			done := readyJob()
			done.State, done.File, done.Bytes = model.JobDownloaded, to.File, 18200
			return done, nil
		}
		on(service.Progress{Part: 1, Parts: 5})
		select {
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
		}
		on(service.Progress{Part: 3, Parts: 5, Bytes: 4_000_000})
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
		}
		on(service.Progress{Part: 5, Parts: 5, Bytes: 4_000_000, Doing: "writing csv", Done: 1_000_000})
		<-ctx.Done()
		return model.Job{}, &service.PartialError{File: "/data/out.csv.part", Bytes: 4_000_000, Parts: 2, Total: 5, Err: context.Canceled}
	}
	flow(t, f, "brightdata", 200, 40, func(s *uitest.Screen) {
		s.Press("d")
		s.Expect("Download job-9", "JSON", "NDJSON", "CSV", "in the downloads folder", "An interrupted")
		s.ExpectNot("Raw cells")
		s.Press("right", "right")
		s.Expect("Raw cells")
		s.Press("tab")
		s.Type("/data/out.csv")
		s.Press("ctrl+s")
		s.After(3 * time.Second)
		s.Expect("downloading · 4.0 MB · ", "MB/s · part 3 of 5", "d stop ")
		s.After(3 * time.Second)
		s.Expect("downloading · 4.0 MB · writing csv: 25 %")
		s.Press("d")
		s.Expect("! the download is not complete: 4000000 bytes are kept", "resumes after part 2 of 5", "stopped: 4000000 bytes")
		s.Press("d")
		s.Expect("/data/out.csv", "are kept in")
		s.Press("ctrl+s")
		s.Expect("downloaded 18.2 KB to /data/out.csv", "2 of 5 parts are there", "✓ downloaded", "FILE", "out.csv   ")
		s.ExpectNot("is not complete")
	})
	want := service.Destination{File: "/data/out.csv", Format: "csv"}
	if len(asked) != 2 || asked[0] != want || asked[1] != want {
		t.Errorf("asked for %+v", asked)
	}
}

func TestAFileIsReplacedOnlyAfterAQuestion(t *testing.T) {
	for _, c := range []struct {
		err   error
		asks  string
		words string
		yes   service.Destination
	}{
		{&service.ExistsError{File: "/data/x.json"}, "Replace the file?", "/data/x.json exists already", service.Destination{Replace: true}},
		{&service.ForeignError{File: "/data/x.json.part"}, "Discard the partial download?", "/data/x.json.part holds another result", service.Destination{DropPartial: true}},
	} {
		var asked []service.Destination
		f := &fakeJobs{jobs: []model.Job{readyJob()}}
		f.downloads = func(_ context.Context, to service.Destination, _ func(service.Progress)) (model.Job, error) {
			if asked = append(asked, to); !to.Replace && !to.DropPartial {
				return model.Job{}, fmt.Errorf("downloading: %w", c.err)
			}
			return readyJob(), nil
		}
		flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
			s.Press("d", "tab")
			s.Type("~/x.csv")
			s.Press("shift+tab", "left") // the ending follows the format
			s.Press("ctrl+s")
			s.Expect(c.asks, c.words)
			s.Press("n")
			if len(asked) != 1 {
				t.Fatalf("asked %+v", asked)
			}
			s.Press("d", "tab")
			s.Type("~/x.csv")
			s.Press("ctrl+s")
			s.Press("y")
		})
		c.yes.File, c.yes.Format = "/home/operator/x.csv", "csv"
		if len(asked) != 3 || asked[0].File != "/home/operator/x.ndjson" || asked[0].Format != "ndjson" || asked[2] != c.yes {
			t.Errorf("asked %+v", asked)
		}
	}
}

// A yes answers the question that was asked, and no other.
func TestADownloadAsksForEachThingThatItWouldReplace(t *testing.T) {
	var asked []service.Destination
	f := &fakeJobs{jobs: []model.Job{readyJob()}}
	f.downloads = func(_ context.Context, to service.Destination, _ func(service.Progress)) (model.Job, error) {
		asked = append(asked, to)
		switch {
		case !to.Replace:
			return model.Job{}, &service.ExistsError{File: "/data/x.csv"}
		case !to.DropPartial:
			return model.Job{}, &service.ForeignError{File: "/data/x.csv.part"}
		}
		return readyJob(), nil
	}
	flow(t, f, "brightdata", 100, 30, func(s *uitest.Screen) {
		s.Press("d", "ctrl+s")
		s.Expect("Replace the file?")
		s.Press("y")
		s.Expect("Discard the partial download?")
		s.Press("y")
		s.Expect("downloaded")
	})
	if len(asked) != 3 || asked[2].File != "" || !asked[2].Replace || !asked[2].DropPartial {
		t.Errorf("asked %+v", asked)
	}
}

func TestADownloadThatFailsSaysWhy(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{context.Canceled, []string{"nothing of it is kept"}},
		{fmt.Errorf("x.json is being downloaded to already: %w", textfile.ErrLocked), []string{"is being downloaded to already"}},
		{errors.New("no space left on the device"), []string{"no space left on the device"}},
		{&service.PartialError{File: "/d/x.part", Bytes: 7, Total: 1, Err: errors.New("it broke off")}, []string{"it broke off; 7 bytes are kept in /d/x.part", "! the download is not complete", "only as a whole"}},
	} {
		f := &fakeJobs{jobs: []model.Job{readyJob()}}
		f.downloads = func(context.Context, service.Destination, func(service.Progress)) (model.Job, error) {
			return model.Job{}, c.err
		}
		flow(t, f, "brightdata", 160, 40, func(s *uitest.Screen) {
			s.AllowError(c.err.Error())
			s.Press("d", "ctrl+s")
			s.Expect(c.want...)
		})
	}
}
