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
	r, events := listening(t, b, Config{Jobs: jobs})
	if status := post(t, r.URL()+"/x", strings.NewReader(`{"n":1}`)); status != http.StatusOK {
		t.Fatal(status)
	}
	here := awaitThat(t, events, func(e Event) bool { return e.Webhook.Worked })
	noerr.Must(t, r.Close())
	if here.ID != "hook-2" || here.Machine != "" || !slices.Equal(told, []string{here.ID}) {
		t.Errorf("%+v, told %q", here, told)
	}
	listening(t, b, Config{}) // it sweeps up what has no row
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
