package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/emulator"
)

// ServeUsersFlag is the flag of the emulate command that serves the embedded emulator's users.
const ServeUsersFlag = "serve-users"

const (
	unusedFor  = 5 * time.Second        // before the emulator ends
	usersCheck = 100 * time.Millisecond // between two looks for users
)

// announcement says where the embedded emulator listens, and which build of the program serves it.
type announcement struct {
	emulator.Ready
	Build string `json:"build"`
}

func (e *Emulator) readAnnouncement() (a announcement, found bool) {
	raw, err := os.ReadFile(e.paths.EmulatorFile())
	if err != nil || json.Unmarshal(raw, &a) != nil {
		return announcement{}, false
	}
	return a, a.API != ""
}

// announced returns the announcement of an emulator that answers.
func (e *Emulator) announced(ctx context.Context) (a announcement, found bool) {
	if a, found = e.readAnnouncement(); found {
		a.Ready, found = e.alive(ctx, a.Ready)
	}
	return a, found
}

// announce writes where the emulator listens, readable by this user alone.
func (e *Emulator) announce(ready emulator.Ready) error {
	raw, err := json.MarshalIndent(announcement{ready, e.build}, "", "  ")
	if err == nil {
		err = textfile.Write(e.paths.EmulatorFile(), append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("announce the emulator: %w", err)
	}
	return nil
}

// serve starts the emulator with this user's state and announces it.
func (e *Emulator) serve(ctx context.Context) (*emulator.Server, error) {
	server, err := e.open(ctx, e.paths.EmulatorDir())
	if err != nil {
		return nil, err
	}
	if err := e.announce(server.Ready()); err != nil {
		return nil, errors.Join(err, e.end(ctx, server))
	}
	return server, nil
}

// end withdraws the announcement and shuts down an emulator of this process. The
// announcement goes first, while this process still holds the state folder, so that
// it never names an emulator that has ended.
func (e *Emulator) end(ctx context.Context, server *emulator.Server) error {
	if a, found := e.readAnnouncement(); found && a.API == server.Ready().API {
		_ = os.Remove(e.paths.EmulatorFile()) // a stale announcement is recognised later
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- server.Shutdown(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done(): // with the process, its locks go
		err = fmt.Errorf("it still runs after %s, and ends with this process", endPatience)
	}
	if err != nil {
		return fmt.Errorf("end the embedded emulator: %w", err)
	}
	return nil
}

// ServeUsers serves the embedded emulator until five seconds after its last user has ended, its announcement or
// its state was removed, or ctx ends. If another process serves it, ServeUsers returns at once.
func (e *Emulator) ServeUsers(ctx context.Context) error {
	server, err := e.serve(ctx)
	if errors.Is(err, emulator.ErrStateInUse) {
		return nil
	}
	if err != nil {
		return err
	}
	release := e.awaitUnused(ctx)
	defer release()
	return e.end(ctx, server)
}

// awaitUnused returns when the emulator is to end. Until the returned function is called, nobody begins to use it.
func (e *Emulator) awaitUnused(ctx context.Context) (release func()) {
	own := e.placeOnDisk()
	every := time.NewTicker(usersCheck)
	defer every.Stop()
	for lastUse := e.now(); ; {
		select {
		case <-every.C:
		case <-ctx.Done():
			return func() {}
		}
		if !slices.EqualFunc(own, e.placeOnDisk(), os.SameFile) {
			return func() {}
		}
		users := e.userLock()
		unused, _ := users.TryLock()
		switch now := e.now(); {
		case !unused:
			lastUse = now
		case now.Sub(lastUse) >= unusedFor:
			return func() { _ = users.Close() }
		}
		_ = users.Close()
	}
}

// placeOnDisk identifies the announcement and the state folder.
func (e *Emulator) placeOnDisk() (files []os.FileInfo) {
	for _, name := range []string{e.paths.EmulatorFile(), e.paths.EmulatorDir()} {
		if file, err := os.Stat(name); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// startProcess starts a process that serves the emulator and outlives this one. It waits until the emulator serves, by
// that process or another one.
func (e *Emulator) startProcess(ctx context.Context) error {
	log, err := os.OpenFile(e.paths.EmulatorLog(), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), e.program, "emulate", "--"+ServeUsersFlag)
	cmd.Args[0] = "zonedeck"
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.SysProcAttr = e.paths.State, e.env, log, detached()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if _, found := e.announced(ctx); found {
			return nil
		}
		select {
		case <-time.After(attachPause):
		case err := <-ended:
			return e.lastWords(err)
		case <-ctx.Done():
			if len(ended) > 0 {
				return e.lastWords(<-ended)
			}
			return e.lastWords(fmt.Errorf("process %d was started to serve the embedded emulator and does not answer after %s: end it and try again (its log is %s)", cmd.Process.Pid, e.wait, log.Name()))
		}
	}
}

// lastWords adds what the process that serves the emulator wrote to why it does not serve. It ended without an error if
// another process serves.
func (e *Emulator) lastWords(err error) error {
	raw, _ := os.ReadFile(e.paths.EmulatorLog())
	words := strings.TrimPrefix(model.Line(string(raw), 400), "zonedeck: ")
	if _, exited := errors.AsType[*exec.ExitError](err); exited && words != "" {
		return errors.New(words)
	}
	if err == nil || words == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, words)
}

// environment is what the process that serves the emulator gets of this one's: where files are, and what it runs
// Chromium with. Keys and passwords stay here.
func environment(getenv func(string) string) (env []string) {
	for _, name := range []string{
		"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR", "PATH", "LANG", "LC_ALL", "TZ",
		"LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "TEMP", "TMP", "PATHEXT",
		EnvProxy, EnvChromium, "GORACE", "GOCOVERDIR",
	} {
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}
