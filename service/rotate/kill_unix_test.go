//go:build unix

package rotate_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
	"zonedeck/service/servicetest"
)

// childPlace is the variable with a place, as JSON: the test binary is then a console that
// rotates. childKill says after how many halves of actions it kills itself, childWait that it
// waits for a line before its first call with a key.
const (
	childPlace = "ROTATE_TEST_PLACE"
	childKill  = "ROTATE_TEST_KILL"
	childWait  = "ROTATE_TEST_WAIT"
	// childWay is how it rotates: by a new key, by a refresh, byHand (with an env file that a person writes
	// and a job that has to end), or byHand with a mistyped value first.
	childWay = "ROTATE_TEST_WAY"
	byHand   = "by hand"
	mistyped = "by hand, mistyped first"
	// aPassword rotates a zone's password.
	aPassword = "password"
	// giveUp gives the rotation up.
	giveUp = "give up"
)

func TestMain(m *testing.M) {
	if raw := os.Getenv(childPlace); raw != "" {
		os.Exit(rotateAsChild(raw))
	}
	os.Exit(m.Run())
}

// childTold is what a child prints when it ends.
type childTold struct {
	Created, Deleted int
	Elsewhere        bool
	Err              string
}

func rotateAsChild(raw string) int {
	var p place
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	p.Profile.Can = dialect.Embedded()
	f := &fatal{points: -1}
	if n, err := strconv.Atoi(os.Getenv(childKill)); err == nil {
		f.points = n
	}
	told := p.rotate(os.Getenv(childWay), f, os.Getenv(childWait) != "")
	out, _ := json.Marshal(told)
	fmt.Println(string(out))
	return 0
}

// goOn goes on with a rotation in this process, whoever began it, and returns why it did not end.
func (p place) goOn(way string) string { return p.rotate(way, &fatal{points: -1}, false).Err }

// rotate takes a rotation to its end in a way, and begins it where there is none.
func (p place) rotate(way string, f *fatal, waiting bool) childTold {
	c := p.config()
	settings := &mortalSettings{p.settings(), f, childTold{}}
	c.Settings = func(keystore.RotationPlan) rotate.Settings { return settings }
	c.Records, c.Secrets = mortalRecords{p.records(), f}, mortalSecrets{p.secrets(), f}
	prove := c.Prove
	c.Prove = func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
		if waiting {
			waiting = false
			fmt.Println("waiting")
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		}
		f.point()
		defer f.point()
		return prove(ctx, call)
	}
	method := keystore.RotateByNewKey
	switch way {
	case string(keystore.RotateByRefresh):
		method = keystore.RotateByRefresh
	case byHand, mistyped:
		c.Settings = nil
	}
	c.TookOver = func(_ context.Context, r keystore.RotationPlan) error { // the inventory
		f.point()
		defer f.point()
		return os.WriteFile(p.inventory(), []byte(r.Rotated(p.Key).Fingerprint), 0o600)
	}
	c.Passwords = mortalPasswords{c.Passwords, f}
	e := c.engine()
	told := &settings.told
	plans, err := p.records().List()
	if err == nil && len(plans) == 0 {
		plans = make([]keystore.RotationPlan, 1)
		if way == aPassword {
			plans[0], err = e.Begin(context.Background(), p.password())
		} else {
			plans[0], err = e.Begin(context.Background(), rotate.Subject{Key: p.Key, Method: method})
		}
	}
	var stop *rotate.StopError
	if way == giveUp && err == nil {
		_, err = e.Abandon(context.Background(), plans[0].ID)
	}
	for err == nil && way != giveUp {
		if _, err = e.Run(context.Background(), plans[0].ID, "", nil); err == nil {
			break
		}
		if (way == byHand || way == mistyped) && errors.As(err, &stop) {
			err = p.person(e, plans[0].ID, stop, way == mistyped)
		}
	}
	if err != nil {
		told.Err, told.Elsewhere = err.Error(), errors.Is(err, rotate.ErrRunning)
	}
	return *told
}

// inventory is a file with the fingerprint that the key's record has.
func (p place) inventory() string { return filepath.Join(p.Dir, "inventory") }

