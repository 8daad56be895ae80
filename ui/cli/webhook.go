package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/view"
	"zonedeck/service/webhook"
)

type listenFlags struct {
	Address     string `flag:"address"`
	AllowRemote bool   `flag:"allow-remote" help:"allow an --address that other machines can reach"`
	JSON        bool   `flag:"json" help:"print one JSON object per line"`
	reasonFlag
}

func (a *app) webhookListenCommand() *cobra.Command {
	return command(a, spec[listenFlags]{
		use:   "listen",
		short: "Receive webhooks until interrupted",
		long: `Stores the bytes of each webhook and answers, and only then processes it: checks
who sent it, as [[webhook.verify]] in config.toml says, finds its job, and asks
the service for the state of that job. What a webhook says is never believed.

The first line of output says where it listens. Then comes one line for each
webhook that was processed or came again. Webhooks that are refused because they
are too large, or because the inbox or the disk is full, are reported on stderr:
the first one, then how many every minute and at the end.

Meanwhile the jobs of all profiles are followed, as by 'zonedeck jobs follow', so
that the service is asked about jobs whose webhook does not come in time. If they
cannot be followed, stderr says why. It runs until it is interrupted or gets
SIGTERM, and then exits with 0.

It listens on this machine only, unless --allow-remote is given. If the service
cannot reach this machine, set public_url in [webhook] to the address of a tunnel
or proxy that leads to it. 0.0.0.0 means all IPv4 addresses, [::] all IPv6
addresses, and :PORT both.`,
		help:  map[string]string{"address": "HOST:PORT to listen on, port 0 for any free port (default: address in [webhook], else " + webhook.DefaultAddress + ")"},
		needs: func(f listenFlags) needs { return needs{ledger: true, reason: f.Reason} },
		run:   listen,
	})
}

// The events of 'webhook listen'.
const (
	eventWorked    = "worked"
	eventDuplicate = "duplicate"
)

