package files

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/batch/store"
	"zonedeck/service/config"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
	"zonedeck/service/ledger"
	"zonedeck/service/pace"
	"zonedeck/service/pace/pacetest"
	"zonedeck/service/share"
	"zonedeck/service/webhook"
	"zonedeck/service/work"
)

// server is an address of a database.
type server string

func (server) OnServer() bool                             { return true }
func (s server) Database(context.Context) (string, error) { return string(s), nil }

// machineOn is a machine on a database, with a folder of its own.
func machineOn(t *testing.T, address, dir string) *Files {
	t.Helper()
	f := New(config.Paths{Config: dir, Data: dir, State: dir, Cache: dir}, machine{}, &lines{}, server(address), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { noerr.Want(t, f.Close()) })
	return f
}

func ledgerOf(t *testing.T, f *Files) *ledger.Ledger {
	t.Helper()
	l, fault, err := f.Ledger(t.Context())
	noerr.Must(t, errors.Join(fault, err))
	return l
}

func TestMachinesOnOneDatabaseShareJobsTheirQueueAndWebhooks(t *testing.T) {
	address := postgrestest.Address(t, t.TempDir())
	home := t.TempDir()
	a, b := machineOn(t, address, home), machineOn(t, address, t.TempDir())
	names := map[string]bool{}
	for _, f := range []*Files{a, b, machineOn(t, address, home)} {
		names[noerr.Try(f.machine(t.Context())).Must(t)] = true
	}
	if len(names) != 2 {
		t.Errorf("two machines have the names %v", names)
	}
	job := noerr.Try(ledgerOf(t, a).Begin(t.Context(), model.Job{Profile: "p", Dataset: "d"}, "", nil, nil)).Must(t)
	noerr.Must(t, noerr.Try(a.Work(t.Context())).Must(t).Put(t.Context(), work.Item{Lane: "ask/p", Key: job.ID}))
	if items, err := noerr.Try(b.Work(t.Context())).Must(t).Items(t.Context(), "ask/p"); err != nil || len(items) != 1 {
		t.Errorf("the other's queue has %+v, %v", items, err)
	}
	if jobs, err := b.WebhookJobs(t.Context(), []string{job.ID}); err != nil || jobs[job.ID].Dataset != "d" {
		t.Errorf("the other's ledger has %+v, %v", jobs, err)
	}
	if n, err := noerr.Try(b.Inbox(t.Context())).Must(t).Count(t.Context()); err != nil || n != 0 {
		t.Errorf("%d webhooks, %v", n, err)
	}
}

func TestACopiedFolderOfDataIsAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	name := func() string {
		t.Helper()
		return noerr.Try(machineOn(t, "", dir).machine(t.Context())).Must(t)
	}
	first, path := name(), filepath.Join(dir, "databases", "machine")
	if again := name(); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	noerr.Must(t, textfile.Write(path, []byte(first+"\nof another host\n")))
	second := name()
	if again := name(); second == first || again != second || strings.ContainsFunc(second, unicode.IsSpace) {
		t.Errorf("%s after %s, then %s", second, first, again)
	}
}

func TestFilesOfADatabaseFollowItNotItsAddress(t *testing.T) {
	path, home := t.TempDir(), t.TempDir()
	address := postgrestest.Address(t, path)
	moved, _ := postgrestest.Through(t, address)
	noerr.Must(t, noerr.From(ledgerOf(t, machineOn(t, address, home)).Begin(t.Context(), model.Job{Profile: "p"}, "", nil, nil)))
	for _, c := range []struct {
		address             string
		folders, jobs, logs int
	}{
		{moved, 1, 1, 1},
		{postgrestest.Address(t, t.TempDir()), 2, 0, 1}, // on the same server, with the same name
	} {
		f := machineOn(t, c.address, home)
		_, jobs, err := ledgerOf(t, f).Jobs(t.Context(), 0)
		noerr.Must(t, errors.Join(err, noerr.From(f.Inbox(t.Context()))))
		logs, _ := filepath.Glob(filepath.Join(home, "databases", "*", "ledger.log"))
		folders, _ := filepath.Glob(filepath.Join(f.paths.InboxDir(), "*"))
		if jobs != c.jobs || len(logs) != c.logs || len(folders) != c.folders {
			t.Errorf("%d jobs, logs %q, folders of bodies %q", jobs, logs, folders)
		}
	}
}

