package rotate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
)

// client is curl in a loop. It reads its header from a file before each call, so that no secret
// is among its arguments.
type client struct {
	config string
	codes  chan string
	stop   context.CancelFunc
	ended  chan struct{}
}

func startClient(t *testing.T, p place, value keystore.Secret) *client {
	t.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("install curl to run this test")
	}
	ctx, stop := context.WithCancel(t.Context())
	c := &client{config: filepath.Join(p.Dir, "client.conf"), codes: make(chan string, 1<<16), stop: stop, ended: make(chan struct{})}
	c.write(t, value)
	go func() {
		defer close(c.ended)
		for ctx.Err() == nil {
			out, err := exec.Command(curl, "--silent", "--show-error", "--config", c.config, "--output", os.DevNull, "--write-out", "%{http_code}",
				"--header", "Content-Type: application/json", "--data", `{"zone":"unlocker_demo","url":"http://lab.test/ok","format":"raw"}`,
				p.Profile.BaseURL+"/request").CombinedOutput()
			if err != nil {
				c.codes <- fmt.Sprintf("%v: %s", err, out)
				return
			}
			c.codes <- string(out)
		}
	}()
	t.Cleanup(func() { stop(); <-c.ended })
	return c
}

// write is what a person does: the file gets another value in one step.
func (c *client) write(t *testing.T, value keystore.Secret) {
	t.Helper()
	noerr.Must(t, textfile.Write(c.config, []byte("header = \"Authorization: Bearer "+value.Reveal()+"\"\n")))
}

// calls waits until the client has made so many more calls, all of which are answered with 200.
func (c *client) calls(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case code := <-c.codes:
			if code != "200" {
				t.Fatalf("the client was answered %s", code)
			}
		case <-time.After(time.Minute):
			t.Fatal("the client makes no calls")
		}
	}
}

// TestAClientSeesNoRefusedCall rotates a key under a client that goes on calling. The emulator's
// journal has every call of it, and one that was refused: the proof's.
func TestAClientSeesNoRefusedCall(t *testing.T) {
	p := newPlace(t, start(t), "live")
	old, err := p.secrets().Resolve(t.Context(), p.Key.Secret)
	noerr.Must(t, err)
	c := startClient(t, p, old)
	p.Users = append(p.Users, keystore.RotationUser{Name: "client.conf:1", File: c.config})
	c.calls(t, 3)
	e, plan := p.begin(t, p.config(), keystore.RotateByNewKey)
	var stop *rotate.StopError
	plan, err = e.Run(t.Context(), plan.ID, "", nil)
	if !errors.As(err, &stop) || stop.Step.Kind != keystore.StepSet || stop.Step.Subject != c.config || stop.Vouch {
		t.Fatalf("%v, want that a person writes %s, and no vouching", err, c.config)
	}
	c.calls(t, 3)
	value := noerr.Try(p.secrets().Resolve(t.Context(), plan.NewHeld)).Must(t)
	c.write(t, value)
	c.calls(t, len(c.codes)+2) // calls come one after the other: the last of these was begun with the new value
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	c.calls(t, 3)
	c.stop()
	<-c.ended
	c.calls(t, len(c.codes))
	p.Users = p.Users[:2] // the file is no reference
	p.wantDone(t, plan)

	page := noerr.Try(p.settings().Newest(t.Context(), 5000)).Must(t)
	refused, byName := 0, map[string]int{}
	for _, q := range page.Requests {
		byName[q.Key]++
		if q.Status != http.StatusOK {
			refused++
			if q.Status != http.StatusUnauthorized || strings.HasPrefix(q.Header["User-Agent"], "curl") {
				t.Errorf("%s %s: %d from %s", q.Method, q.URL, q.Status, q.Header["User-Agent"])
			}
		}
	}
	if refused != 1 || byName["live"] < 6 || byName["live-2"] < 6 {
		t.Errorf("%d calls were refused, want the proof's alone; calls by key: %v", refused, byName)
	}
}

// inUse are account settings whose journal has one more use of a key each time it is read.
type inUse struct {
	*rehearsal.Client
	key  string
	seen []rehearsal.Request
}

