package pace

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"zonedeck/keystore/textfile"
)

// Trial is what came of calls of which so many were in flight at once.
type Trial struct{ AtOnce, Good, Refused, ByService, Fruitless, Failed int }

// Count counts an answer.
func (t *Trial) Count(a Answer) {
	switch {
	case a.ByService:
		t.ByService++
		t.Refused++
	case a.TooFast:
		t.Refused++
	case a.Fruitless:
		t.Fruitless++
	case a.Good:
		t.Good++
	default:
		t.Failed++
	}
}

// Wall says why so many at once are too many, by the rules of a Pace and what is known of lower levels; empty where
// nothing shows that they are.
func (t *Trial) Wall(trials []Trial) string {
	var base LevelCount
	for _, below := range trials {
		if float64(below.AtOnce) <= lowerLevels*float64(t.AtOnce) {
			base.Bad, base.All = base.Bad+float64(below.Fruitless), base.All+float64(below.Fruitless+below.Good)
		}
	}
	least := leastUnbased
	if base.All >= leastBase {
		least = leastLosses
	}
	here := LevelCount{float64(t.Fruitless), float64(t.Fruitless + t.Good)}
	switch {
	case t.ByService > 0:
		return "is refused by the service"
	case t.Refused > 1:
		return "is refused twice"
	case t.Fruitless >= least && here.share() > usualLoss+2*base.share():
		return lossWall
	}
	return ""
}

// Safe is how many calls of a zone to a host may be in flight at once, as a probe found. Words say what it measured.
type Safe struct {
	AtOnce int
	Words  string
	At     time.Time
}

// SafeStore keeps what probes found.
type SafeStore interface {
	Keep(ctx context.Context, c Call, found Safe) error
	// Find gives what the last probe found; false where there was none, or it cannot be read.
	Find(ctx context.Context, c Call) (found Safe, ok bool)
}

// Safes keeps what probes found, each in a file of its own.
type Safes struct{ Dir string }

func (s Safes) file(c Call) string {
	return filepath.Join(s.Dir, fmt.Sprintf("%.16x.json", sha256.Sum256([]byte(c.Profile+"\x00"+c.Zone+"\x00"+c.Host))))
}

// Keep is that of a [SafeStore].
func (s Safes) Keep(_ context.Context, c Call, found Safe) error {
	text, err := json.Marshal(found)
	if err == nil {
		err = os.MkdirAll(s.Dir, 0o700)
	}
	if err != nil {
		return err
	}
	return textfile.Write(s.file(c), text)
}

// Find is that of a [SafeStore].
func (s Safes) Find(_ context.Context, c Call) (found Safe, ok bool) {
	text, err := textfile.ReadBounded(s.file(c), 1<<12)
	return found, err == nil && json.Unmarshal(text, &found) == nil && found.AtOnce > 0
}
