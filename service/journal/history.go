package journal

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/database"
)

// KeyEvent is something that happened to a key: created, refreshed, deleted,
// found rejected, a step of a rotation. It never holds the key's value.
type KeyEvent struct {
	At      time.Time // zero means now
	Profile string
	Key     string
	Event   string // one word
	Text    string
}

// PutFetch queues a fetch and its line in the timeline. A body in memory is
// kept in the file, one on disk by its name. The credentials in the request's
// headers and URL are masked. r.ID must be set; a second fetch of the same id
// replaces the first.
func (j *Journal) PutFetch(ctx context.Context, profile string, r model.FetchResult) error {
	if r.ID == "" {
		return errors.New("keeping a fetch: it has no identifier")
	}
	a := fetchEntry(profile, r)
	body := r.Body.Bytes
	size := r.Body.Size
	r.Request = masked(r.Request)
	request, err := json.Marshal(r.Request)
	if err != nil {
		return fmt.Errorf("keeping fetch %s: %w", r.ID, err)
	}
	r.Request, r.Body.Bytes = model.FetchRequest{}, nil
	result, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keeping fetch %s: %w", r.ID, err)
	}
	at := a.At
	if at.IsZero() {
		at = j.now()
		a.At = at
	}
	return j.put(ctx, entry{bytes: int64(len(body) + len(request) + len(result)), write: func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx,
			`INSERT INTO fetches (id, at, request, result, body_file, body_size, body) VALUES (?,?,?,?,?,?,?)
			 ON CONFLICT (id) DO UPDATE SET at=excluded.at, request=excluded.request, result=excluded.result,
			 body_file=excluded.body_file, body_size=excluded.body_size, body=excluded.body`,
			r.ID, database.Micros(at), string(request), string(result), r.Body.File, size, body)
		if err != nil {
			return err
		}
		if a.Cause == model.CauseKeyRejected && a.Key != "" && !model.IsNewValue(a.Key) {
			// Before the fetch, which stays the newest line: it is what was done.
			if err := j.insertRejection(ctx, tx, rejection(at, profile, a.Key)); err != nil {
				return err
			}
		}
		return j.insertEntry(ctx, tx, a)
	}})
}

func fetchEntry(profile string, r model.FetchResult) model.HistoryEntry {
	cost, priced := r.Cost()
	r = r.AsProof()
	a := model.HistoryEntry{
		Cost: cost, Priced: priced,
		At: r.Started, Kind: model.HistoryFetch, Profile: profile,
		Zone: string(r.Request.Zone.Name), URL: maskURL(r.Request.Summary()), Via: r.Request.Via, Key: r.KeyName,
		Class: r.Diagnosis.Class, Cause: r.Diagnosis.Cause, Status: r.Status,
		Bytes: r.Body.Size, Total: r.Timing.Total, Ref: r.ID, Text: r.Diagnosis.Summary,
	}
	if a.Cause == model.CauseKeyRejected && model.IsNewValue(r.KeyName) {
		a.Text = "The service rejects the new value that a rotation was given; the key itself was not tried."
	}
	prove(&a, r.Proves, r.ServiceStatus)
	return a
}

// PutComparison queues a comparison and its line in the timeline. The credentials in the
// request's headers and URL are masked. t.ID must be set; one of the same id is replaced,
// and its line stays where it is.
func (j *Journal) PutComparison(ctx context.Context, t model.Grid) error {
	if t.ID == "" {
		return errors.New("keeping a comparison: it has no identifier")
	}
	t.Base = masked(t.Base)
	t.Cells = slices.Clone(t.Cells)
	for i := range t.Cells {
		t.Cells[i].Zone = maskedZone(t.Cells[i].Zone)
	}
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("keeping comparison %s: %w", t.ID, err)
	}
	a := comparisonEntry(t)
	return j.put(ctx, entry{bytes: int64(len(text)), write: func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO twins (id, at, twin) VALUES (?,?,?) ON CONFLICT (id) DO UPDATE SET at=excluded.at, twin=excluded.twin",
			t.ID, database.Micros(t.Started), string(text))
		if err != nil {
			return err
		}
		return j.replaceEntry(ctx, tx, a)
	}})
}

// PutCall writes the line of a call that has ended (see BeginCall), or of a batch; one of the same kind and Ref
// is replaced, and stays where it is. Unlike the others it waits for the disk: a line that could
// not be written stays queued, and the error says so.
func (j *Journal) PutCall(ctx context.Context, a model.HistoryEntry) error {
	return j.putCall(ctx, a, a.Ref)
}

// putCall writes the line of a call, and takes note of the flights that end with it.
func (j *Journal) putCall(ctx context.Context, a model.HistoryEntry, landed ...string) error {
	if a.Ref == "" {
		return errors.New("keeping a call: it has no identifier")
	}
	if a.At.IsZero() {
		a.At = j.now()
	}
	a.URL = maskURL(a.URL)
	err := j.put(ctx, entry{bytes: int64(len(a.URL) + len(a.Text)), write: func(ctx context.Context, tx *sql.Tx) error {
		return j.replaceEntry(ctx, tx, a)
	}})
	if err != nil {
		return err
	}
	for _, id := range landed {
		j.flights.landed(id)
	}
	return j.flush(ctx)
}

