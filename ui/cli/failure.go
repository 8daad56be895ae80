package cli

import (
	"context"
	"errors"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/view"
)

// sayFault explains a failed call: its class and evidence, what to do next, and when.
func (t *task) sayFault(f model.JobFault, key string) {
	d := f.Diagnosis
	t.app.say("zonedeck: %s: %s", model.ClassWord(d.Class, d.Cause), d.Summary)
	t.sayWhy(d, key)
	if at, ok := f.RetryAt(); ok {
		t.app.say("zonedeck: try again at %s", at.Local().Format(time.DateTime))
	}
}

// reported marks the error of a failed call: the command has already printed everything else about it.
func reported(err error) error {
	var e *exitError
	if !errors.As(err, &e) {
		return err
	}
	return &exitError{code: e.code, cause: e.cause, reported: true}
}

// explain says why a command's last call failed, with --json as an object too, unless the command did so itself.
func (t *task) explain(ctx context.Context, err error) error {
	var call *exchange.CallError
	var e *exitError
	if !errors.As(err, &call) || errors.As(err, &e) && e.reported || ctx.Err() != nil {
		return err
	}
	fault := model.JobFault{Diagnosis: call.Diagnosis, At: t.Now()}
	t.sayFault(fault, t.keyName())
	if !t.app.json {
		return err
	}
	return errors.Join(err, t.app.printJSON(view.Failure{Doing: call.Doing, ServiceStatus: call.Status, Error: oneLine(err), Diagnosis: view.NewFault(fault)}))
}
