package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/journal"
	"zonedeck/service/profile"
)

// The bounds on bodies unless Options says otherwise, in bytes.
const (
	DefaultMemoryBody = 1 << 20
	DefaultBodyCap    = 256 << 20
)

// Rand is the randomness a Client uses for identifiers and jitter. A
// *rand.Rand of math/rand/v2 is one; the Client guards it with a lock.
type Rand interface{ Uint64() uint64 }

// Options is what a Client is made of. Profile, Secret and Key must be set.
type Options struct {
	// Profile gives the profile in use, as valid now. For the embedded emulator it
	// makes sure that the emulator lives.
	Profile func(ctx context.Context) (profile.Profile, error)
	// Secret gives what a reference stands for.
	Secret func(ctx context.Context, ref string) (keystore.Secret, error)
	// Key gives a key of the inventory by name.
	Key func(name string) (model.Key, bool)
	// Journal keeps what happened; nil keeps nothing.
	Journal *journal.Journal
	// BodiesDir takes bodies above MemoryBody, DownloadsDir results of jobs.
	BodiesDir, DownloadsDir string
	// Now is the clock, nil for time.Now; Rand nil for the process's own.
	Now  func() time.Time
	Rand Rand
	// Timer is the clock that durations are taken by, where Now may jump: with an
	// emulator whose time is moved while a call is under way. Nil means Now.
	Timer func() time.Time
	// Log takes what nobody else is told; nil discards it.
	Log *slog.Logger
	// MemoryBody is the size up to which a body stays in memory, BodyCap the size
	// beyond which the rest is dropped and the body reported as cut. Bytes; 0 means
	// the default.
	MemoryBody, BodyCap int64
}

// Client is the service layer of one profile.
type Client struct {
	o       Options
	rand    sync.Mutex // guards o.Rand
	gates   *gates
	breaker *breaker
	wire    *wire
}

// New makes a Client. It does no I/O.
func New(o Options) *Client {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timer == nil {
		o.Timer = o.Now
	}
	if o.Rand == nil {
		o.Rand = processRand{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MemoryBody <= 0 {
		o.MemoryBody = DefaultMemoryBody
	}
	if o.BodyCap <= 0 {
		o.BodyCap = DefaultBodyCap
	}
	return &Client{o: o, gates: newGates(), breaker: newBreaker(o.Now), wire: &wire{}}
}

// Close releases what the Client holds. Calls in flight end by their own
// contexts; the journal belongs to who opened it.
func (c *Client) Close() error { return nil }

type processRand struct{}

func (processRand) Uint64() uint64 { return rand.Uint64() }

// uint64n gives a number in [0, n), for jitter and identifiers.
func (c *Client) uint64n(n uint64) uint64 {
	c.rand.Lock()
	defer c.rand.Unlock()
	return c.o.Rand.Uint64() % n
}

// newID makes an identifier that sorts by time: the prefix, milliseconds in
// base 36, and 40 random bits.
func (c *Client) newID(prefix string) string {
	return fmt.Sprintf("%s_%s%08s", prefix,
		strconv.FormatInt(c.o.Now().UnixMilli(), 36), strconv.FormatUint(c.uint64n(1<<40), 36))
}

// ErrRequest is wrapped by every RequestError.
var ErrRequest = errors.New("the request cannot be sent as it stands")

// ErrNotShown is wrapped by every refusal of something that the contract does not
// show and the profile's dialect therefore does not do.
var ErrNotShown = dialect.ErrNotShown

// RequestError says that a request cannot be sent as it stands: nothing was
// sent. Field names the form's field it belongs to: "zone", "url", "via", "key",
// "format", "method", "headers", "body", "country", "session", "password",
// "required", "dataset", "inputs" or "profile".
type RequestError struct {
	Field string
	Msg   string
	Err   error // may be nil
}

func (e *RequestError) Error() string {
	if e.Err == nil {
		return e.Field + ": " + e.Msg
	}
	if e.Msg == "" {
		return e.Field + ": " + e.Err.Error()
	}
	return e.Field + ": " + e.Msg + ": " + e.Err.Error()
}

// Unwrap gives ErrRequest and the cause.
func (e *RequestError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrRequest}
	}
	return []error{ErrRequest, e.Err}
}

func badField(field, format string, args ...any) *RequestError {
	return &RequestError{Field: field, Msg: fmt.Sprintf(format, args...)}
}

// profileNow gives the profile with its dialect.
func (c *Client) profileNow(ctx context.Context) (profile.Profile, dialect.Dialect, error) {
	p, err := c.o.Profile(ctx)
	if err != nil {
		return profile.Profile{}, dialect.Dialect{}, fmt.Errorf("profile: %w", err)
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return profile.Profile{}, dialect.Dialect{}, &RequestError{Field: "profile", Err: err}
	}
	return p, d, nil
}

// keyFor gives the key to use and its value. An empty name means the profile's
// own key. It refuses a key that is not in the inventory or has no reference.
func (c *Client) keyFor(ctx context.Context, p profile.Profile, name string) (model.Key, keystore.Secret, error) {
	if name == "" {
		name = p.Key
	}
	if name == "" {
		return model.Key{}, keystore.Secret{}, badField("key", "profile %s names no key; pick one", p.Name)
	}
	k, ok := c.o.Key(name)
	if !ok {
		return model.Key{}, keystore.Secret{}, badField("key", "%q is not in the key inventory", name)
	}
	if k.Secret == "" {
		return k, keystore.Secret{}, badField("key", "%s is only tracked; give it a reference to its value (env:, keyring:, file:, cmd:) to use it", name)
	}
	s, err := c.secret(ctx, "key", k.Secret)
	return k, s, err
}

// secret resolves a reference for a field of the form.
func (c *Client) secret(ctx context.Context, field, ref string) (keystore.Secret, error) {
	s, err := c.o.Secret(ctx, ref)
	switch {
	case err == nil && s.Empty():
		return s, badField(field, "%s is empty", ref)
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return s, context.Cause(ctx)
	case errors.Is(err, context.Canceled):
		return s, err
	default:
		return s, &RequestError{Field: field, Err: err}
	}
}