func listen(ctx context.Context, t *task, f listenFlags, _ []string) (printed, error) {
	p, err := t.Profile(ctx)
	if err != nil {
		return printed{}, fail(exitState, "%w", err)
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return printed{}, usage("%w", err)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	lines := webhookLines{task: t, end: end, begun: make(chan struct{})}
	address := cmp.Or(f.Address, t.Inbox.Address())
	if _, _, err := net.SplitHostPort(address); err != nil {
		return printed{}, usage("--address: %q is not HOST:PORT", address)
	}
	r, err := t.Inbox.Receive(ctx, address, f.AllowRemote, &lines)
	t.warnOfInbox()
	if err != nil {
		return printed{}, listenError(address, err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.app.warn("%s", err)
		}
	}()
	if err := webhook.Local(address); err != nil {
		t.app.warn("%s; whoever does can send webhooks, and all of them go into the inbox", err)
	}
	if err := lines.begin(r.URL()); err != nil {
		return printed{}, err
	}
	go func() {
		select {
		case err := <-r.Failed():
			end(err)
		case <-running.Done():
		}
	}()
	reading.Go(func() { t.Watch(running, t.app.warnOfChange) })
	if !d.AsksForJobs() {
		t.app.say("zonedeck: the contract does not show how to ask for a job's state: webhooks are stored and verified, but the jobs of profile %s stay as they are", p.Name)
	}
	t.Jobs.KeepFollowing(running, t.app.warnOfJobs(), func(err error) {
		t.app.warn("jobs are not followed, but webhooks are received: %s", err)
	})
	if ctx.Err() != nil { // a signal is the normal end of a service
		return printed{}, nil
	}
	return printed{}, fail(exitState, "%w", context.Cause(running))
}

// warnOfInbox warns of a problem with the inbox's files.
func (t *task) warnOfInbox() {
	if notice := t.Inbox.Notice(); notice != "" {
		t.app.warn("%s", notice)
	}
}

// listenError gives an exit code to the error of listening at an address.
func listenError(address string, err error) error {
	busy := (*webhook.BusyError)(nil)
	switch {
	case errors.Is(err, webhook.ErrNotLoopback):
		return usage("--address %s: %w; --allow-remote allows that", address, webhook.ErrNotLoopback)
	case errors.As(err, &busy):
		return fail(exitState, "%w; stop that one first", err)
	case errors.As(err, new(*net.AddrError)), errors.As(err, new(*net.OpError)):
		return fail(exitState, "--address: %w", err)
	default:
		return fail(exitState, "%w", err)
	}
}

// webhookLines prints the address and then one line for each event.
type webhookLines struct {
	task  *task
	end   context.CancelCauseFunc
	begun chan struct{}
	mu    sync.Mutex
}

func (l *webhookLines) begin(url string) error {
	defer close(l.begun)
	if l.task.app.json {
		return l.task.app.printJSON(view.Listening{URL: url})
	}
	return l.task.app.printLine(url)
}

// Received prints a webhook.
func (l *webhookLines) Received(e webhook.Event) {
	<-l.begun
	l.mu.Lock()
	defer l.mu.Unlock()
	d, event := e.Webhook, eventWorked
	if e.Duplicate {
		event = eventDuplicate
	}
	var err error
	if l.task.app.json {
		err = l.task.app.printJSON(view.WebhookObject{Event: event, Webhook: view.NewWebhook(d)})
	} else {
		at := d.Last.UTC().Format(time.RFC3339)
		line := fmt.Sprintf("%s  %s  %s  %s", at, d.ID, d.Verdict, cmp.Or(d.Job, "no job"))
		if e.Duplicate {
			line = fmt.Sprintf("%s  %s  came again (%d times so far)", at, d.ID, d.Times)
		} else {
			line += "  " + strings.Trim(d.Reason+"; "+d.Outcome, "; ")
		}
		err = l.task.app.printLine(line)
	}
	if err != nil {
		l.end(fmt.Errorf("write what happened: %w", err))
	}
}

// Refused warns of webhooks that were not stored. Otherwise only the sender would know.
func (l *webhookLines) Refused(r model.WebhookRefusals) {
	l.task.app.warn("%s", r.Text(func(t time.Time) string { return t.UTC().Format(time.RFC3339) }))
}

// onInbox turns a function on the inbox into the run of a spec.
func onInbox[F any](do func(context.Context, *task, *webhook.Inbox, F, []string) (printed, error)) func(context.Context, *task, F, []string) (printed, error) {
	return func(ctx context.Context, t *task, f F, args []string) (printed, error) {
		in, err := t.Inbox.Open(ctx)
		if err != nil {
			return printed{}, fail(exitState, "%w", err)
		}
		t.warnOfInbox()
		out, err := do(ctx, t, in, f, args)
		if errors.Is(err, webhook.ErrUnknown) {
			err = usage("%w: 'zonedeck webhook list' lists them", err)
		}
		return out, stateError(ctx, err)
	}
}

type webhookListFlags struct {
	Filter string `flag:"filter"`
	Limit  int    `flag:"limit" default:"1000" help:"how many of the newest webhooks to list; 0 for all"`
	jsonFlag
}

func (a *app) webhookListCommand() *cobra.Command {
	return command(a, spec[webhookListFlags]{
		use:   "list",
		short: "List the webhooks of the inbox, newest first",
		long: `Lists the webhooks of the inbox, newest first.

--filter takes words that must all occur, and the terms verdict:, from: (the
sender's address), job: (job:- for none), dataset: and since:, for example
--filter 'verdict:rejected from:192.0.2. since:2h'.`,
		help: map[string]string{"filter": "list only webhooks that match all words and terms, such as " + strings.Join(webhook.Fields(time.Time{}).Examples(), ", ")},
		check: func(f *webhookListFlags, _ []string) error {
			if f.Limit < 0 {
				return usage("--limit %d: give a number of webhooks, or 0 for all", f.Limit)
			}
			return nil
		},
		needs: noProfile[webhookListFlags],
		run:   onInbox(listWebhooks),
	})
}

func listWebhooks(ctx context.Context, t *task, in *webhook.Inbox, f webhookListFlags, _ []string) (printed, error) {
	filter, err := webhook.ParseFilter(f.Filter, t.Now())
	if err != nil {
		return printed{}, usage("--filter: %w", err)
	}
	most := f.Limit
	if most > 0 {
		most++ // to tell whether there are more
	}
	if f.JSON {
		return printed{}, t.streamWebhooks(ctx, in, filter, f, most)
	}
	list, total, err := in.List(ctx, filter, most)
	if err != nil {
		return printed{}, err
	}
	cut := f.Limit > 0 && len(list) > f.Limit
	if cut {
		list = list[:f.Limit]
	}
	t.sayHidden(f, len(list), total, cut)
	if total == 0 {
		t.app.say("zonedeck: the inbox is empty")
	}
	if len(list) == 0 {
		return printed{}, nil
	}
	rows := [][]string{{"VERDICT", "ID", "SEEN", "JOB", "STATE", "SIZE", "LAST", "FROM", "MARK"}}
	for _, d := range list {
		mark := "-"
		if d.Bookmarked {
			mark = "bookmarked"
		}
		rows = append(rows, []string{
			string(d.Verdict), d.ID, fmt.Sprintf("×%d", d.Times), cmp.Or(d.Job, "-"), cmp.Or(d.JobState.Label(), "-"), fmt.Sprint(d.Size),
			d.Last.Local().Format(time.DateTime), cmp.Or(d.Remote, "-"), mark,
		})
	}
	return printed{rows: rows}, nil
}

// sayHidden says how many webhooks the limit cuts off or the filter hides.
func (t *task) sayHidden(f webhookListFlags, listed, total int, cut bool) {
	switch {
	case cut && f.Filter == "":
		t.app.say("zonedeck: the %d newest of %d webhooks; --limit 0 lists all", listed, total)
	case cut:
		t.app.say("zonedeck: the %d newest that match, of %d webhooks; --limit 0 lists all that match", listed, total)
	case f.Filter != "":
		t.app.say("zonedeck: %d of %d webhooks match", listed, total)
	}
}

// streamWebhooks prints one object but holds few webhooks at a time: with their headers they are large.
func (t *task) streamWebhooks(ctx context.Context, in *webhook.Inbox, filter webhook.Filter, f webhookListFlags, most int) error {
	total, err := in.Count(ctx)
	if err != nil {
		return err
	}
	listed, cut := 0, false
	err = t.app.encode("the webhooks", func(w io.Writer) error {
		return view.EncodeWebhooks(w, total, func(put func(model.Webhook) error) error {
			return in.Each(ctx, filter, most, func(d model.Webhook) error {
				if cut = f.Limit > 0 && listed == f.Limit; cut {
					return nil
				}
				listed++
				return put(d)
			})
		})
	})
	if err != nil {
		return err
	}
	t.sayHidden(f, listed, total, cut)
	return nil
}

func (a *app) webhookShowCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "show WEBHOOK",
		short: "Show a webhook: its sender, its headers, and what came of it",
		needs: noProfile[jsonFlag],
		run: onInbox(func(ctx context.Context, _ *task, in *webhook.Inbox, _ jsonFlag, args []string) (printed, error) {
			d, err := in.Get(ctx, args[0])
			return printed{object: view.WebhookObject{Webhook: view.NewWebhook(d)}, rows: webhookRows(d)}, err
		}),
	})
}