// withParameter adds a parameter to an address.
func withParameter(t *testing.T, address, name, value string) string {
	t.Helper()
	u := noerr.Try(url.Parse(address)).Must(t)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// grants are the statements of docs/scale.md, for a role and the schema of a test.
func grants(t *testing.T, role, schema string) []string {
	t.Helper()
	_, text, _ := strings.Cut(string(noerr.Try(os.ReadFile("../../docs/scale.md")).Must(t)), "```sql\n")
	text, _, _ = strings.Cut(text, "```")
	text = strings.NewReplacer("SCHEMA public", "SCHEMA "+schema, "TO worker", "TO "+role).Replace(strings.TrimSpace(text))
	return strings.Split(strings.TrimSuffix(text, ";"), ";\n")
}

// asWorker gives a role the rights of docs/scale.md before there is any table, and the address for it.
func asWorker(t *testing.T, path string) (address string) {
	t.Helper()
	u := noerr.Try(url.Parse(postgrestest.Address(t, path))).Must(t)
	role := "worker_" + strings.ToLower(rand.Text()[:8])
	admin := postgrestest.Raw(t, path)
	exec := func(statement string) {
		t.Helper()
		noerr.Must(t, noerr.From(admin.ExecContext(context.WithoutCancel(t.Context()), statement)))
	}
	exec("CREATE ROLE " + role + " LOGIN PASSWORD 'least'")
	t.Cleanup(func() { exec("DROP OWNED BY " + role + "; DROP ROLE " + role) })
	for _, statement := range grants(t, role, u.Query().Get("search_path")) {
		exec(statement)
	}
	u.User = url.UserPassword(role, "least")
	return u.String()
}

func TestARoleWithTheRightsOfTheDocsDoesAWorkersWorkAndMakesNoTable(t *testing.T) {
	path := t.TempDir()
	least := asWorker(t, path)
	_, fault, _ := machineOn(t, least, t.TempDir()).Ledger(t.Context())
	const noRight = "the role of the database has no right to this (docs/scale.md lists what it needs)"
	if fault == nil || !strings.Contains(fault.Error(), noRight) {
		t.Errorf("before there are tables: %v", fault)
	}
	owner := machineOn(t, postgrestest.Address(t, path), t.TempDir())
	ledgerOf(t, owner)
	noerr.Must(t, noerr.From(owner.Inbox(t.Context())))
	noerr.Must(t, noerr.From(owner.Batches(t.Context())))
	refused := func(f *Files) {
		t.Helper()
		l := &pace.Limiter{Store: &share.Paces{Servers: f, Zones: pace.Files{Dir: t.TempDir()}, Clock: machine{}}, Clock: machine{}, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
		turn, _ := pacetest.Enter(t, l, pacetest.Call)
		turn.End(t.Context(), pace.Answer{TooFast: true})
		if l.Words(t.Context(), pacetest.Call) == "" {
			t.Error("the pace is not known")
		}
	}
	refused(owner)
	f := machineOn(t, least, t.TempDir())
	l := ledgerOf(t, f)
	job := noerr.Try(l.Begin(t.Context(), model.Job{Profile: "p"}, "", []byte("x"), nil)).Must(t)
	noerr.Must(t, noerr.From(l.Change(t.Context(), job.ID, func(job *model.Job) (string, error) { job.State = model.JobSending; return "", nil })))
	refused(f)
	in := noerr.Try(f.Inbox(t.Context())).Must(t)
	noerr.Must(t, noerr.From(in.Prune(t.Context(), webhook.Retention{})))
	st := noerr.Try(f.Batches(t.Context())).Must(t)
	noerr.Must(t, noerr.From(st.Add(t.Context(), store.Batch{ID: "b", Profile: "p", Plan: []byte("{}"), State: store.Running, Created: time.Now(), Changed: time.Now()})))
	noerr.Must(t, st.Put(t.Context(), work.Item{Lane: "l", Key: "k"}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	noerr.Must(t, st.Work(ctx, "l", 1, func(context.Context, work.Item) (time.Duration, error) { cancel(); return 0, nil }))
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Error("the queue handed nothing out")
	}
	s := noerr.Try(f.Server(t.Context())).Must(t)
	err := s.Write(t.Context(), "making a table", func(ctx context.Context, tx *sql.Tx) error {
		return noerr.From(tx.ExecContext(ctx, "CREATE TABLE mine (n BIGINT)"))
	})
	if err == nil || !strings.Contains(err.Error(), noRight) {
		t.Errorf("it makes a table: %v", err)
	}
}

func TestOnAReadOnlyServerJobsAreSeenAndNoneIsBegun(t *testing.T) {
	address := postgrestest.Address(t, t.TempDir())
	readOnly := withParameter(t, address, "default_transaction_read_only", "on")
	const says = "the database is read-only: name the primary server"
	if _, fault, _ := machineOn(t, readOnly, t.TempDir()).Ledger(t.Context()); fault == nil || !strings.Contains(fault.Error(), says) {
		t.Errorf("without tables: %v", fault)
	}
	noerr.Must(t, noerr.From(ledgerOf(t, machineOn(t, address, t.TempDir())).Begin(t.Context(), model.Job{Profile: "p"}, "", nil, nil)))
	dir := t.TempDir()
	l := ledgerOf(t, machineOn(t, readOnly, dir))
	if _, total, err := l.Jobs(t.Context(), 0); err != nil || total != 1 {
		t.Errorf("%d jobs, %v", total, err)
	}
	if _, err := l.Begin(t.Context(), model.Job{Profile: "p"}, "", nil, nil); !errors.Is(err, database.ErrReadOnly) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v", err)
	}
	if logs, _ := filepath.Glob(filepath.Join(dir, "databases", "*", "*.log")); len(logs) > 0 {
		t.Errorf("%v", logs)
	}
}

func TestWhatHappensWhileTheServerIsGoneIsThereWhenItComesBack(t *testing.T) {
	address, network := postgrestest.Through(t, postgrestest.Address(t, t.TempDir()))
	dir := t.TempDir()
	f := machineOn(t, address, dir)
	l := ledgerOf(t, f)
	to := func(state model.JobState) func(*model.Job) (string, error) {
		return func(job *model.Job) (string, error) { job.State = state; return "", nil }
	}
	job := noerr.Try(l.Begin(t.Context(), model.Job{Profile: "p"}, "", nil, nil)).Must(t)
	noerr.Must(t, noerr.From(l.Change(t.Context(), job.ID, to(model.JobSending))))
	network.Cut(true)
	noerr.Must(t, l.Accepted(job.ID, model.JobNames{Snapshot: "sd_1"})) // the service has answered
	if _, err := l.Change(t.Context(), job.ID, to(model.JobAccepted)); !errors.Is(err, database.ErrGone) {
		t.Errorf("%v", err)
	}
	if _, err := l.Begin(t.Context(), model.Job{Profile: "p"}, "", nil, nil); !errors.Is(err, database.ErrGone) {
		t.Errorf("nothing may be sent: %v", err)
	}
	if _, fault, _ := machineOn(t, address, t.TempDir()).Ledger(t.Context()); !errors.Is(fault, database.ErrGone) || !strings.Contains(fault.Error(), "the database cannot be reached: ") {
		t.Errorf("%v", fault)
	}
	network.Cut(false)
	if job, err := l.Job(t.Context(), job.ID); err != nil || job.State != model.JobSending {
		t.Errorf("the same process sees %+v, %v", job, err)
	}
	noerr.Must(t, f.Close())
	if job, err := ledgerOf(t, machineOn(t, address, dir)).Job(t.Context(), job.ID); err != nil || job.State != model.JobAccepted || job.Snapshot != "sd_1" {
		t.Errorf("the next process sees %+v, %v", job, err)
	}
}
