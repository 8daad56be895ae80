package webhook

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestTheReserveOfTheDiskIsLeftFree(t *testing.T) {
	in := openInbox(t, t.TempDir())
	var free atomic.Uint64
	r, _ := listening(t, in, Config{Settings: Settings{Reserve: 1000}, disk: rigged{room: func() uint64 { return free.Add(^uint64(0)) + 1 }}}) // less each time
	free.Store(1009)
	if got := post(t, r.URL(), strings.NewReader("1234567890")); got != http.StatusInsufficientStorage {
		t.Errorf("one byte too many: %d", got)
	}
	if bodies, err := filepath.Glob(filepath.Join(in.dir, "*body*")); err != nil || len(bodies) != 0 {
		t.Errorf("left: %v, %v", bodies, err)
	}
	free.Store(1010)
	if got := post(t, r.URL(), strings.NewReader("1234567890")); got != http.StatusOK {
		t.Errorf("as much as fits: %d", got)
	}
	free.Store(1000)
	if got := post(t, r.URL(), io.MultiReader(strings.NewReader("of unknown size"))); got != http.StatusInsufficientStorage {
		t.Errorf("on its way: %d", got)
	}
	r.Set(Settings{Reserve: 100})
	if got := post(t, r.URL(), io.MultiReader(strings.NewReader("of unknown size"))); got != http.StatusOK {
		t.Errorf("with a smaller reserve: %d", got)
	}
	if _, total, err := in.List(t.Context(), Filter{}, 0); err != nil || total != 2 || r.bufferedBytes.Load() != 25 {
		t.Errorf("%d, %d bytes, %v", total, r.bufferedBytes.Load(), err)
	}
}

func TestTheDiskIsAskedForWhatIsFree(t *testing.T) {
	if free, err := freeBytes(t.TempDir()); err != nil || free == 0 {
		t.Errorf("%d, %v", free, err)
	}
	if _, err := freeBytes(filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("of no folder there is an answer")
	}
}

func TestEachHandsOutAFewAtATime(t *testing.T) {
	in := openInbox(t, t.TempDir())
	const many = 2*fullAtOnce + 3
	for i := range many {
		a := &arrival{identity: strconv.Itoa(i), done: make(chan placed, 1), row: row{Webhook: model.Webhook{
			At: time.Now(), File: "body-x", Headers: []model.WebhookHeader{{Name: "N", Value: strconv.Itoa(i + 1)}},
		}}}
		in.commitGroup(t.Context(), []*arrival{a})
		if got := <-a.done; got.err != nil {
			t.Fatal(got.err)
		}
	}
	for limit, want := range map[int]int{0: many, 1: 1, fullAtOnce: fullAtOnce, fullAtOnce + 1: fullAtOnce + 1, many + 9: many} {
		next := many
		err := in.Each(t.Context(), Filter{}, limit, func(d model.Webhook) error {
			if d.ID != model.WebhookID(int64(next)) || d.Header("n") != strconv.Itoa(next) {
				t.Errorf("%+v in place of %d", d, next)
			}
			next--
			return nil
		})
		if got := many - next; err != nil || got != want {
			t.Errorf("limit %d: %d, %v", limit, got, err)
		}
	}
	stop, seen := errors.New("stop"), 0
	err := in.Each(t.Context(), Filter{}, 0, func(model.Webhook) error {
		if seen++; seen == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || seen != 3 {
		t.Errorf("%d, %v", seen, err)
	}
}

func TestBodiesThatWerePutAsideAreCleanedUp(t *testing.T) {
	in := openInbox(t, t.TempDir())
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	in.clock = clock(func() time.Time { return at })
	put := func(name string) string {
		t.Helper()
		dir := filepath.Join(in.dir, name)
		noerr.Must(t, os.Mkdir(dir, 0o700))
		noerr.Must(t, os.WriteFile(filepath.Join(dir, "body-x"), []byte("1234567890"), 0o600))
		return dir
	}
	young, older, old := put("unlisted-20261123T110000Z"), put("unlisted-20261122T120000Z"), put("unlisted-20261020T120000Z")
	other := put("unlisted-by-hand")
	left := func() (names []string) {
		for _, dir := range []string{young, older, old, other} {
			if _, err := os.Stat(dir); err == nil {
				names = append(names, filepath.Base(dir))
			}
		}
		return names
	}
	for _, c := range []struct {
		keep Retention
		want string
	}{
		{Retention{}, "unlisted-20261123T110000Z unlisted-20261122T120000Z unlisted-by-hand"},
		{Retention{Bytes: 19}, "unlisted-20261123T110000Z unlisted-by-hand"},
		{Retention{Age: time.Minute}, "unlisted-by-hand"},
	} {
		if freed, err := in.Prune(t.Context(), c.keep); err != nil || freed != 0 || strings.Join(left(), " ") != c.want {
			t.Errorf("%+v: %v, %d, %v", c.keep, left(), freed, err)
		}
	}
}
