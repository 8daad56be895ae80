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
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
)

func TestMachinesOfOneServerReceiveForOneInbox(t *testing.T) {
	dir := t.TempDir()
	inbox := func(machine string) *Inbox {
		t.Helper()
		in, notice, err := Open(t.Context(), Options{
			Server: postgrestest.Server(t, dir), Machine: machine, Dir: filepath.Join(dir, machine), Clock: clock(time.Now),
		})
		if err != nil || notice != "" {
			t.Fatal(err, notice)
		}
		return in
	}
	a, b := inbox("a"), inbox("b")
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
