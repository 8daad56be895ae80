package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/ask"
	"zonedeck/service/keys"
)

// At a terminal a rotation is confirmed before anything is written. Without one the command is enough.
func TestARotationIsAskedForAtATerminal(t *testing.T) {
	t.Parallel()
	p, _, stderr := process(t, map[string]string{"ZONEDECK_PROFILE": "local"})
	for _, c := range []struct {
		args, answer string
		code         int
		says         string
	}{
		{"", "n\n", exitChecksFailed, "deletes the old key"},
		{"--refresh", "n\n", exitChecksFailed, "stops working"},
		{"--no-input --report", "", exitUsage, "no record of a rotation"}, // the answers began nothing
		{"", "y\n", exitOK, "deletes the old key"},
	} {
		stderr.Reset()
		p.Args = append([]string{"keys", "rotate", "etl-main"}, strings.Fields(c.args)...)
		p.Stdin, p.StdinTTY = strings.NewReader(c.answer), true
		if code := Main(t.Context(), p); code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s, answered %q: exit %d, want %d: %s", c.args, c.answer, code, c.code, stderr)
		}
	}
}

// An answer that cannot be recorded ends the command at once, though the step it was for could be vouched for again.
func TestAnAnswerThatCannotBeRecordedEndsTheCommand(t *testing.T) {
	t.Parallel()
	p, _, _ := process(t, map[string]string{"ZONEDECK_PROFILE": "local"})
	s, err := service.Open(t.Context(), service.Options{Getenv: p.Getenv, Now: time.Now, Journal: true, Say: t.Logf})
	noerr.Must(t, err)
	defer func() { noerr.Must(t, s.Close(t.Context())) }()
	plan := keystore.PlanRotation(model.Key{Name: "nightly"}, keystore.RotateByNewKey, []keystore.RotationUser{{Name: "somewhere"}}, time.Now())
	run := &task{s, &app{Process: p}, ""}
	for name, want := range map[string]struct {
		interrupted bool
		code        int
		says        string
	}{
		"no record":   {false, exitChecksFailed, "no such rotation"},
		"interrupted": {true, ExitInterrupted, "interrupted"},
	} {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		if want.interrupted {
			stop()
		}
		r := s.Rotations(keys.Scan(nil)).Resume(plan) // its record is not on disk
		r.Stop = &keys.StopError{Step: plan.Steps[0], Vouch: true}
		_, err := run.advance(ctx, r, rotateFlags{Vouch: []string{plan.Steps[0].Name()}})
		err = rotationError(ctx, err)
		if code := exitCode(ctx, err); code != want.code || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%s: exit %d: %v", name, code, err)
		}
		stop()
	}
}

// Between a refresh and the setting of the new value a demo key has no value here. That is not a mistake in the
// command line.
func TestACallWithAKeyThatIsBeingRefreshedNamesTheRotation(t *testing.T) {
	t.Parallel()
	p, _, stderr := process(t, map[string]string{"ZONEDECK_PROFILE": "local"})
	s, err := service.Open(t.Context(), service.Options{Getenv: p.Getenv, Now: time.Now, Journal: true, Say: t.Logf})
	noerr.Must(t, err)
	if _, err := s.Profile(t.Context()); err != nil { // starts the emulator
		t.Fatal(err)
	}
	k, _ := s.Keys.Key("ops-zones")
	rotations := s.Rotations(keys.Scan(nil))
	r, err := rotations.Rotation(t.Context(), rotations.OfKey(k, keystore.RotateByRefresh))
	noerr.Must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	step, _ := r.Next()
	if _, err := r.Take(ctx, step, ask.Answers{}.Always(ask.BeginRotation).Always(ask.EndsValue), func(now keys.Rotation) {
		if refresh, _ := now.Plan.Step(keystore.StepRefresh, ""); refresh.Done {
			stop()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Fatalf("it ended: %v", err)
	}
	noerr.Must(t, s.Close(t.Context()))
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"request http://lab.test/ok --zone unlocker_demo --key ops-zones", exitRejected, "key ops-zones is being rotated by refresh"},
		{"zones show unlocker_demo --key ops-zones", exitRejected, "'zonedeck --profile local keys rotate ops-zones --refresh' goes on with it"},
		{"keys rotate ops-zones --refresh", exitOK, "set demo:key/ops-zones"},
		{"request http://lab.test/ok --zone unlocker_demo --key ops-zones", exitOK, "ok"},
	} {
		stderr.Reset()
		p.Args = strings.Fields(c.args)
		if code := Main(t.Context(), p); code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s: exit %d, want %d: %s", c.args, code, c.code, stderr)
		}
	}
}
