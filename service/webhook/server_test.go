package webhook

import (
	"context"
	"database/sql"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

// machineAt opens the inbox of a server on a machine of this name, with a folder of its own.
func machineAt(t *testing.T, dir, machine string) *Inbox {
	t.Helper()
	in, notice, err := Open(t.Context(), Options{
		Server: postgrestest.Server(t, dir), Machine: machine, Dir: filepath.Join(dir, machine), Clock: clock(time.Now),
	})
	if err != nil || notice != "" {
		t.Fatal(err, notice)
	}
	return in
}

func TestMachinesOfOneServerReceiveForOneInbox(t *testing.T) {
	dir := t.TempDir()
	a, b := machineAt(t, dir, "a"), machineAt(t, dir, "b")
	stored(t, a, row{Webhook: model.Webhook{At: time.Now(), File: "a/body-x"}}) // its machine is off before it works on it
	var told []string
	jobs := heard(func(_ context.Context, news model.WebhookNews) (string, string, error) {
		told = append(told, news.ID)
		return "", "", nil
	})
	r, events := listening(t, b, Config{Jobs: jobs, Settings: Settings{Reserve: 1}})
	if status := post(t, r.URL()+"/x", strings.NewReader(`{"n":1}`)); status != http.StatusOK {
		t.Fatal(status)
	}
	here := awaitThat(t, events, func(e Event) bool { return e.Webhook.Worked })
	noerr.Must(t, r.Close())
	if here.ID != "hook-2" || here.Machine != "" || !slices.Equal(told, []string{here.ID}) {
		t.Errorf("%+v, told %q", here, told)
	}
	listening(t, b, Config{Settings: Settings{Reserve: 1}}) // it sweeps up what has no row
	if head, err := HeadOf(noerr.Try(b.Get(t.Context(), here.ID)).Must(t), 10); err != nil || string(head.Raw) != `{"n":1}` {
		t.Errorf("%q, %v", head.Raw, err)
	}
	abroad := noerr.Try(a.Get(t.Context(), here.ID)).Must(t)
	if _, err := HeadOf(abroad, 10); abroad.Machine != "b" || err == nil || err.Error() != "the body of hook-2 is on b, which received it" {
		t.Errorf("on %q, %v", abroad.Machine, err)
	}
	if d := noerr.Try(a.Get(t.Context(), "hook-1")).Must(t); d.Machine != "" || d.Worked {
		t.Errorf("%+v", d)
	}
}

func TestAnInboxOfAnEarlierVersionGoesOn(t *testing.T) {
	postgrestest.OnFile(t)
	dir := t.TempDir()
	o := database.Options{Name: "inbox", Migrations: migrations[:1], Oldest: oldestSchema, Tables: []string{"deliveries", "marks"}, Now: time.Now, Busy: database.Busy}
	db, _, err := database.Open(t.Context(), filepath.Join(dir, "webhooks.db"), o)
	noerr.Must(t, err)
	noerr.Must(t, db.Write(t.Context(), "numbering", func(ctx context.Context, tx *sql.Tx) error {
		return noerr.From(tx.ExecContext(ctx, "UPDATE marks SET number = 41"))
	}))
	noerr.Must(t, db.Close())
	in := openInbox(t, dir)
	stored(t, in, row{Webhook: model.Webhook{At: time.Now(), File: "body-x"}})
	if d, err := in.Get(t.Context(), "hook-42"); err != nil || d.Times != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestAWebhookThatComesWhileTheServerIsGoneIsSentAgain(t *testing.T) {
	dir := t.TempDir()
	address, network := postgrestest.Through(t, postgrestest.Address(t, dir))
	s := noerr.Try(database.OpenServer(t.Context(), address)).Must(t)
	t.Cleanup(func() { noerr.Want(t, s.Close()) })
	in, _, err := Open(t.Context(), Options{Server: s, Machine: "a", Dir: filepath.Join(dir, "a"), Clock: clock(time.Now)})
	noerr.Must(t, err)
	r, _ := listening(t, in, Config{Settings: Settings{Reserve: 1}})
	send := func() int { return post(t, r.URL()+"/x", strings.NewReader(`{"n":1}`)) }
	network.Cut(true)
	if status := send(); status < 500 {
		t.Errorf("without the server: %d", status)
	}
	network.Cut(false)
	if status := send(); status != http.StatusOK {
		t.Errorf("with it: %d", status)
	}
	if list, total, err := in.List(t.Context(), Filter{}, 0); err != nil || total != 1 || list[0].Times != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestTheMachineThatGetsTheVerifiedCopyWorksOnIt(t *testing.T) {
	dir := t.TempDir()
	settings := Settings{Reserve: 1, Verifiers: []Verifier{verifier(t, VerifierConfig{Kind: KindAuthorization, Secret: keystore.NewSecret("Bearer right")})}}
	a, b := machineAt(t, dir, "a"), machineAt(t, dir, "b")
	r, events := listening(t, a, Config{Settings: settings})
	post(t, r.URL()+"/x", strings.NewReader("x"), "Authorization", "Bearer wrong")
	await(t, events, false)
	noerr.Must(t, r.Close()) // it is switched off
	r, events = listening(t, b, Config{Settings: settings})
	post(t, r.URL()+"/x", strings.NewReader("x"), "Authorization", "Bearer right")
	d := awaitThat(t, events, func(e Event) bool { return e.Webhook.Verdict == model.WebhookVerified })
	if head, err := HeadOf(d, 10); err != nil || string(head.Raw) != "x" || !d.Worked || d.Times != 2 {
		t.Errorf("%+v, %q, %v", d, head.Raw, err)
	}
	if r.bufferedBytes.Load() != 1 {
		t.Errorf("%d bytes", r.bufferedBytes.Load())
	}
}

func TestAMachineCountsAndCleansUpWhatItReceived(t *testing.T) {
	dir := t.TempDir()
	a, b := machineAt(t, dir, "a"), machineAt(t, dir, "b")
	worked := func(file string) row {
		return row{Webhook: model.Webhook{At: time.Now(), File: file, Size: 10, Verdict: model.WebhookVerified}}
	}
	stored(t, a, worked("a/body-1"), worked("b/body-2"), worked("a/body-3"), worked("b/body-4"))
	if n, err := b.bytes(t.Context()); err != nil || n != 20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if freed, err := b.Prune(t.Context(), Retention{Count: 1}); err != nil || freed != 10 {
		t.Errorf("%d freed, %v", freed, err)
	}
	list, _, err := a.List(t.Context(), Filter{}, 0)
	ids := ""
	for _, d := range list {
		ids += d.ID + d.Machine + " "
	}
	if err != nil || ids != "hook-4b hook-3 hook-1 " {
		t.Errorf("left: %s, %v", ids, err)
	}
}

func TestAMachineWithAnotherNameGoesOnWithWhatItReceived(t *testing.T) {
	dir := t.TempDir()
	before := machineAt(t, dir, "a")
	stored(t, before, row{Webhook: model.Webhook{At: time.Now(), File: "a/body-1", Size: 1}})
	noerr.Must(t, textfile.Write(filepath.Join(before.dir, "body-1"), []byte("x")))
	after, _, err := Open(t.Context(), Options{Server: postgrestest.Server(t, dir), Machine: "c", Dir: before.dir, Clock: clock(time.Now)})
	noerr.Must(t, err)
	_, events := listening(t, after, Config{Settings: Settings{Reserve: 1}})
	d := await(t, events, false)
	if head, err := HeadOf(d, 10); err != nil || string(head.Raw) != "x" || d.Machine != "" || !d.Worked {
		t.Errorf("%+v, %q, %v", d, head.Raw, err)
	}
}

func TestAWebhookWhoseCommitHasNoAnswerKeepsItsBody(t *testing.T) {
	dir := t.TempDir()
	address, network := postgrestest.Through(t, postgrestest.Address(t, dir))
	s := noerr.Try(database.OpenServer(t.Context(), address)).Must(t)
	t.Cleanup(func() { noerr.Want(t, s.Close()) })
	in, _, err := Open(t.Context(), Options{Server: s, Machine: "a", Dir: filepath.Join(dir, "a"), Clock: clock(time.Now)})
	noerr.Must(t, err)
	r, _ := listening(t, in, Config{Settings: Settings{Reserve: 1}})
	network.LoseAnswer("commit\x00")
	send := func() int { return post(t, r.URL()+"/x", strings.NewReader(`{"n":1}`)) }
	if status := send(); status != http.StatusServiceUnavailable {
		t.Errorf("without an answer: %d", status)
	}
	for tries := 1; send() != http.StatusOK; tries++ { // the next connection may be one of those that ended
		if tries == 10 {
			t.Fatal("it is not stored")
		}
	}
	list, total, err := in.List(t.Context(), Filter{}, 0)
	if err != nil || total != 1 || list[0].Times != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if head, err := HeadOf(list[0], 10); err != nil || string(head.Raw) != `{"n":1}` {
		t.Errorf("%q, %v", head.Raw, err)
	}
	if bodies, _ := filepath.Glob(filepath.Join(dir, "a", "body-*")); len(bodies) != 1 || r.bufferedBytes.Load() != 7 {
		t.Errorf("%q, %d bytes", bodies, r.bufferedBytes.Load())
	}
}
