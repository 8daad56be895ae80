package jobs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

type flood struct{}

func (flood) Read(p []byte) (int, error) { return len(p), nil }

func unmasked(r io.Reader) *exchange.MaskReader { return exchange.Mask{}.Reader(r) }

func TestAResultThatIsMaskedAsAWholeIsNone(t *testing.T) {
	mask := exchange.MaskOf(keystore.NewSecret(strings.Repeat("a", 64)), exchange.Login{})
	hostile := mask.Reader(strings.NewReader(strings.Repeat(`\\u0061`, 1<<18)))
	var none *noResultError
	if _, err := (&result{MaskReader: hostile}).copyTo(io.Discard, maxAnswer, nil); !errors.As(err, &none) || !strings.Contains(err.Error(), "takes too long") {
		t.Errorf("%v", err)
	}
}

func TestADownloadHasABound(t *testing.T) {
	const most = 3 << 20
	var told int64
	n, err := (&result{MaskReader: unmasked(flood{})}).copyTo(io.Discard, most, func(done int64) { told = done })
	if n != 0 || err == nil || err.Error() != "the results are larger than 3 MiB" || told != most {
		t.Errorf("%d bytes, %d told: %v", n, told, err)
	}
	whole := io.LimitReader(flood{}, most)
	if n, err := (&result{MaskReader: unmasked(whole)}).copyTo(io.Discard, most, nil); n != most || err != nil {
		t.Errorf("%d bytes: %v", n, err)
	}
}

// What is not read to its end is not left open: the service's end of it ends, too.
func TestAnAnswerThatIsNotReadToItsEndIsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		piece  string
		call   func(cl *Runner) error
	}{
		"records": {200, `{"a":1}` + "\n", func(cl *Runner) error {
			_, err := cl.Records(t.Context(), "job-1", 3)
			return err
		}},
		"a page": {200, "<html>", func(cl *Runner) error {
			if _, err := cl.Download(t.Context(), "job-1", Destination{File: filepath.Join(t.TempDir(), "out.csv"), Format: "csv"}, nil); err == nil {
				return errors.New("a page was downloaded")
			}
			return nil
		}},
		"a refusal": {500, "no", func(cl *Runner) error {
			if _, err := cl.Records(t.Context(), "job-1", 3); err == nil {
				return errors.New("a refusal was read")
			}
			return nil
		}},
	} {
		ended := make(chan struct{})
		cl, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			w.WriteHeader(c.status)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(c.piece, 1000)); err != nil {
					return
				}
			}
		})
		accepted(t, cl)
		if err := c.call(cl); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		select {
		case <-ended:
		case <-time.After(30 * time.Second): // ends a hang
			t.Errorf("%s: the exchange goes on", name)
		}
	}
}

// deaf is a timeline that takes no line.
type deaf struct{ rejected []string }

func (d *deaf) PutEntry(context.Context, model.HistoryEntry) error { return errors.New("no room") }

func (d *deaf) Depart(string, model.HistoryEntry) (func(), error) {
	return func() {}, errors.New("no room")
}

func (d *deaf) PutKeyRejected(_ context.Context, _ time.Time, profile, key string) error {
	d.rejected = append(d.rejected, profile+" "+key)
	return nil
}

func TestARejectedKeyAndALostLineAreToldOfATrigger(t *testing.T) {
	cl, _ := script(t, text(401, "Invalid token"))
	var log bytes.Buffer
	timeline := &deaf{}
	cl.cfg.Journal, cl.cfg.Log = timeline, slog.New(slog.NewTextHandler(&log, nil))
	job := launched(t, cl, trigger("http://lab.test/1"), model.JobRefused)
	if len(timeline.rejected) != 1 || !strings.HasSuffix(timeline.rejected[0], " "+job.KeyName) {
		t.Errorf("rejected keys %q, want %s", timeline.rejected, job.KeyName)
	}
	if !strings.Contains(log.String(), "a job's line is missing in the timeline") || !strings.Contains(log.String(), "job=job-1") || !strings.Contains(log.String(), "no room") {
		t.Errorf("the log says %q", log.String())
	}
}

func TestAListOfSomeJobsSaysHowManyThereAre(t *testing.T) {
	cl, _ := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	for range 3 {
		accepted(t, cl)
	}
	if list, total, err := cl.Jobs(t.Context(), 2); err != nil || len(list) != 2 || list[0].ID != "job-3" || total != 3 {
		t.Errorf("%+v of %d, %v", list, total, err)
	}
}

func TestAPollThatGetsNoAnswerIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := servicetest.Profile("http://service.test")
		cl := newRunner(t, p, func(c *Config) {
			c.Wire = exchange.New(exchange.Config{Connect: func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, there) }()
				return here, nil
			}})
		})
		d, err := dialect.Find(p.Dialect)
		noerr.Must(t, err)
		_, err = jobCall{rn: cl, p: p, d: d, paths: dialect.JobPaths{Progress: "/progress"}, secret: keystore.NewSecret("a-key")}.poll(t.Context())
		var fault *exchange.CallError
		if !errors.As(err, &fault) || fault.Diagnosis.Class != model.ClassTimeout {
			t.Errorf("%v", err)
		}
	})
}
