package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/database"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/jobs"
	"zonedeck/service/keys"
	"zonedeck/service/ledger"
	"zonedeck/service/local"
	"zonedeck/service/rows"
)

// The exit codes. Scripts depend on them, so they stay stable.
const (
	exitOK               = 0
	exitChecksFailed     = 1
	exitUsage            = 2
	exitInternal         = 3
	exitAccessRestricted = 10
	exitTooFast          = 11
	exitCaptcha          = 12
	exitTimeout          = 13
	exitParsingDrift     = 14
	exitStillRunning     = 20
	exitNetwork          = 21
	exitTLSTrust         = 22
	exitRejected         = 23
	exitTarget           = 24
	exitState            = 25
	exitService          = 26
	exitRefused          = 27
	exitJobFailed        = 30
	exitMayHaveStarted   = 31
	exitLaunchedBefore   = 32
	exitRotationDue      = 40
	exitKeyExpired       = 41
	exitLint             = 42
	exitCapped           = 29
	// ExitInterrupted is that of SIGINT; the program adds the number of another signal to 128.
	ExitInterrupted = 130
)

// exitError is an error with an exit code. A nil cause means that the command has
// already printed everything.
type exitError struct {
	code     int
	cause    error
	reported bool   // everything except the cause has been said already
	help     string // the command whose help has what the cause does not say
}

func (e *exitError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.cause.Error()
}

func (e *exitError) Unwrap() error { return e.cause }

// exit ends a command with a code and nothing more to say.
func exit(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// fail ends a command with a code and a message.
func fail(code int, format string, args ...any) error {
	return &exitError{code: code, cause: fmt.Errorf(format, args...)}
}

// stateError gives an error exitState, unless it has an exit code of its own.
func stateError(ctx context.Context, err error) error {
	if exitCode(ctx, err) == exitInternal {
		return fail(exitState, "%w", err)
	}
	return err
}

// usage is a mistake in the command line.
func usage(format string, args ...any) error { return fail(exitUsage, format, args...) }

// misspelt is usage for what the help of a command shows: the names of commands and flags, and how many words there are.
func misspelt(cmd *cobra.Command, err error) error {
	return &exitError{code: exitUsage, cause: err, help: cmd.CommandPath()}
}

// exitCode returns the exit code for the error of a command.
func exitCode(ctx context.Context, err error) int {
	var e *exitError
	var mistake *config.MistakeError
	var call *exchange.CallError
	var rotating *keys.RotatingError
	var secret *keystore.SecretError
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil && errors.Is(err, context.Canceled): // regardless of what was waited for
		return ExitInterrupted
	case errors.As(err, &rotating):
		return exitRejected
	case errors.Is(err, keystore.ErrSecretUnreachable), errors.As(err, &secret) && secret.Ref != "", errors.As(err, new(*local.UnavailableError)), errors.As(err, new(*textfile.UntrustedError)): // regardless of what needed it
		return exitState
	case errors.Is(err, model.ErrReadOnly), errors.Is(err, config.ErrDomain), errors.Is(err, config.ErrRedirected), errors.Is(err, keys.ErrOtherAccount):
		return exitLint
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &mistake):
		return exitUsage
	case errors.As(err, &call):
		return diagnosisExit(call.Diagnosis)
	default:
		return exitInternal
	}
}

var classExits = map[model.Class]int{
	model.ClassOK: exitOK, model.ClassAccessRestricted: exitAccessRestricted, model.ClassTooFast: exitTooFast,
	model.ClassCaptcha: exitCaptcha, model.ClassTimeout: exitTimeout, model.ClassParsingDrift: exitParsingDrift,
}

// causeExits are the exit codes for the causes of what has no class of its own. The target's have exitTarget.
var causeExits = map[model.Cause]int{
	model.CauseKeyRejected: exitRejected, model.CauseLoginRejected: exitRejected, model.CauseTLSTrust: exitTLSTrust,
	model.CauseInProgress: exitStillRunning, model.CauseServiceError: exitService, model.CauseRequestRefused: exitRefused, model.CauseNetwork: exitNetwork,
}

// diagnosisExit returns the exit code for a diagnosis.
func diagnosisExit(d model.Diagnosis) int {
	if d.Rule == model.RuleJobNotOver {
		return exitStillRunning
	}
	if code, known := classExits[d.Class]; known {
		return code
	}
	return cmp.Or(causeExits[d.Cause], exitTarget)
}