// replaceEntry replaces the line of the same kind and Ref, or writes a new one.
func (j *Journal) replaceEntry(ctx context.Context, tx *sql.Tx, a model.HistoryEntry) error {
	a.Source = cmp.Or(j.source, a.Source)
	done, err := tx.ExecContext(ctx, "UPDATE activity SET zone=?, via=?, class=?, cause=?, bytes=?, total=?, text=?, words=? WHERE kind=? AND ref=?",
		a.Zone, string(a.Via), string(a.Class), string(a.Cause), a.Bytes, int64(a.Total), a.Text, searchText(a), string(a.Kind), a.Ref)
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n > 0 && a.Priced {
		_, err = tx.ExecContext(ctx, "INSERT INTO activity_costs (id, cost) SELECT id, ? FROM activity WHERE kind=? AND ref=? ON CONFLICT (id) DO UPDATE SET cost=excluded.cost", a.Cost, string(a.Kind), a.Ref)
	}
	if err != nil || n > 0 {
		return err
	}
	return j.insertEntry(ctx, tx, a)
}

// comparisonEntry is a comparison in one line: its winner, or that it has none. It has no
// class, because its fetches count by themselves.
func comparisonEntry(t model.Grid) model.HistoryEntry {
	a := model.HistoryEntry{At: t.Started, Kind: model.HistoryComparison, Profile: t.Profile, URL: maskURL(t.Base.URL), Key: t.Base.Key, Ref: t.ID}
	ran := 0
	for _, c := range t.Cells {
		if len(c.Runs) > 0 {
			ran++
		}
	}
	compared := fmt.Sprintf("%d cells compared", ran)
	if ran == 1 {
		compared = "1 cell compared"
	}
	v := t.Verdict()
	if v.Winner < 0 {
		a.Text = compared + ": " + v.Reason
		return a
	}
	c := t.Cells[v.Winner]
	a.Zone, a.Via = string(c.Zone.Name), c.Via
	a.Total, _ = c.Total()
	a.Text = compared + "; this is " + v.Reason
	return a
}

// PutProbe queues a proxy test's line in the timeline.
func (j *Journal) PutProbe(ctx context.Context, profile string, r model.ProbeResult) error {
	r = r.AsProof()
	a := model.HistoryEntry{
		At: r.Started, Kind: model.HistoryProbe, Profile: profile,
		Zone: string(r.Zone.Name), URL: maskURL(r.Target), Via: model.ViaNative,
		Class: r.Diagnosis.Class, Cause: r.Diagnosis.Cause, Status: r.TargetStatus,
		Total: r.Timing.Total, Text: r.Diagnosis.Summary, Cost: r.Spend.Dollars, Priced: r.Spend.Priced > 0,
	}
	prove(&a, r.Proves, r.ConnectStatus)
	return j.PutEntry(ctx, a)
}

// prove marks a line whose call a rotation made for a step. Where the target reported no status, the line has
// that of the service or of the proxy.
func prove(a *model.HistoryEntry, step string, status int) {
	if step == "" {
		return
	}
	a.Text, a.Source = strings.TrimSpace("Proof for "+step+". "+a.Text), model.SourceRotation
	a.Status = cmp.Or(a.Status, status)
}

// PutEntry queues a line of the timeline; its ID is given when it is
// written, and a zero At means now.
func (j *Journal) PutEntry(ctx context.Context, a model.HistoryEntry) error {
	a.URL = maskURL(a.URL)
	if a.At.IsZero() {
		a.At = j.now()
	}
	return j.put(ctx, entry{bytes: int64(len(a.URL) + len(a.Text)), write: func(ctx context.Context, tx *sql.Tx) error {
		return j.insertEntry(ctx, tx, a)
	}})
}

// PutKeyEvent queues an event of a key and its line in the timeline.
func (j *Journal) PutKeyEvent(ctx context.Context, e KeyEvent) error {
	if e.At.IsZero() {
		e.At = j.now()
	}
	return j.put(ctx, entry{bytes: int64(len(e.Text)), write: func(ctx context.Context, tx *sql.Tx) error {
		return j.insertKeyEvent(ctx, tx, e)
	}})
}

// PutKeyRejected queues that the service rejected a key at a time. A fetch tells it by itself. While
// a key is rejected again and again, there is one event an hour.
func (j *Journal) PutKeyRejected(ctx context.Context, at time.Time, profile, key string) error {
	e := rejection(at, profile, key)
	return j.put(ctx, entry{bytes: int64(len(e.Text)), write: func(ctx context.Context, tx *sql.Tx) error {
		return j.insertRejection(ctx, tx, e)
	}})
}