// person does in the account settings what a rotation asks for; one who mistypes gives a wrong value
// until it was seen refused.
func (p place) person(e *rotate.Engine, id string, stop *rotate.StopError, mistypes bool) error {
	ctx, name := context.Background(), p.Key.Name+"-2"
	switch {
	case stop.Value && mistypes && !strings.Contains(stop.Advice, "does not accept"):
		_, err := e.Give(ctx, id, keystore.NewSecret("mistyped-value-0123456789"), "")
		return err
	case stop.Value:
		made, err := p.settings().CreateKey(ctx, rehearsal.Key{Name: name, Level: "OPS", Duty: "batch job", Expires: "Unlimited"})
		if err != nil { // the value of the first time was not given
			made, err = p.settings().RefreshKey(ctx, name)
		}
		if err == nil {
			_, err = e.Give(ctx, id, keystore.NewSecret(made.Value), "2027-01-31")
		}
		return err
	case stop.Step.Kind == keystore.StepDelete:
		return p.settings().DeleteKey(ctx, p.Key.Name)
	case stop.Step.Kind == keystore.StepDrain: // the job ends
		return os.Remove(p.jobFile())
	case stop.Step.Kind == keystore.StepSet:
		plan, err := p.records().Get(id)
		if err != nil {
			return err
		}
		value, err := p.secrets().Resolve(ctx, plan.NewHeld)
		if err != nil {
			return err
		}
		return p.writeEnv(stop.Step.Subject, value)
	}
	return stop
}

// fatal kills the process at one of its points.
type fatal struct{ points int }

func (f *fatal) point() {
	if f.points == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
	f.points--
}

type mortalRecords struct {
	*keystore.Rotations
	f *fatal
}

func (r mortalRecords) Start(ctx context.Context, p keystore.RotationPlan) error {
	r.f.point()
	defer r.f.point()
	return r.Rotations.Start(ctx, p)
}

func (r mortalRecords) Update(ctx context.Context, id string, change func(keystore.RotationPlan) (keystore.RotationPlan, error)) (keystore.RotationPlan, error) {
	r.f.point()
	defer r.f.point()
	return r.Rotations.Update(ctx, id, change)
}

type mortalSecrets struct {
	*keystore.Resolver
	f *fatal
}

func (s mortalSecrets) Store(ctx context.Context, ref string, v keystore.Secret) error {
	s.f.point()
	defer s.f.point()
	return s.Resolver.Store(ctx, ref, v)
}

func (s mortalSecrets) Remove(ctx context.Context, ref string) error {
	s.f.point()
	defer s.f.point()
	return s.Resolver.Remove(ctx, ref)
}

type mortalPasswords struct {
	rotate.Passwords
	f *fatal
}

func (m mortalPasswords) Add(ctx context.Context, r keystore.RotationPlan, value keystore.Secret) error {
	m.f.point()
	defer m.f.point()
	return m.Passwords.Add(ctx, r, value)
}

func (m mortalPasswords) Remove(ctx context.Context, r keystore.RotationPlan, value keystore.Secret) error {
	m.f.point()
	defer m.f.point()
	return m.Passwords.Remove(ctx, r, value)
}

func (m mortalPasswords) Login(ctx context.Context, r keystore.RotationPlan, u keystore.RotationUser, l exchange.LoginProof) (keystore.Proof, error) {
	m.f.point()
	defer m.f.point()
	return m.Passwords.Login(ctx, r, u, l)
}

type mortalSettings struct {
	*rehearsal.Client
	f    *fatal
	told childTold
}

func (s *mortalSettings) CreateKey(ctx context.Context, k rehearsal.Key) (rehearsal.Key, error) {
	s.f.point()
	defer s.f.point()
	s.told.Created++
	return s.Client.CreateKey(ctx, k)
}

func (s *mortalSettings) RefreshKey(ctx context.Context, name string) (rehearsal.Key, error) {
	s.f.point()
	defer s.f.point()
	return s.Client.RefreshKey(ctx, name)
}

func (s *mortalSettings) DeleteKey(ctx context.Context, name string) error {
	s.f.point()
	defer s.f.point()
	s.told.Deleted++
	return s.Client.DeleteKey(ctx, name)
}

// child prepares a process that rotates.
func (p place) child(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	p.Profile.Can = nil // the child sets it
	raw := noerr.Try(json.Marshal(p)).Must(t)
	exe := noerr.Try(os.Executable()).Must(t)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childPlace+"="+string(raw),
		"GORACE=atexit_sleep_ms=0",                                          // else a child under the race detector waits a second before it ends
		"SSL_CERT_FILE="+os.DevNull, "SSL_CERT_DIR="+os.DevNull, "GOGC=off") // it lives for milliseconds and trusts the emulator alone
	cmd.Env, cmd.Stderr = append(cmd.Env, env...), os.Stderr
	return cmd
}

