package cli

import (
	"bytes"
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

func (a *app) webhookCommand() *cobra.Command {
	return group("webhook", "Receive webhooks, and look at those that were received",
		a.webhookListenCommand(), a.webhookListCommand(), a.webhookShowCommand(), a.webhookMarkCommand(), a.webhookReplayCommand())
}

type listenFlags struct {
	address, reason   string
	allowRemote, json bool
}

func (a *app) webhookListenCommand() *cobra.Command {
	var f listenFlags
	cmd := &cobra.Command{
		Use:   "listen",
		Short: "Receive webhooks until interrupted",
		Long: `Stores the bytes of each webhook and answers, and only then processes it: checks
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
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{jobs: true, reason: f.reason}, func(t *task) error {
				if err := t.ledger(cmd.Context()); err != nil {
					return err
				}
				return t.listen(cmd.Context(), f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.address, "address", "", "HOST:PORT to listen on, port 0 for any free port (default: address in [webhook], else "+webhook.DefaultAddress+")")
	fl.BoolVar(&f.allowRemote, "allow-remote", false, "allow an --address that other machines can reach")
	adminFlag(cmd, &f.reason)
	fl.BoolVar(&f.json, "json", false, "print one JSON object per line")
	return cmd
}

// The events of 'webhook listen'.
const (
	eventWorked    = "worked"
	eventDuplicate = "duplicate"
)

func (t *task) listen(ctx context.Context, f listenFlags) error {
	p, err := t.Profile(ctx)
	if err != nil {
		return fail(exitState, "%w", err)
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return usage("%w", err)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	lines := hookLines{task: t, json: f.json, end: end, begun: make(chan struct{})}
	address := cmp.Or(f.address, t.Inbox.Address())
	if _, _, err := net.SplitHostPort(address); err != nil {
		return usage("--address: %q is not HOST:PORT", address)
	}
	r, err := t.Inbox.Receive(ctx, address, f.allowRemote, &lines)
	t.warnOfInbox()
	if err != nil {
		return listenError(address, err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.app.warn("%s", oneLine(err))
		}
	}()
	if err := webhook.Local(address); err != nil {
		t.app.warn("%s; whoever does can send webhooks, and all of them go into the inbox", err)
	}
	if err := lines.begin(r.URL()); err != nil {
		return err
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
		t.app.say("zonedeck: the contract does not show how to ask for a job's state: webhooks are stored and verified, but the jobs of profile %s stay as they are", sanitizeLine(p.Name))
	}
	told := t.app.warnOfJobs()
	keepFollowing(running, func() error { return t.Client.Follow(running, told) }, func(err error) {
		t.app.warn("jobs are not followed, but webhooks are received: %s", oneLine(err))
	})
	if ctx.Err() != nil { // the way a service is ended
		return nil
	}
	return fail(exitState, "%w", context.Cause(running))
}

// followAgain is how long after a failure the jobs are followed again.
const followAgain = 10 * time.Second

// keepFollowing follows until ctx ends, and says what failed unless it said so last.
func keepFollowing(ctx context.Context, follow func() error, say func(error)) {
	said := ""
	for {
		err := follow()
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			say(err)
		}
		again := time.NewTimer(followAgain)
		select {
		case <-ctx.Done():
		case <-again.C:
		}
		again.Stop()
	}
}

// warnOfInbox warns of what was wrong with the inbox's files.
func (t *task) warnOfInbox() {
	if notice := t.Inbox.Notice(); notice != "" {
		t.app.warn("%s", sanitizeLine(notice))
	}
}

// listenError says why nothing can be received at an address.
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

// hookLines prints what happens, one line each, once the first line was printed.
type hookLines struct {
	task  *task
	json  bool
	end   context.CancelCauseFunc
	begun chan struct{}
	mu    sync.Mutex
}

func (l *hookLines) begin(url string) error {
	defer close(l.begun)
	if l.json {
		return l.task.app.printJSON(view.Listening{URL: url})
	}
	if _, err := fmt.Fprintln(l.task.app.Stdout, url); err != nil {
		return fail(exitState, "write the address: %w", err)
	}
	return nil
}

// Received prints a webhook.
func (l *hookLines) Received(e webhook.Event) {
	<-l.begun
	l.mu.Lock()
	defer l.mu.Unlock()
	d, event := e.Delivery, eventWorked
	if e.Duplicate {
		event = eventDuplicate
	}
	var err error
	if l.json {
		err = l.task.app.printJSON(view.WebhookObject{Event: event, Webhook: view.NewWebhook(d)})
	} else {
		at := d.Last.UTC().Format(time.RFC3339)
		line := fmt.Sprintf("%s  %s  %s  %s", at, d.ID, d.Verdict, cmp.Or(d.Job, "no job"))
		if e.Duplicate {
			line = fmt.Sprintf("%s  %s  came again (%d times so far)", at, d.ID, d.Times)
		} else {
			line += "  " + sanitizeLine(strings.Trim(d.Reason+"; "+d.Outcome, "; "))
		}
		_, err = fmt.Fprintln(l.task.app.Stdout, line)
	}
	if err != nil {
		l.end(fmt.Errorf("write what happened: %w", err))
	}
}

// Refused says what was not stored. Otherwise only the sender would know.
func (l *hookLines) Refused(r model.HookRefusals) {
	l.task.app.warn("%s", r.Text(func(t time.Time) string { return t.UTC().Format(time.RFC3339) }))
}

// withInbox runs f on the inbox.
func (a *app) withInbox(ctx context.Context, f func(*task, *webhook.Inbox) error) error {
	return a.withSession(ctx, needs{none: true}, func(t *task) error {
		in, err := t.Inbox.Open(ctx)
		if err != nil {
			return fail(exitState, "%w", err)
		}
		t.warnOfInbox()
		return f(t, in)
	})
}

// inboxError is the error of a command about one webhook.
func inboxError(err error) error {
	if errors.Is(err, webhook.ErrUnknown) {
		return usage("%w: 'zonedeck webhook list' lists them", err)
	}
	return fail(exitState, "%w", err)
}

func (a *app) webhookListCommand() *cobra.Command {
	var asJSON bool
	var limit int
	var filter string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the webhooks of the inbox, newest first",
		Long: `Lists the webhooks of the inbox, newest first.

--filter takes words that must all occur, and the terms verdict:, from: (the
sender's address), job: (job:- for none), dataset: and since:, for example
--filter 'verdict:rejected from:192.0.2. since:2h'.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usage("--limit %d: give a number of webhooks, or 0 for all", limit)
			}
			return a.withInbox(cmd.Context(), func(t *task, in *webhook.Inbox) error {
				f, err := webhook.ParseFilter(filter, t.Now())
				if err != nil {
					return usage("--filter: %w", err)
				}
				return t.listHooks(cmd.Context(), in, f, hookList{limit, filter != "", asJSON})
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&filter, "filter", "", "list only webhooks that match all words and terms, such as "+strings.Join(webhook.Fields(time.Time{}).Examples(), ", "))
	cmd.Flags().IntVar(&limit, "limit", 1000, "how many of the newest webhooks to list; 0 for all")
	return cmd
}

// hookList says how webhooks are listed.
type hookList struct {
	limit          int
	filtered, json bool
}

func (t *task) listHooks(ctx context.Context, in *webhook.Inbox, f webhook.Filter, l hookList) error {
	if l.json {
		return t.streamHooks(ctx, in, f, l)
	}
	list, total, err := in.List(ctx, f, l.onePast())
	if err != nil {
		return fail(exitState, "%w", err)
	}
	cut := l.limit > 0 && len(list) > l.limit
	if cut {
		list = list[:l.limit]
	}
	t.sayHidden(l, len(list), total, cut)
	if total == 0 {
		t.app.say("zonedeck: the inbox is empty")
	}
	if len(list) == 0 {
		return nil
	}
	rows := [][]string{{"VERDICT", "ID", "SEEN", "JOB", "STATE", "SIZE", "LAST", "FROM", "MARK"}}
	for _, d := range list {
		mark := "-"
		if d.Bookmarked {
			mark = "bookmarked"
		}
		rows = append(rows, []string{
			string(d.Verdict), d.ID, fmt.Sprintf("×%d", d.Times), cmp.Or(d.Job, "-"), cmp.Or(d.JobState.Label(), "-"), fmt.Sprint(d.Size),
			d.Last.Local().Format(time.DateTime), cmp.Or(sanitizeLine(d.Remote), "-"), mark,
		})
	}
	return printColumns(t.app.Stdout, rows)
}

// onePast is one more than the limit, to tell whether there are more.
func (l hookList) onePast() int {
	if l.limit == 0 {
		return 0
	}
	return l.limit + 1
}

// sayHidden says that webhooks are not listed: cut off by the limit, or hidden by the filter.
func (t *task) sayHidden(l hookList, listed, total int, cut bool) {
	switch {
	case cut && !l.filtered:
		t.app.say("zonedeck: the %d newest of %d webhooks; --limit 0 lists all", listed, total)
	case cut:
		t.app.say("zonedeck: the %d newest that match, of %d webhooks; --limit 0 lists all that match", listed, total)
	case l.filtered:
		t.app.say("zonedeck: %d of %d webhooks match", listed, total)
	}
}

// streamHooks prints one object, and holds few webhooks at a time: with their headers they are large.
func (t *task) streamHooks(ctx context.Context, in *webhook.Inbox, f webhook.Filter, l hookList) error {
	total, err := in.Count(ctx)
	if err != nil {
		return fail(exitState, "%w", err)
	}
	out, listed, cut := t.app.Stdout, 0, false
	_, err = fmt.Fprintf(out, `{"schema_version":%d,"total":%d,"webhooks":[`, view.SchemaVersion, total)
	if err == nil {
		err = in.Each(ctx, f, l.onePast(), func(d model.Delivery) error {
			if cut = l.limit > 0 && listed == l.limit; cut {
				return nil
			}
			var b bytes.Buffer
			err := view.Encode(&b, view.NewWebhook(d))
			if listed++; err == nil && listed > 1 {
				_, err = io.WriteString(out, ",")
			}
			if err == nil {
				_, err = out.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
			}
			return err
		})
	}
	if err == nil {
		_, err = io.WriteString(out, "]}\n")
	}
	if err != nil {
		return fail(exitState, "write the webhooks: %w", err)
	}
	t.sayHidden(l, listed, total, cut)
	return nil
}

func (a *app) webhookShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a webhook: its sender, its headers, and what came of it",
		Args:  oneArg("the webhook to show, as 'zonedeck webhook list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withInbox(cmd.Context(), func(t *task, in *webhook.Inbox) error {
				d, err := in.Get(cmd.Context(), args[0])
				if err != nil {
					return inboxError(err)
				}
				if asJSON {
					return t.app.printJSON(view.WebhookObject{Webhook: view.NewWebhook(d)})
				}
				return t.showHook(d)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (t *task) showHook(d model.Delivery) error {
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
		{"file", d.File},
	}
	for _, r := range d.Repeats {
		rows = append(rows, []string{"also", r.Last.Local().Format(time.DateTime) + " " + r.Text()})
	}
	for _, h := range d.Headers {
		rows = append(rows, []string{h.Name + ":", h.Value})
	}
	for _, r := range rows {
		r[0], r[1] = sanitizeLine(r[0]), sanitizeLine(r[1])
	}
	return printColumns(t.app.Stdout, rows)
}

func (a *app) webhookMarkCommand() *cobra.Command {
	var off, asJSON bool
	cmd := &cobra.Command{
		Use:   "mark ID",
		Short: "Bookmark a webhook, so that it is never cleaned up",
		Args:  oneArg("the webhook to bookmark, as 'zonedeck webhook list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withInbox(cmd.Context(), func(t *task, in *webhook.Inbox) error {
				if err := in.Bookmark(cmd.Context(), args[0], !off); err != nil {
					return inboxError(err)
				}
				if off {
					return t.app.done(asJSON, "%s is no longer bookmarked", args[0])
				}
				return t.app.done(asJSON, "%s is bookmarked", args[0])
			})
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "remove the bookmark")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