// webhookRows shows a webhook as rows of a name and a value.
func webhookRows(d model.Webhook) [][]string {
	rows := [][]string{
		{"webhook", d.ID},
		{"verdict", string(d.Verdict)},
		{"why", d.Reason},
		{"job", cmp.Or(d.Job, "-")},
		{"state", cmp.Or(d.JobState.Label(), "-")},
		{"snapshot", cmp.Or(d.Snapshot, "-")},
		{"outcome", cmp.Or(d.CameOf(), "-")},
		{"received", d.At.Local().Format(time.DateTime)},
		{"seen", fmt.Sprintf("×%d, last %s", d.Times, d.Last.Local().Format(time.DateTime))},
		{"from", d.Remote},
		{"target", d.Target},
		{"bytes", fmt.Sprintf("%d, sha256 %s", d.Size, d.SHA256)},
		{"file", model.FileOn(d.File, d.Machine)},
	}
	for _, r := range d.Repeats {
		rows = append(rows, []string{"also", r.Last.Local().Format(time.DateTime) + " " + r.Text()})
	}
	for _, h := range d.Headers {
		rows = append(rows, []string{h.Name + ":", h.Value})
	}
	return rows
}

type markFlags struct {
	Off bool `flag:"off" help:"remove the bookmark"`
	jsonFlag
}

func (a *app) webhookMarkCommand() *cobra.Command {
	return command(a, spec[markFlags]{
		use:   "mark WEBHOOK",
		short: "Bookmark a webhook, so that it is never cleaned up",
		needs: noProfile[markFlags],
		run: onInbox(func(ctx context.Context, _ *task, in *webhook.Inbox, f markFlags, args []string) (printed, error) {
			done := args[0] + " is bookmarked"
			if f.Off {
				done = args[0] + " is no longer bookmarked"
			}
			return printed{done: done}, in.Bookmark(ctx, args[0], !f.Off)
		}),
	})
}

type replayFlags struct {
	To string `flag:"to" help:"address of this machine to send it to (required)"`
	jsonFlag
}

func (a *app) webhookReplayCommand() *cobra.Command {
	return command(a, spec[replayFlags]{
		use:   "replay WEBHOOK --to ADDRESS",
		short: "Send a webhook again, to an address of this machine",
		long: `Sends the bytes and headers of a webhook as they came, except secret headers:
their values are not kept.

An address of another machine is refused, and redirects are not followed. Exit
code 1: the receiver did not answer with success.`,
		check: func(f *replayFlags, _ []string) error {
			if f.To == "" {
				return usage("--to is missing: name an address of this machine, for example http://127.0.0.1:8080/hook")
			}
			if _, err := webhook.ReplayHost(f.To); err != nil {
				return usage("--to: %w", err)
			}
			return nil
		},
		needs: noProfile[replayFlags],
		run:   onInbox(replayWebhook),
	})
}

func replayWebhook(ctx context.Context, t *task, in *webhook.Inbox, f replayFlags, args []string) (printed, error) {
	d, err := in.Get(ctx, args[0])
	if err != nil {
		return printed{}, err
	}
	got, err := webhook.Replay{Webhook: d, To: f.To}.Send(ctx)
	switch {
	case errors.Is(err, webhook.ErrOtherMachine):
		return printed{}, usage("--to: %w", err)
	case err != nil:
		return printed{}, fail(exitNetwork, "%w", err)
	}
	if len(got.Without) > 0 {
		t.app.say("zonedeck: sent without %s: their values are not kept", strings.Join(got.Without, ", "))
	}
	out := printed{
		object:  view.WebhookReplay{ID: d.ID, To: f.To, Status: got.Status, Answer: got.Answer, Bytes: got.Bytes},
		verdict: "the receiver answered " + got.AnswerText(),
	}
	if !got.Accepted() {
		out.code = exitChecksFailed
	}
	return out, nil
}