// fetchExit returns the exit code for a fetch: its diagnosis's, or exitState if the
// page arrived but was cut: no script must take a partial body for a complete one.
func fetchExit(r model.FetchResult) int {
	if code := diagnosisExit(r.Diagnosis); code != exitOK || !r.Body.Cut {
		return code
	}
	return exitState
}

// jobExit returns the exit code for a job's state. For a refusal it depends on the
// service's answer.
func jobExit(j model.Job) int {
	switch j.State {
	case model.JobReady, model.JobDownloaded, model.JobAccepted, model.JobRunning:
		return exitOK
	case model.JobMayHave, model.JobSending, model.JobIntent:
		return exitMayHaveStarted
	case model.JobNotSent:
		return exitNetwork
	case model.JobRefused:
		return refusalExit(j.Status)
	default:
		return exitJobFailed
	}
}

// refusalExit returns the exit code for a job that the service refused with this
// HTTP status.
func refusalExit(status int) int {
	switch status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return exitRejected
	case http.StatusForbidden:
		return exitAccessRestricted
	case http.StatusTooManyRequests:
		return exitTooFast
	default:
		return exitRefused
	}
}

// jobError is the exit for a failed call about jobs or the account.
func jobError(ctx context.Context, err error) error {
	var d *exchange.CallError
	var kept *jobs.PartialError
	var row *rows.RecordsError
	var preview *jobs.PreviewError
	switch {
	case ctx.Err() != nil && errors.As(err, &kept):
		return fail(ExitInterrupted, "interrupted; %s", kept.Resume())
	case ctx.Err() != nil:
		return fail(ExitInterrupted, "interrupted")
	case errors.As(err, new(*ledger.AmbiguousError)):
		return usage("%w", err)
	case errors.Is(err, jobs.ErrUnknownJob):
		return usage("%w; 'zonedeck jobs list' lists the jobs", err)
	case errors.Is(err, jobs.ErrJobOver), errors.Is(err, dialect.ErrNotShown):
		return usage("%w", err)
	case ledgerFault(err):
		return fail(exitState, "%w", err)
	case errors.Is(err, jobs.ErrNoSnapshot):
		return fail(exitMayHaveStarted, "%w", err)
	case errors.Is(err, jobs.ErrNoResult):
		return fail(exitRefused, "%w", err)
	case errors.Is(err, jobs.ErrNotReady):
		return fail(exitStillRunning, "%w", err)
	case errors.As(err, &preview) && preview.State.Final() && preview.State.Started():
		return fail(exitJobFailed, "%w", err)
	case errors.As(err, &preview) && preview.Overdue:
		return fail(exitStillRunning, "%w", err)
	case errors.As(err, &d):
		return fail(diagnosisExit(d.Diagnosis), "%w", err)
	case errors.As(err, &row):
		return fail(exitService, "%w", err)
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(*os.LinkError)), errors.Is(err, textfile.ErrLocked):
		return fail(exitState, "%w", err)
	default:
		return fetchError(ctx, err)
	}
}

// triggerError is the exit for a failed launch; job is what is known of the job. If
// the ledger failed before the POST, nothing was sent. If it failed afterwards, the
// error says what happened to the job.
func triggerError(ctx context.Context, job model.Job, err error) error {
	interrupted := ctx.Err() != nil && errors.Is(err, context.Canceled)
	switch {
	case interrupted && job.State == model.JobMayHave:
		return fail(ExitInterrupted, "interrupted; the job may have started: %s of 'zonedeck jobs list'", job.ID)
	case interrupted:
		return jobError(ctx, err)
	case job.State == model.JobMayHave:
		return fail(exitMayHaveStarted, "%w", err)
	case job.State == model.JobAccepted, job.State == model.JobRefused:
		return fail(exitState, "%w", err)
	case ledgerFault(err):
		return fail(exitState, "%w; nothing was sent", err)
	default:
		return jobError(ctx, err)
	}
}

// ledgerFault reports whether the ledger of jobs could not be read or written.
func ledgerFault(err error) bool {
	return slices.ContainsFunc(append(database.Faults(), jobs.ErrNoLedger), func(fault error) bool { return errors.Is(err, fault) })
}