// killed runs a child that kills itself after so many halves of actions. It is false if the rotation had fewer
// and went well.
func (p place) killed(t *testing.T, way string, n int) bool {
	t.Helper()
	out, err := p.child(t, childWay+"="+way, fmt.Sprintf("%s=%d", childKill, n)).Output()
	if err == nil {
		if told := toldBy(t, out); told.Err != "" {
			t.Fatal(told.Err)
		}
		return false
	}
	ended := (*exec.ExitError)(nil)
	if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("kill %d: %v", n, err)
	}
	return true
}

func toldBy(t *testing.T, out []byte) (told childTold) {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &told); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return told
}

// TestKilledAtEveryActionItGoesOnToTheEnd kills a process before and after each action of a
// rotation: writes of the record, writes of secrets, calls. Another process then goes on to the
// end, and there is one new key.
func TestKilledAtEveryActionItGoesOnToTheEnd(t *testing.T) {
	t.Parallel()
	for _, way := range []string{string(keystore.RotateByNewKey), string(keystore.RotateByRefresh), byHand, mistyped, aPassword} {
		t.Run(way, func(t *testing.T) {
			t.Parallel() // each has an account of its own
			killedAtEvery(t, way)
		})
	}
}

func killedAtEvery(t *testing.T, kind string) {
	var demo servicetest.Demo
	kills, least := 0, 40
	switch kind {
	case mistyped:
		least = 20
	case byHand: // with the steps of a file and of a job
		least = 60
	}
	for n := 0; ; n++ {
		if n%10 == 0 { // each child reads the whole journal, several times
			demo = start(t)
		}
		p := newPlace(t, demo, fmt.Sprintf("victim%d", n))
		switch kind {
		case aPassword:
			p = p.withPassword(t)
		case byHand:
			p = p.withFileAndJob(t)
		}
		if !p.killed(t, kind, n) {
			break
		}
		if plans, _ := p.records().List(); kind == mistyped && len(plans) == 1 && plans[0].Steps[0].Done {
			break // the rest is as without a mistyped value
		}
		kills++
		if err := p.goOn(kind); err != "" {
			t.Errorf("after kill %d: %s", n, err)
		}
		plans, err := p.records().List()
		if err != nil || len(plans) != 1 {
			t.Fatalf("after kill %d: %d records, %v", n, len(plans), err)
		}
		t.Run(fmt.Sprint("kill ", n), func(t *testing.T) {
			if kind == aPassword {
				p.wantPasswordDone(t, plans[0])
				return
			}
			p.wantDone(t, plans[0])
			if has, err := os.ReadFile(p.inventory()); err != nil || string(has) != plans[0].NewFingerprint {
				t.Errorf("the inventory has %s, %v, want %s", has, err, plans[0].NewFingerprint)
			}
		})
	}
	if kills < least {
		t.Errorf("%d kills: a rotation has more actions", kills)
	}
	t.Logf("%d kills, each gone on from to the end", kills)
}

// TestTwoProcessesDoNotFinishOneRotationTwice holds one process in the middle of a rotation while
// another one tries to go on with it.
func TestTwoProcessesDoNotFinishOneRotationTwice(t *testing.T) {
	p := newPlace(t, start(t), "shared")
	first := p.child(t, childWait+"=1")
	in := noerr.Try(first.StdinPipe()).Must(t)
	out := noerr.Try(first.StdoutPipe()).Must(t)
	noerr.Must(t, first.Start())
	reader := bufio.NewReader(out)
	if line, err := reader.ReadString('\n'); err != nil || line != "waiting\n" {
		t.Fatalf("%q, %v", line, err)
	}
	second := noerr.Try(p.child(t).Output()).Must(t)
	if told := toldBy(t, second); !told.Elsewhere || told.Created+told.Deleted > 0 {
		t.Errorf("the second process: %+v, want that it is told that another one is at work", told)
	}
	noerr.Must(t, noerr.From(io.WriteString(in, "go\n")))
	rest, err := io.ReadAll(reader)
	noerr.Must(t, errors.Join(err, first.Wait()))
	if told := toldBy(t, rest); told.Err != "" || told.Created != 1 || told.Deleted != 1 {
		t.Errorf("the first process: %+v, want one key made and one deleted", told)
	}
	plans, err := p.records().List()
	if err != nil || len(plans) != 1 {
		t.Fatalf("%d records, %v", len(plans), err)
	}
	p.wantDone(t, plans[0])
	again, err := p.config().engine().Run(t.Context(), plans[0].ID, "", func(keystore.RotationPlan) { t.Error("a step was taken again") })
	if err != nil || !slices.Equal(again.Steps, plans[0].Steps) {
		t.Errorf("%v, the record has changed: %+v", err, again.Steps)
	}
}