func (u *inUse) Newest(ctx context.Context, limit int) (rehearsal.Page, error) {
	page, err := u.Client.Newest(ctx, limit)
	if u.key != "" {
		u.seen = append(u.seen, rehearsal.Request{
			Seq: page.Last + uint64(len(u.seen)) + 1, Time: time.Now(), Point: "api", Method: "POST", URL: "/request", Key: u.key, Remote: "127.0.0.1:4", Header: map[string]string{"User-Agent": "curl/8"}, Status: 200,
		})
	}
	page.Requests = append(page.Requests, u.seen...)
	page.Last += uint64(len(u.seen))
	return page, err
}

// TestAKeyInUseIsNotDeleted lets a client send the old value after every reference was set.
func TestAKeyInUseIsNotDeleted(t *testing.T) {
	p := newPlace(t, start(t), "busy")
	settings := &inUse{Client: p.settings(), key: "busy"}
	c := p.config()
	c.Settings = func(keystore.RotationPlan) rotate.Settings { return settings }
	var ahead time.Duration
	c.Now = func(keystore.RotationPlan) time.Time { return time.Now().Add(ahead) }
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	var stop *rotate.StopError
	for _, ahead = range []time.Duration{0, 30 * time.Second} { // at once, and after a silence that says little
		var err error
		plan, err = e.Run(t.Context(), plan.ID, "", nil)
		if !errors.As(err, &stop) || stop.Step.Kind != keystore.StepDelete || stop.Vouch ||
			!strings.Contains(stop.Advice, "busy is still in use") || !strings.Contains(stop.Advice, "curl") {
			t.Fatalf("%v, want that the old key is still in use, and by what", err)
		}
		settings.key = ""
	}
	ahead = 2 * time.Minute
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantDone(t, plan)
}

// TestASilenceShorterThanTheGapsBetweenUsesIsNoProof begins with a journal in which a client calls
// every 20 seconds, last when the references are set.
func TestASilenceShorterThanTheGapsBetweenUsesIsNoProof(t *testing.T) {
	p := newPlace(t, start(t), "seldom")
	settings := &inUse{Client: p.settings()}
	now := time.Now()
	for _, at := range []time.Time{now.Add(-20 * time.Second), now} { // before all that the service's journal has, however late that is written
		settings.seen = append(settings.seen, rehearsal.Request{Seq: 1, Time: at, Key: "seldom", Header: map[string]string{"User-Agent": "curl/8"}, Status: 200})
	}
	c := p.config()
	c.Settings = func(keystore.RotationPlan) rotate.Settings { return settings }
	c.Now = func(keystore.RotationPlan) time.Time { return now }
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	var stop *rotate.StopError
	_, err := e.Run(t.Context(), plan.ID, "", nil)
	if !errors.As(err, &stop) || stop.Step.Kind != keystore.StepDelete || strings.Contains(stop.Advice, "in use") || !strings.Contains(stop.Advice, "go on after "+now.UTC().Add(40*time.Second).Format("15:04:05Z")) {
		t.Fatalf("%v, want that it is deleted after twice the gap", err)
	}
	now = now.Add(40 * time.Second)
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantDone(t, plan)
}

func TestARefreshMeasuresItsOutage(t *testing.T) {
	p := newPlace(t, start(t), "fresh")
	c := p.config()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	c.Now = func(keystore.RotationPlan) time.Time { at = at.Add(time.Second); return at }
	e, plan := p.begin(t, c, keystore.RotateByRefresh)
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantDone(t, plan)
	set, _ := plan.Step(keystore.StepSet, p.Users[1].Ref)
	window := set.At.Sub(plan.LastOld)
	s, _ := plan.Step(keystore.StepRefused, "")
	if window <= 0 || !set.At.After(plan.FirstNew) || !strings.Contains(s.Note, "no value worked everywhere for "+window.String()) {
		t.Errorf("from %s to %s, %q", plan.LastOld, set.At, s.Note)
	}
	if plan.Steps[0].Kind != keystore.StepRefresh || slices.ContainsFunc(plan.Steps, func(s keystore.RotationStep) bool { return s.Kind == keystore.StepDelete }) {
		t.Errorf("its steps are %+v", plan.Steps)
	}
}

