package share

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"zonedeck/service/database"
	"zonedeck/service/pace"
)

var paceTables = []string{`
CREATE TABLE pace_zones (
	profile TEXT NOT NULL,
	zone    TEXT NOT NULL,
	known   TEXT NOT NULL, -- a pace.Zone
	PRIMARY KEY (profile, zone)
);
CREATE TABLE pace_safe (
	profile TEXT NOT NULL,
	zone    TEXT NOT NULL,
	host    TEXT NOT NULL,
	found   TEXT NOT NULL, -- a pace.Safe
	PRIMARY KEY (profile, zone, host)
);
`}

const (
	// knownFor is for how long a worker goes by what it has read of a zone.
	knownFor = RenewEvery
	// restFor is for how long it goes by its own files after the server has failed.
	restFor = 15 * time.Second
	// answerIn is how long a call waits for the server: without one it goes by the files.
	answerIn = 3 * time.Second
)

// Paces keeps the pace of zones, and what probes found, on a server for all workers there: a [pace.Store] and a
// [pace.SafeStore]. While the server cannot be reached, it keeps them in files.
type Paces struct {
	Servers Servers
	Zones   pace.Files
	Safes   pace.Safes
	Clock   pace.Clock // of this machine

	mu    sync.Mutex
	met   bool      // the server has answered: the tables are there
	rest  time.Time // until then the files are used
	ahead time.Duration
	moved time.Duration // the server's clock, by a test
	zones map[string]readZone
}

// Servers opens the server when it is first needed.
type Servers interface {
	Server(ctx context.Context) (*database.Server, error)
}

// readZone is a zone as it was read or written.
type readZone struct {
	known string
	at    time.Time
}

// Update is that of a [pace.Store].
func (p *Paces) Update(ctx context.Context, profile, zone string, begin bool, change func(z *pace.Zone)) error {
	asked, err := p.ask(ctx, func(ctx context.Context, s *database.Server) error {
		if begin {
			return p.write(ctx, s, profile, zone, change)
		}
		known, err := p.look(ctx, s, profile, zone)
		if err != nil {
			return err
		}
		z := p.read(known)
		if change(&z); known == written(z) { // nothing new, as while a call waits: it costs no transaction
			return nil
		}
		return p.write(ctx, s, profile, zone, change)
	})
	if !asked {
		err = errors.Join(err, p.Zones.Update(ctx, profile, zone, begin, change))
	}
	return err
}

// ask calls on with the server, unless it has failed lately. asked is false if it fails or has failed; the error is given
// once.
func (p *Paces) ask(ctx context.Context, on func(ctx context.Context, s *database.Server) error) (asked bool, err error) {
	if p.rests() {
		return false, nil
	}
	p.mu.Lock()
	met := p.met
	p.mu.Unlock()
	asking, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	s, err := p.Servers.Server(asking)
	if err == nil && !met {
		err = s.Migrate(asking, "pace", paceTables)
	}
	if err == nil {
		err = on(asking, s)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		p.rest, p.met = p.Clock.Now().Add(restFor), false
	}
	p.met = p.met || err == nil
	return err == nil, err
}

// rests reports whether the server has failed lately.
func (p *Paces) rests() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Clock.Now().Before(p.rest)
}

const readKnown = "SELECT COALESCE((SELECT known FROM pace_zones WHERE profile = $1 AND zone = $2), ''), " + database.Clock

// look gives what is known of a zone, as it was at most a beat ago.
func (p *Paces) look(ctx context.Context, s *database.Server, profile, zone string) (known string, err error) {
	p.mu.Lock()
	was := p.zones[profile+"/"+zone]
	p.mu.Unlock()
	if p.Clock.Now().Sub(was.at) < knownFor {
		return was.known, nil
	}
	var now int64
	if err := s.QueryRowContext(ctx, readKnown, profile, zone).Scan(&known, &now); err != nil {
		return "", s.Fault("reading the pace of zone "+zone, err)
	}
	p.saw(profile, zone, known, now)
	return known, nil
}

