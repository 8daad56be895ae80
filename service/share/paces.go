package share

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"zonedeck/service/database"
	"zonedeck/service/pace"
)

var paceTables = []string{`
CREATE TABLE pace_zones (
	profile TEXT NOT NULL,
	zone    TEXT NOT NULL,
	known   TEXT NOT NULL, -- a row
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
	// restFor is for how long a process goes by its machine's files after the server has failed.
	restFor = 15 * time.Second
	// answerIn is how long a call waits for the server: without one it goes by the files.
	answerIn = 3 * time.Second
)

// Paces keeps the pace of zones, and what probes found, on a server for all workers there: a [pace.Store] and a
// [pace.SafeStore]. While the server cannot be reached, it keeps them in files. Each process counts its own calls, and
// holds a part of each limit: it and the server tell each other what they know once a beat ([RenewEvery]), and at once
// when a call was refused.
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
	name  string        // of this process among those on the server
	zones map[string]*zone
}

// Servers opens the server when it is first needed.
type Servers interface {
	Server(ctx context.Context) (*database.Server, error)
}

// Look is that of a [pace.Store].
func (p *Paces) Look(ctx context.Context, c pace.Call, enters bool, look func(z *pace.Zone, signs pace.Signs)) error {
	asked, err := p.ask(ctx, func(ctx context.Context, s *database.Server) error {
		return p.zone(c).look(ctx, s, exchange{c: c, enters: enters, reads: !enters}, look)
	})
	if !asked {
		err = errors.Join(err, p.Zones.Look(ctx, c, enters, look))
	}
	return err
}

// Learn is that of a [pace.Store].
func (p *Paces) Learn(ctx context.Context, o pace.Outcome) (says string, err error) {
	asked, err := p.ask(ctx, func(ctx context.Context, s *database.Server) (err error) {
		says, err = p.zone(o.Call).learn(ctx, s, o)
		return err
	})
	if !asked {
		fault := err
		says, err = p.Zones.Learn(ctx, o)
		err = errors.Join(fault, err)
	}
	return says, err
}

// zone is what this process knows of the zone of a call.
func (p *Paces) zone(c pace.Call) *zone {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.zones == nil {
		p.name, p.zones = rand.Text()[:8], map[string]*zone{}
	}
	name := c.Profile + "\x00" + c.Zone
	if p.zones[name] == nil {
		p.zones[name] = &zone{paces: p, asking: semaphore.NewWeighted(1)}
	}
	return p.zones[name]
}

// ask calls on with the server, unless it has failed lately. A wait for the process's writer is no failure of the server. asked is false if it fails or has failed; the error is given
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
		err = on(ctx, s)
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

// Ahead is that of a [pace.Store]: zones are dated by the server's clock.
func (p *Paces) Ahead() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ahead
}

// follow takes the server's time.
func (p *Paces) follow(now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ahead = time.UnixMicro(now).Add(p.moved).Sub(p.Clock.Now())
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
		ctx, cancel := context.WithTimeout(ctx, answerIn)
		defer cancel()
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