// TestAJobInFlightStopsIt sees that nothing is created before a job of the old key has ended, or a
// person has released it.
func TestAJobInFlightStopsIt(t *testing.T) {
	for _, release := range []bool{false, true} {
		p := newPlace(t, start(t), "drained")
		p.Users = append(p.Users, keystore.RotationUser{Name: "job-7", InFlight: true})
		c := p.config()
		users := slices.Clone(p.Users)
		c.Users = func(context.Context, model.Key) ([]keystore.RotationUser, error) { return users, nil }
		e, plan := p.begin(t, c, keystore.RotateByNewKey)
		var stop *rotate.StopError
		plan, err := e.Run(t.Context(), plan.ID, "", nil)
		if !errors.As(err, &stop) || stop.Step.Name() != "drain job-7" || !stop.Vouch {
			t.Fatalf("%v, want a stop before the job", err)
		}
		if keys, err := p.settings().Keys(t.Context()); err != nil || slices.ContainsFunc(keys, func(k rehearsal.Key) bool { return k.Name == "drained-2" }) {
			t.Fatalf("a key was created under a job in flight: %v", err)
		}
		want := keystore.Measured
		if release {
			want = keystore.Vouched
			plan = noerr.Try(e.Vouch(t.Context(), plan.ID, stop.Step, "it is collected elsewhere")).Must(t)
		} else {
			users = users[:2]
		}
		plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
		if plan.Steps[0].By != want || !plan.Over() {
			t.Errorf("released %v: %+v", release, plan.Steps)
		}
	}
}

// TestWhatComesToUseTheKeyLaterIsPartOfIt lets a job and two profiles come after the rotation began,
// before the old value ends.
func TestWhatComesToUseTheKeyLaterIsPartOfIt(t *testing.T) {
	for method, word := range map[keystore.RotationMethod]keystore.RotationWord{keystore.RotateByNewKey: keystore.WordTest, keystore.RotateByRefresh: ""} {
		p := newPlace(t, start(t), "later")
		old, err := p.secrets().Resolve(t.Context(), p.Key.Secret)
		noerr.Must(t, err)
		c := p.config()
		users := slices.Clone(p.Users)
		c.Users = func(context.Context, model.Key) ([]keystore.RotationUser, error) { return slices.Clone(users), nil }
		e, plan := p.begin(t, c, method)
		if word != "" {
			plan = noerr.Try(e.Run(t.Context(), plan.ID, word, nil)).Must(t)
		}
		other := keystore.RotationUser{Name: "profile new", Ref: "file:later-other"}
		noerr.Must(t, p.secrets().Store(t.Context(), other.Ref, old))
		users = append(users, keystore.RotationUser{Name: "job-9", InFlight: true}, other, keystore.RotationUser{Name: "profile same", Ref: p.Key.Secret})
		var stop *rotate.StopError
		plan, err = e.Run(t.Context(), plan.ID, "", nil)
		if !errors.As(err, &stop) || stop.Step.Name() != "drain job-9" || !p.works(t, old) {
			t.Fatalf("%s: %v, want a stop before the job", method, err)
		}
		users = slices.DeleteFunc(users, func(u keystore.RotationUser) bool { return u.InFlight })
		plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
		p.Users = users
		p.wantDone(t, plan)
		for _, name := range []string{"profile new", "profile same"} {
			if s, ok := plan.Step(keystore.StepTest, name); !ok || s.Status != http.StatusOK {
				t.Errorf("%s: no call of %s was made: %+v", method, name, s)
			}
		}
	}
}

// TestAKeyThatNoLongerWorksIsRefreshed begins with a value that is refused, as that of an expired key.
func TestAKeyThatNoLongerWorksIsRefreshed(t *testing.T) {
	p := newPlace(t, start(t), "dead")
	noerr.Must(t, noerr.From(p.settings().RefreshKey(t.Context(), "dead")))
	e, plan := p.begin(t, p.config(), keystore.RotateByRefresh)
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantDone(t, plan)
	if s, _ := plan.Step(keystore.StepRefused, ""); !strings.Contains(s.Note, "refused before the refresh, too") || !plan.LastOld.IsZero() {
		t.Errorf("%q, the last call with the old value at %s", s.Note, plan.LastOld)
	}
}

