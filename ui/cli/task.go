package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/service"
	"zonedeck/service/config"
)

// task is a running command with its opened service.
type task struct {
	*service.Service
	app *app
	key string // --key, or ""
}

// keyName is the key with which the service is asked: the one of --key, or the profile's.
func (t *task) keyName() string { return cmp.Or(t.key, t.CurrentProfile().Key) }

// needs are a command's requirements.
type needs struct {
	key     string // --key, or ""
	journal bool   // reads or writes the history
	jobs    bool   // reads or writes the ledger of jobs, and the history
	ledger  bool   // as jobs, with a ledger that is readable and settled
	rules   bool   // judges answers by the operator's rules
	reason  string // --admin-reason, or ""
	none    bool   // uses no profile
	closed  bool   // uses no service
}

// options are the options of service.Open for this run.
func (a *app) options(n needs) service.Options {
	return service.Options{
		Getenv: a.Getenv, Environ: a.Environ, Now: a.Now, Log: a.log, Say: a.say, Version: version, Program: a.Program,
		Profile: a.flags.profile, Config: a.config(), ConfigText: a.pipedConfig(), BaseURL: a.flags.baseURL, ProxyHost: a.flags.proxyHost, Database: a.flags.database,
		Key: n.key, NoInput: a.flags.noInput, AllowKeys: a.flags.allowKeys, AdminReason: n.reason, Unattended: true, Journal: n.journal || n.jobs || n.ledger, Ledger: n.jobs || n.ledger, Rules: n.rules, NoProfile: n.none, Ask: terminal{app: a}, Passphrase: a.typed,
	}
}

// config names the config file, or is empty for the usual one.
func (a *app) config() string {
	name := cmp.Or(a.flags.config, a.Getenv(service.EnvConfig))
	if name == "-" {
		return "/dev/stdin"
	}
	return name
}

// pipedConfig is the text of a configuration that can be read only once, and nil if it is a file.
func (a *app) pipedConfig() []byte {
	if info, err := os.Stat(a.config()); a.configText != nil || err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return a.configText
	}
	if f, err := os.Open(a.config()); err == nil { // whoever reads it says why it cannot be read
		defer f.Close()
		if text, err := io.ReadAll(io.LimitReader(f, textfile.MaxSize+1)); err == nil { // a part is no configuration
			a.configText = text
		}
	}
	return a.configText
}

// warnOfChange warns the operator of a change while a long command runs.
func (a *app) warnOfChange(c service.Change) {
	if c.Text != "" {
		a.warn("%s", c.Text)
	}
}

// withSession opens the service, runs f, and always closes the service. An error from
// closing is printed but does not turn finished work into a failure.
func (a *app) withSession(ctx context.Context, n needs, f func(*task) error) error {
	if n.closed {
		return f(&task{app: a})
	}
	s, err := service.Open(ctx, a.options(n))
	if err != nil {
		return sessionError(err)
	}
	for _, w := range s.Warnings {
		a.warn("%s", w)
	}
	for _, n := range s.Notices {
		a.say("zonedeck: %s", n)
	}
	if s.Implied {
		a.say("zonedeck: no account is configured: using the embedded emulator with its demo key (zonedeck paths shows where a config file goes)")
	}
	if s.Base.Local && !n.none && a.Getenv(service.EnvKey) != "" {
		a.say("zonedeck: %s is not used: profile %q is the embedded emulator, which uses only its demo keys", service.EnvKey, s.Base.Name)
	}
	t := &task{s, a, n.key}
	if n.ledger {
		err = t.ledger(ctx)
	}
	if err == nil {
		err = f(t)
	}
	err = t.explain(ctx, err)
	for _, n := range s.LaterNotices() {
		a.say("zonedeck: %s", n)
	}
	if cerr := s.Close(ctx); cerr != nil {
		a.warn("%s", cerr)
	}
	return err
}

// sessionError gives an exit code to an error of opening, running or closing the service.
func sessionError(err error) error {
	var m *config.MistakeError
	var e *exitError
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.As(err, &m), errors.As(err, &e):
		return err
	default:
		return fail(exitState, "%w", err)
	}
}

// oneLine is an error, or something else that says what it is, in one line for the terminal, with semicolons between
// joined errors.
func oneLine(v any) string { return sanitizeLine(strings.ReplaceAll(fmt.Sprint(v), "\n", "; ")) }
