package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/database/postgrestest"
)

// matrixEnv asks for every bit of the whole schema and ten times as many random ones.
const matrixEnv = "ZONEDECK_LEDGER_MATRIX"

// look is everything that is asked of a ledger.
type look struct {
	Jobs     []model.Job
	InFlight []string
	Found    map[string]string // by snapshot
	Same     map[string][]string
}

func lookAt(t *testing.T, l *Ledger) (out look, err error) {
	t.Helper()
	out = look{Found: map[string]string{}, Same: map[string][]string{}}
	list, _, err := l.Jobs(t.Context(), 0)
	out.Jobs = list
	flying, ferr := l.InFlight(t.Context())
	err = errors.Join(err, ferr)
	out.InFlight = ids(flying)
	for _, job := range list {
		if job.Snapshot != "" {
			found, ferr := l.OfSnapshot(t.Context(), job.Snapshot)
			out.Found[job.Snapshot], err = found.ID, errors.Join(err, ferr)
		}
		same, serr := l.SameRequest(t.Context(), "digest of "+job.ID, "", testTime)
		out.Same[job.ID], err = ids(same), errors.Join(err, serr)
	}
	return out, err
}

// flipped opens a copy of a ledger and its log with one bit flipped, and reports what came of it: "nothing" changed, it
// was "told, ...", or an error.
func flipped(t *testing.T, db, log []byte, want look, bit int) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	files := [][]byte{bytes.Clone(db), bytes.Clone(log)}
	if at := bit / 8; at < len(db) {
		files[0][at] ^= 1 << (bit % 8)
	} else {
		files[1][at-len(db)] ^= 1 << (bit % 8)
	}
	noerr.Must(t, errors.Join(os.WriteFile(path, files[0], 0o600), os.WriteFile(logPath(path), files[1], 0o600)))
	l, notice, err := Open(t.Context(), path, clock())
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	got, err := lookAt(t, l)
	if err != nil {
		return "", fmt.Errorf("after %q: %w", notice, err)
	}
	if len(got.Jobs) != len(want.Jobs) {
		return "", fmt.Errorf("%d jobs; told %q", len(got.Jobs), notice)
	}
	for i, w := range want.Jobs {
		if g := got.Jobs[i]; g.ID != w.ID || g.Snapshot != w.Snapshot || g.Profile != w.Profile || g.Dataset != w.Dataset || g.KeyName != w.KeyName || g.Inputs != w.Inputs {
			return "", fmt.Errorf("%s is %+v; told %q", w.ID, g, notice)
		}
	}
	if notice == "" && !reflect.DeepEqual(got, want) {
		return "", fmt.Errorf("silent: %+v", got)
	}
	if l.Frozen() == nil {
		job, err := l.Begin(t.Context(), model.Job{}, "", []byte("asked"), nil)
		if next := fmt.Sprintf("job-%d", len(want.Jobs)+1); err != nil || job.ID != next {
			return "", fmt.Errorf("the next job is %s, %w; told %q", job.ID, err, notice)
		}
		noerr.Must(t, l.Close())
		again, repeated, err := Open(t.Context(), path, clock())
		if err != nil || repeated != "" {
			return "", fmt.Errorf("the next start says %q, %w, after %q", repeated, err, notice)
		}
		noerr.Must(t, again.Close())
	}
	switch {
	case notice == "":
		return "nothing", nil
	case reflect.DeepEqual(got, want):
		return "told, everything is there", nil
	default:
		return "told, the rest is asked of the service", nil
	}
}

// Whatever bit of the ledger or its log flips, no job is lost or doubled, and whatever changed is told.
func TestABitThatFlipsIsRepairedAndTold(t *testing.T) {
	postgrestest.OnFile(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path)
	for i, state := range []model.JobState{
		model.JobDownloaded, model.JobReady, model.JobAccepted, model.JobMayHave, model.JobNotSent, model.JobRunning, model.JobFailed, model.JobReady,
	} {
		job := noerr.Try(l.Begin(t.Context(), model.Job{Profile: "p", Dataset: "gd_x", KeyName: "k", Inputs: i + 1, Done: -1, Records: -1}, fmt.Sprintf("digest of job-%d", i+1), []byte("asked"), nil)).Must(t)
		stands(t, l, job.ID, model.JobSending)
		snapshot := ""
		if state != model.JobMayHave && state != model.JobNotSent {
			snapshot = fmt.Sprintf("sd_%d", i+1)
			noerr.Must(t, l.Accepted(job.ID, model.JobNames{Snapshot: snapshot}))
			noerr.Must(t, noerr.From(l.Change(t.Context(), job.ID, acceptAs(snapshot))))
		}
		noerr.Must(t, noerr.From(l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) {
			job.State, job.Records, job.File, job.Detail = state, 10*i, "/home/x/result.json", "what there is to say about it"
			return "the end", nil
		})))
	}
	noerr.Must(t, l.Close())
	l = openTest(t, path)
	want := noerr.Try(lookAt(t, l)).Must(t)
	noerr.Must(t, l.Close())
	db, log := noerr.Try(os.ReadFile(path)).Must(t), noerr.Try(os.ReadFile(logPath(path))).Must(t)

	schema, random := []byte("CREATE INDEX jobs_hook ON jobs (hook)"), 200
	from := bytes.Index(db, schema)
	to := from + len(schema)
	if os.Getenv(matrixEnv) != "" {
		random = 2000
		from, to = 4096-len("x"), 4096
		for db[from-1] != 0 || db[from-2] != 0 || db[from-3] != 0 { // the cells of the schema stand at the end of its page
			from--
		}
	}
	step := 1
	if testing.Short() {
		step, random = 8, 25
	}
	var bits []int
	for bit := from * 8; bit < to*8; bit += step {
		bits = append(bits, bit)
	}
	chance := rand.New(rand.NewPCG(21, 21))
	for range random {
		bits = append(bits, chance.IntN((len(db)+len(log))*8))
	}
	var mu sync.Mutex
	counts := map[string]int{}
	t.Run("bits", func(t *testing.T) {
		const parts = 4
		for part := range parts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for i := part; i < len(bits); i += parts {
					outcome, err := flipped(t, db, log, want, bits[i])
					if err != nil {
						t.Errorf("bit %d of byte %d of %d and %d: %v", bits[i]%8, bits[i]/8, len(db), len(log), err)
					}
					mu.Lock()
					counts[outcome]++
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d bits of the schema, %d others: %v", (to-from)*8/step, random, counts)
}