// TestWhatIsMeasuredIsNotVouchedFor asks to vouch for each step that the console can measure.
func TestWhatIsMeasuredIsNotVouchedFor(t *testing.T) {
	p := newPlace(t, start(t), "strict")
	e, plan := p.begin(t, p.config(), keystore.RotateByNewKey)
	for plan.Now() >= 0 {
		s := plan.Steps[plan.Now()]
		if s.Kind != keystore.StepWatch {
			if _, err := e.Vouch(t.Context(), plan.ID, s, ""); err == nil {
				t.Errorf("%s was ticked on a person's word", s.Name())
			}
		}
		steps := 0
		ctx, stop := context.WithCancel(t.Context())
		next, err := e.Run(ctx, plan.ID, "", func(keystore.RotationPlan) { steps++; stop() }) // one step
		if err != nil && !errors.Is(err, context.Canceled) || steps != 1 {
			t.Fatalf("%d steps, %v", steps, err)
		}
		plan = next
	}
	p.wantDone(t, plan)
}

// TestAReferenceWithAThirdValueIsLeftAlone puts another value behind a reference meanwhile.
func TestAReferenceWithAThirdValueIsLeftAlone(t *testing.T) {
	p := newPlace(t, start(t), "third")
	e, plan := p.begin(t, p.config(), keystore.RotateByNewKey)
	noerr.Must(t, noerr.From(e.Run(t.Context(), plan.ID, keystore.WordCreate, nil)))
	other := keystore.NewSecret("another-value-of-somebody")
	noerr.Must(t, p.secrets().Store(t.Context(), p.Users[1].Ref, other))
	if _, err := e.Run(t.Context(), plan.ID, "", nil); err == nil || !strings.Contains(err.Error(), "neither the old value nor the new one") {
		t.Errorf("%v, want that it is left as it is", err)
	}
	if got, err := p.secrets().Resolve(t.Context(), p.Users[1].Ref); err != nil || !got.Equal(other) {
		t.Errorf("it was overwritten: %v", err)
	}
}

// TestNoValueIsInTheRecord searches everything that a rotation leaves behind.
func TestNoValueIsInTheRecord(t *testing.T) {
	p := newPlace(t, start(t), "secretive")
	old := noerr.Try(p.secrets().Resolve(t.Context(), p.Key.Secret)).Must(t)
	e, plan := p.begin(t, p.config(), keystore.RotateByNewKey)
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	fresh := noerr.Try(p.secrets().Resolve(t.Context(), p.Key.Secret)).Must(t)
	record := noerr.Try(os.ReadFile(filepath.Join(p.Dir, "rotations", plan.ID+".json"))).Must(t)
	report := rotate.Report(plan)
	for _, value := range []keystore.Secret{old, fresh} {
		if strings.Contains(string(record), value.Reveal()) || strings.Contains(report, value.Reveal()) {
			t.Errorf("the value %s is written down", value.Last4())
		}
		if !strings.Contains(report, value.Fingerprint()) {
			t.Errorf("the report does not name the value %s", value.Fingerprint())
		}
	}
	for _, s := range plan.Steps {
		if !strings.Contains(report, "| "+s.Name()+" | measured |") {
			t.Errorf("the report says nothing of %s", s.Name())
		}
	}
}

// TestAUserThatCannotBeCalledIsVouchedFor has a user whose reference the console sets and reads back,
// and whose call it cannot make.
func TestAUserThatCannotBeCalledIsVouchedFor(t *testing.T) {
	p := newPlace(t, start(t), "uncalled")
	p.Users[1].Reason = "it names no zone"
	e, plan := p.begin(t, p.config(), keystore.RotateByNewKey)
	var stop *rotate.StopError
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	if !errors.As(err, &stop) || stop.Step.Kind != keystore.StepTest || stop.Step.Subject != p.Users[1].Name || !stop.Vouch || !strings.Contains(stop.Advice, "it names no zone") {
		t.Fatalf("%v, want that its call is vouched for", err)
	}
	if set, _ := plan.Step(keystore.StepSet, p.Users[1].Ref); !set.Done || set.By != keystore.Measured {
		t.Errorf("set: %+v", set)
	}
	noerr.Must(t, noerr.From(e.Vouch(t.Context(), plan.ID, stop.Step, "its log")))
	if plan, err = e.Run(t.Context(), plan.ID, "", nil); err != nil || !plan.Over() {
		t.Errorf("%v: %+v", err, plan.Steps)
	}
}

