package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zonedeck/keystore"
	"zonedeck/service"
	"zonedeck/service/journal"
	"zonedeck/service/profile"
	"zonedeck/ui/kit"
)

// patience is how long the program is silent before it says what it waits for.
const patience = 500 * time.Millisecond

// session is what a command works with: the profile in use, its keys, the
// journal and the service. It is closed when the command ends.
type session struct {
	app       *app
	paths     profile.Paths
	base      profile.Profile // as configured; empty addresses for the emulator
	config    profile.File
	current   atomic.Pointer[profile.Profile] // base, with addresses once they are known
	embedded  *embedded                       // nil for a real account
	inventory *keystore.Inventory
	resolver  *keystore.Resolver
	journal   *journal.Journal
	client    *service.Client

	journalFault error    // why journal is nil
	notices      []string // what the operator must be told about the files
	implied      bool     // nothing was configured, so the embedded emulator is used
	console      bool     // stderr is the screen: notes are shown, not said
	spoken       sync.Once
	pruning      sync.WaitGroup
}

// sessionNeeds says what a command cannot do without.
type sessionNeeds struct {
	key     string // --key, or ""
	journal bool   // the history is read or written
	console bool   // stderr is the screen once the program runs
}

// openSession reads the configuration and opens the files. It does no network
// I/O: an embedded emulator is started by the first call that needs it.
func (a *app) openSession(ctx context.Context, needs sessionNeeds) (*session, error) {
	s := &session{app: a, paths: profile.FindPaths(a.Getenv), console: needs.console}
	if err := s.choose(needs); err != nil {
		return nil, err
	}
	if err := s.paths.Ensure(); err != nil {
		s.notices = append(s.notices, notKept(err))
	}
	inventory, err := keystore.OpenInventory(s.paths.KeysFile())
	if err != nil {
		return nil, fail(exitState, "read the key inventory: %w", err)
	}
	s.inventory = inventory
	if needs.journal {
		if err := s.openJournal(ctx); err != nil {
			return nil, err
		}
		s.pruning.Go(func() { s.prune(ctx) })
	}
	s.resolver = keystore.NewResolver(keystore.ResolverOptions{
		Getenv: a.Getenv, Demo: s.demoSecret, SecretsDir: s.paths.SecretsDir(),
	})
	s.client = service.New(service.Options{
		Profile: s.profile, Secret: s.resolver.Resolve, Key: s.key, Journal: s.journal,
		BodiesDir: s.paths.BodiesDir(), DownloadsDir: s.paths.DownloadsDir(), Now: s.now, Timer: a.Now, Log: a.log,
	})
	return s, nil
}

// openJournal opens the history. The program works without it, and says so. A
// file that another process has locked is waited for, which is said too.
func (s *session) openJournal(ctx context.Context) error {
	type opened struct {
		j      *journal.Journal
		notice journal.Notice
		err    error
	}
	done := make(chan opened, 1)
	go func() {
		j, notice, err := journal.Open(ctx, s.paths.JournalFile(), s.now)
		done <- opened{j, notice, err}
	}()
	slow := time.NewTimer(patience)
	defer slow.Stop()
	for {
		select {
		case o := <-done:
			if o.notice.Text != "" {
				s.notices = append(s.notices, o.notice.Text)
			}
			if s.journal, s.journalFault = o.j, o.err; o.err != nil {
				s.notices = append(s.notices, fmt.Sprintf("no history is kept: %v", o.err))
			}
			return nil
		case <-slow.C:
			s.app.say("zonedeck: waiting for the journal %s", s.paths.JournalFile())
		case <-ctx.Done():
			// SQLite's wait cannot be cut short; it ends by itself within seconds.
			go func() {
				if o := <-done; o.err == nil {
					_ = o.j.Close() // nothing was written to it
				}
			}()
			return ctx.Err()
		}
	}
}

// prune keeps the folder of bodies in bounds, beside the command's own work. The
// end of the command waits for it, an interruption ends it.
func (s *session) prune(ctx context.Context) {
	freed, err := profile.PruneBodies(ctx, s.paths.BodiesDir(), s.app.Now())
	if err != nil && ctx.Err() == nil {
		s.app.log.Warn("the folder of bodies could not be pruned", "error", err)
	}
	if freed > 0 {
		s.app.log.Info("old bodies were deleted", "bytes", freed)
	}
}