// saw keeps what was read or written, when it was so much by the server's clock.
func (p *Paces) saw(profile, zone, known string, now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.zones == nil {
		p.zones = map[string]readZone{}
	}
	at := p.Clock.Now()
	p.ahead = time.UnixMicro(now).Add(p.moved).Sub(at)
	p.zones[profile+"/"+zone] = readZone{known, at}
}

func (p *Paces) write(ctx context.Context, s *database.Server, profile, zone string, change func(z *pace.Zone)) error {
	var after string
	var now int64
	err := s.Write(ctx, "writing the pace of zone "+zone, func(ctx context.Context, tx *sql.Tx) error {
		if err := database.Lock(ctx, tx, fmt.Sprintf("pace %q %q", profile, zone)); err != nil {
			return err
		}
		var before string
		if err := tx.QueryRowContext(ctx, readKnown, profile, zone).Scan(&before, &now); err != nil {
			return err
		}
		z := p.read(before)
		change(&z)
		var err error
		if after = written(z); after == "" {
			_, err = tx.ExecContext(ctx, "DELETE FROM pace_zones WHERE profile = $1 AND zone = $2", profile, zone)
		} else if after != before {
			_, err = tx.ExecContext(ctx, `INSERT INTO pace_zones (profile, zone, known) VALUES ($1, $2, $3)
				ON CONFLICT (profile, zone) DO UPDATE SET known = excluded.known`, profile, zone, after)
		}
		return err
	})
	if err == nil {
		p.saw(profile, zone, after, now)
	}
	return err
}

// read is a zone without the places of dead workers: whose calls must have ended.
func (p *Paces) read(known string) pace.Zone {
	z := pace.ReadZone([]byte(known))
	now := p.Clock.Now().Add(p.Ahead()).UnixMicro()
	maps.DeleteFunc(z.Places, func(name, _ string) bool {
		until, _, _ := strings.Cut(name, "-")
		ends, err := strconv.ParseInt(until, 10, 64)
		return err != nil || ends < now
	})
	return z
}

func written(z pace.Zone) string {
	text, err := json.Marshal(z)
	if err != nil || z.Blank() {
		return ""
	}
	return string(text)
}

// Ahead is that of a [pace.Store]: zones are dated by the server's clock.
func (p *Paces) Ahead() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ahead
}

// place names a call in flight, and when it must have ended.
type place string

func (p place) Name() string { return string(p) }
func (place) Release()       {}

// Sign is that of a [pace.Store].
func (p *Paces) Sign(c pace.Call) (pace.Sign, error) {
	if p.rests() {
		return p.Zones.Sign(c)
	}
	until := p.Clock.Now().Add(p.Ahead() + c.Timeout + margin)
	return place(fmt.Sprintf("%d-%s", until.UnixMicro(), rand.Text()[:8])), nil
}

// Keep is that of a [pace.SafeStore].
func (p *Paces) Keep(ctx context.Context, c pace.Call, found pace.Safe) error {
	text, err := json.Marshal(found)
	if err != nil {
		return err
	}
	asked, err := p.ask(ctx, func(ctx context.Context, s *database.Server) error {
		return s.Write(ctx, "keeping what a probe found", func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO pace_safe (profile, zone, host, found) VALUES ($1, $2, $3, $4)
				ON CONFLICT (profile, zone, host) DO UPDATE SET found = excluded.found`, c.Profile, c.Zone, c.Host, string(text))
			return err
		})
	})
	if !asked {
		err = errors.Join(err, p.Safes.Keep(ctx, c, found))
	}
	return err
}

// Find is that of a [pace.SafeStore].
func (p *Paces) Find(ctx context.Context, c pace.Call) (found pace.Safe, ok bool) {
	asked, err := p.ask(ctx, func(ctx context.Context, s *database.Server) error {
		var text string
		err := s.QueryRowContext(ctx, "SELECT found FROM pace_safe WHERE profile = $1 AND zone = $2 AND host = $3", c.Profile, c.Zone, c.Host).Scan(&text)
		if err == nil {
			ok = json.Unmarshal([]byte(text), &found) == nil && found.AtOnce > 0
		}
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil || !asked {
		return p.Safes.Find(ctx, c)
	}
	return found, ok
}