// EventRecorded is the word of a key's event: it came into the inventory.
const EventRecorded = "recorded"

// EventUsed is the word of a key's event that is a use of it without a line of another kind.
const EventUsed = "used"

// eventRejected is the word of a key's event: the service did not accept it.
const eventRejected = "rejected"

// rejectionsEvery is how long after a rejection the next one of the same key is worth a line.
const rejectionsEvery = time.Hour

func rejection(at time.Time, profile, key string) KeyEvent {
	return KeyEvent{At: at, Profile: profile, Key: key, Event: eventRejected, Text: "by the service: its value, its expiry, or a refresh elsewhere"}
}

func (j *Journal) insertRejection(ctx context.Context, tx *sql.Tx, e KeyEvent) error {
	var last string
	var at int64
	err := tx.QueryRowContext(ctx, "SELECT event, at FROM key_events WHERE key = ? AND profile = ? ORDER BY id DESC LIMIT 1", e.Key, e.Profile).Scan(&last, &at)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	case last == eventRejected && database.Micros(e.At)-at < rejectionsEvery.Microseconds():
		return nil
	}
	return j.insertKeyEvent(ctx, tx, e)
}

func (j *Journal) insertKeyEvent(ctx context.Context, tx *sql.Tx, e KeyEvent) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO key_events (at, profile, key, event, text) VALUES (?,?,?,?,?)",
		database.Micros(e.At), e.Profile, e.Key, e.Event, e.Text)
	if err != nil {
		return err
	}
	return j.insertEntry(ctx, tx, model.HistoryEntry{
		At: e.At, Kind: model.HistoryKey, Profile: e.Profile, Key: e.Key, Ref: e.Key,
		Text: strings.TrimSpace(e.Event + " " + e.Text),
	})
}

func (j *Journal) insertEntry(ctx context.Context, tx *sql.Tx, a model.HistoryEntry) error {
	a.Source = cmp.Or(j.source, a.Source)
	done, err := tx.ExecContext(ctx,
		`INSERT INTO activity (at, kind, profile, zone, url, via, key, class, cause, status, bytes, total, ref, text, words)
		 VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		database.Micros(a.At), string(a.Kind), a.Profile, a.Zone, a.URL, string(a.Via), a.Key, string(a.Class), string(a.Cause),
		a.Status, a.Bytes, int64(a.Total), a.Ref, a.Text, searchText(a))
	if err != nil || !a.Priced && a.Source == "" {
		return err
	}
	id, err := done.LastInsertId()
	if err == nil && a.Priced {
		_, err = tx.ExecContext(ctx, "INSERT INTO activity_costs (id, cost) VALUES (?,?)", id, a.Cost)
	}
	if err == nil && a.Source != "" {
		_, err = tx.ExecContext(ctx, "INSERT INTO activity_sources (id, source) VALUES (?,?)", id, a.Source)
	}
	return err
}

// searchText is what a search by words looks through: every text of the line, in
// lower case.
func searchText(a model.HistoryEntry) string {
	return spelled(strings.ToLower(strings.Join([]string{
		string(a.Kind), a.Profile, a.Zone, a.URL, string(a.Via), a.Key,
		string(a.Class), a.Class.Label(), string(a.Cause), strconv.Itoa(a.Status), a.Ref, a.Text, a.Source,
	}, "\n")))
}

// masked is the request without the credentials it carries to its target, in the
// headers that model.SecretName knows; what it carries in other places is the
// operator's own content and is kept. A variable is none. A command that gives the zone's
// password, or a variable's value, goes, too: it may hold a token among its arguments, and
// the profile has it.
func masked(r model.FetchRequest) model.FetchRequest {
	r.URL = maskURL(r.URL)
	r.Zone = maskedZone(r.Zone)
	r.Header = r.Header.Clone()
	for name, values := range r.Header {
		value := func(v string) bool { return len(r.Secrets) == 0 || !model.OnlyVariable(v) }
		if model.SecretName(name) && slices.ContainsFunc(values, value) {
			r.Header[name] = []string{model.Masked}
		}
	}
	r.Secrets = maps.Clone(r.Secrets)
	for name, ref := range r.Secrets {
		if strings.HasPrefix(ref, "cmd:") {
			r.Secrets[name] = ""
		}
	}
	return r
}

func maskedZone(z model.Zone) model.Zone {
	if strings.HasPrefix(z.Password, "cmd:") {
		z.Password = ""
	}
	return z
}

// maskURL takes the password out of a URL's user part. A text with an "@" that
// cannot be parsed loses everything before it.
func maskURL(s string) string {
	if !strings.Contains(s, "@") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		return model.Masked + s[strings.LastIndex(s, "@"):]
	}
	if _, has := u.User.Password(); !has {
		return s
	}
	u.User = url.UserPassword(u.User.Username(), "xxxxx")
	return u.String()
}