// profile is the profile in use with addresses that answer.
func (s *session) profile(ctx context.Context) (profile.Profile, error) {
	if s.embedded == nil {
		return s.base, nil
	}
	ready, err := s.embedded.ensure(ctx)
	if err != nil {
		return profile.Profile{}, err
	}
	if !s.console {
		s.spoken.Do(func() {
			for _, n := range s.embedded.stateNotes() {
				s.app.say("zonedeck: %s", sanitizeLine(n))
			}
		})
	}
	p, err := demoProfile(ready)
	if err == nil {
		s.current.Store(&p)
	}
	return p, err
}

// now is the time of the service that is used: the machine's, and with the emulator its
// own, which may have been moved forward. The emulator itself and what is deleted by its
// age go by the machine's clock.
func (s *session) now() time.Time {
	if s.embedded == nil {
		return s.app.Now()
	}
	return s.embedded.clock()
}

// ahead is how far the session's time is ahead of the machine's.
func (s *session) ahead() time.Duration {
	if s.embedded == nil {
		return 0
	}
	return time.Duration(s.embedded.ahead.Load())
}

// currentProfile is the profile as it is known now, without any I/O.
func (s *session) currentProfile() profile.Profile {
	if p := s.current.Load(); p != nil {
		return *p
	}
	return s.base
}

// describe is what the views are told of the session.
func (s *session) describe() kit.Session {
	p := s.currentProfile()
	key, _ := s.key(p.Key)
	var notes []string
	if s.embedded != nil {
		notes = s.embedded.notes()
	}
	return kit.Session{
		ProfileName: p.Name, Notes: notes, Local: p.Local, Ready: s.embedded == nil || s.current.Load() != nil,
		Unverified: !p.Verify && !p.Local, Zones: p.Zones, Keys: s.keys(), Key: key, Profile: p, Ahead: s.ahead(),
	}
}

// proxyInEnvironment reports whether the environment names a proxy for other
// programs. The console does not use it, and says so.
func (a *app) proxyInEnvironment() bool {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"} {
		if a.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// close ends the session: the service first, then the history, then the emulator.
func (s *session) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := s.client.Close(ctx)
	s.pruning.Wait()
	if s.journal != nil {
		err = errors.Join(err, s.journal.Close())
	}
	if s.embedded != nil {
		err = errors.Join(err, s.embedded.close(ctx))
	}
	if err != nil {
		return fail(exitState, "%w", err)
	}
	return nil
}

// withSession opens a session, runs f, and closes it whatever f did. What goes
// wrong at the end is said, but it does not turn done work into a failure.
func (a *app) withSession(ctx context.Context, needs sessionNeeds, f func(*session) error) error {
	s, err := a.openSession(ctx, needs)
	if err != nil {
		return err
	}
	for _, n := range s.notices {
		a.say("zonedeck: %s", sanitizeLine(n))
	}
	if s.implied {
		a.say("zonedeck: no account is configured: using the embedded emulator with its demo key (zonedeck paths shows where a config file goes)")
	}
	if s.base.Local && a.Getenv(envKey) != "" {
		a.say("zonedeck: %s is not used: profile %q is the embedded emulator, which gets its demo keys alone", envKey, s.base.Name)
	}
	err = f(s)
	if cerr := s.close(ctx); cerr != nil {
		a.warn("%s", oneLine(cerr))
	}
	return err
}

// notKept says that folders cannot be made: the first of them and how many more,
// because a home that is read-only fails for all of them alike.
func notKept(err error) string {
	first, rest, several := strings.Cut(err.Error(), "\n")
	text := "not everything will be kept: " + first
	if several {
		text += fmt.Sprintf(" (and %d more of 'zonedeck paths')", 1+strings.Count(rest, "\n"))
	}
	return text
}

// oneLine is an error for the terminal; joined errors stand behind each other.
func oneLine(err error) string {
	return sanitizeLine(strings.ReplaceAll(err.Error(), "\n", "; "))
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