// TestCallsGoToTheServiceOfTheKey sees that the calls of the key itself, with the new value and with
// the old one, are made as the profile that uses it.
func TestCallsGoToTheServiceOfTheKey(t *testing.T) {
	p := newPlace(t, start(t), "homely")
	p.Users[0].Profile, p.Users[0].Reason = "closed", "it names no zone"
	p.Users[1].Profile = "acme"
	c := p.config()
	prove, calls := c.Prove, 0
	c.Prove = func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
		if calls++; call.User.Profile != "acme" {
			t.Errorf("a call with %s is made as %+v", call.Key.Name, call.User)
		}
		return prove(ctx, call)
	}
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	for _, step := range []keystore.RotationStepKind{keystore.StepTest, ""} {
		var stop *rotate.StopError
		var err error
		if plan, err = e.Run(t.Context(), plan.ID, "", nil); errors.As(err, &stop) && stop.Step.Kind == step {
			plan, err = e.Vouch(t.Context(), plan.ID, stop.Step, "")
		}
		noerr.Must(t, err)
	}
	if !plan.Over() || calls != 5 { // create, one user, and the old value between two of the new one
		t.Errorf("%d calls, over %v", calls, plan.Over())
	}
}

// TestARefreshByAPersonMeasuresItsOutage has nobody but a person who can work the account settings.
func TestARefreshByAPersonMeasuresItsOutage(t *testing.T) {
	p := newPlace(t, start(t), "byhand")
	c := p.config()
	c.Settings = nil
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	c.Now = func(keystore.RotationPlan) time.Time { at = at.Add(time.Second); return at }
	e, plan := p.begin(t, c, keystore.RotateByRefresh)
	var stop *rotate.StopError
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	if !errors.As(err, &stop) || !stop.Value || strings.Contains(stop.Advice, "cannot be measured") {
		t.Fatalf("%v", err)
	}
	worked := plan.LastOld
	made := noerr.Try(p.settings().RefreshKey(t.Context(), "byhand")).Must(t)
	if plan, err = e.Run(t.Context(), plan.ID, "", nil); !errors.As(err, &stop) || !plan.LastOld.Equal(worked) || worked.IsZero() {
		t.Fatalf("asked again, after the refresh: %v, %s, before %s", err, plan.LastOld, worked)
	}
	noerr.Must(t, noerr.From(e.Give(t.Context(), plan.ID, keystore.NewSecret(made.Value), "")))
	plan, _ = e.Run(t.Context(), plan.ID, "", nil)
	s, _ := plan.Step(keystore.StepRefused, "")
	set, _ := plan.Step(keystore.StepSet, p.Users[1].Ref)
	if window := set.At.Sub(worked); window <= 0 || !set.At.After(plan.FirstNew) || !strings.Contains(s.Note, "no value worked everywhere for "+window.String()) {
		t.Errorf("from %s to %s, %q", plan.LastOld, set.At, s.Note)
	}
}

func TestANewKeyLivesAsLongAsItsLevelIsUsed(t *testing.T) {
	for name, successor := range map[string]string{"etl-100": "etl-2", "etl-2026": "etl-2026-2"} { // a year counts no keys
		p := newPlace(t, start(t), name)
		c := p.config()
		at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		c.Now = func(keystore.RotationPlan) time.Time { return at }
		c.Days = func(level model.Level) int { return map[model.Level]int{model.LevelOps: 30}[level] }
		e, plan := p.begin(t, c, keystore.RotateByNewKey)
		plan, err := e.Run(t.Context(), plan.ID, keystore.WordCreate, nil)
		if err != nil || plan.NewExpires != "2026-12-22T12:00:00Z" || plan.NewName != successor {
			t.Errorf("%s expires %s, %v", plan.NewName, plan.NewExpires, err)
		}
	}
}
