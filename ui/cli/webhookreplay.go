package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/service/view"
	"zonedeck/service/webhook"
)

type replayFlags struct {
	to   string
	json bool
}

func (a *app) webhookReplayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay ID --to ADDRESS",
		Short: "Send a webhook again, to an address of this machine",
		Long: `Sends the bytes and headers of a webhook as they came, except secret headers:
their values are not kept.

An address of another machine is refused, and redirects are not followed. Exit
code 1: the receiver did not answer with success.`,
		Args: oneArg("the webhook to replay, as 'zonedeck webhook list' names it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.to == "" {
				return usage("--to is missing: name an address of this machine, for example http://127.0.0.1:8080/hook")
			}
			if _, err := webhook.ReplayHost(f.to); err != nil {
				return usage("--to: %w", err)
			}
			return a.withInbox(cmd.Context(), func(t *task, in *webhook.Inbox) error {
				return t.replay(cmd.Context(), in, args[0], f)
			})
		},
	}
	cmd.Flags().StringVar(&f.to, "to", "", "address of this machine to send it to (required)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (t *task) replay(ctx context.Context, in *webhook.Inbox, id string, f replayFlags) error {
	d, err := in.Get(ctx, id)
	if err != nil {
		return inboxError(err)
	}
	got, err := webhook.Replay{Delivery: d, To: f.to}.Send(ctx)
	switch {
	case errors.Is(err, webhook.ErrElsewhere):
		return usage("--to: %w", err)
	case err != nil:
		return fail(exitNetwork, "%w", err)
	}
	if len(got.Without) > 0 {
		t.app.say("zonedeck: sent without %s: their values are not kept", sanitizeLine(strings.Join(got.Without, ", ")))
	}
	if f.json {
		err = t.app.printJSON(view.WebhookReplay{ID: d.ID, To: f.to, Status: got.Status, Answer: got.Answer, Bytes: got.Bytes})
		if err != nil {
			return err
		}
	}
	code := exitOK
	if !got.Taken() {
		code = exitChecksFailed
	}
	t.app.verdict(code, sanitizeLine("the receiver answered "+got.AnswerText()))
	return exit(code)
}
