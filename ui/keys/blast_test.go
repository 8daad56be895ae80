package keys_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/service/radius"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/uitest"
)

// uses is a scan that a test leads.
type uses struct {
	go1     chan struct{} // the scan goes on when it is closed
	folders []string
	reading atomic.Pointer[func()] // called while what is known without a scan is read
}

func (u *uses) find(ctx context.Context, folders []string, progress func(radius.Progress)) (map[radius.KeyID][]radius.Use, []string, error) {
	id := radius.KeyID{Name: "etl-main", Profile: "local"}
	found := []radius.Use{
		{Kind: radius.Profile, Name: "local", Ref: "demo:key/etl-main", Last4: "f2a1"},
		{Kind: radius.Recorded, Name: "nightly", Unmeasured: "the inventory has only its name"},
	}
	if len(folders) == 0 {
		if f := u.reading.Swap(nil); f != nil {
			(*f)()
		}
		return map[radius.KeyID][]radius.Use{id: found}, nil, nil
	}
	u.folders = folders
	progress(radius.Progress{Files: 3, Bytes: 2048, Path: "/srv/etl/.env"})
	select {
	case <-u.go1:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	found = append(found, radius.Use{Kind: radius.TrackedFile, Name: "/srv/etl/deploy.sh", Place: "/srv/etl/deploy.sh:4", Fingerprint: "0123456789abcdef", Last4: "f2a1"})
	found = append(found, radius.Use{Kind: radius.EnvFile, Name: "/srv/etl/new.env", Place: "/srv/etl/new.env:1", Last4: "3b3b", Previous: true},
		radius.Use{Kind: radius.EnvFile, Name: "/srv/etl/old.env", Place: "/srv/etl/old.env:2", Last4: "0a0a", Ended: time.Now(), Unmeasured: "the value there has ended"})
	return map[radius.KeyID][]radius.Use{id: found}, []string{"/srv/etl/secret was not read: permission denied"}, nil
}

// startFinding starts the tab with what finds the uses of keys.
func (r *rig) startFinding(t *testing.T, session kit.Session, find finder) *uitest.Screen {
	t.Helper()
	return r.open(t, session, 120, 40, func(d *keys.Deps) { d.Uses = fakeUses{find: find, folders: []string{"/srv/etl"}} })
}

func TestTheBlastRadiusOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := demoSession()
		session.ProfileName = "local"
		for i, k := range session.ProfileKeys {
			if k.Name == "etl-main" { // the value that the tracked file has
				session.ProfileKeys[i].Fingerprint, session.ProfileKeys[i].Last4 = "0123456789abcdef", "f2a1"
			}
		}
		find := &uses{go1: make(chan struct{})}
		s := newRig(t).startFinding(t, session, find.find)
		for range 9 {
			if strings.Contains(cursorRow(s), "etl-main") {
				break
			}
			s.Press("j")
		}
		s.Press("b")
		s.Expect("Blast radius", "2 uses, 1 measurable", "profile local · demo:key/etl-main · ••••f2a1", "the inventory has only its name", "searches folders, too")
		s.Press("s")
		s.Expect("Search folders", "/srv/etl")
		s.Press("ctrl+s")
		s.Expect("3 files, 2.0 KB · /srv/etl/.env", "1 running")
		s.Press("esc") // stops it
		s.Expect("the folder search was stopped", "0 running")
		s.Press("s", "ctrl+s")
		close(find.go1)
		s.Settle()
		s.Expect("4 uses, 3 measurable", "git-tracked file: /srv/etl/deploy.sh:4 · ••••f2a1", "the console can prove it, with a value beside", "! /srv/etl/old.env:2 · ••••0a0a", "the value there has ended", "searched 3 files in /srv/etl", "! /srv/etl/secret was not read: permission denied", "! /srv/etl/run.sh:7 holds the password of zone isp")
		if len(find.folders) != 1 || find.folders[0] != "/srv/etl" {
			t.Errorf("looked through %q", find.folders)
		}
		s.Press("ctrl+r") // reads the rest again, not the folders
		s.Expect("4 uses, 3 measurable", "/srv/etl/deploy.sh:4")
		s.Press("l", "z", "G")
		s.Expect("files that git tracks (value-in-git)", "seen: /srv/etl/deploy.sh:4")
	})
}

// Nothing is said to use a key, or to have been looked through, before it was.
func TestWhatIsNotLookedUpIsNotSaidToBeUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		goOn := make(chan struct{})
		s := r.open(t, kit.Session{ProfileName: "acme", Ready: true}, 120, 40, func(d *keys.Deps) {
			d.Uses = fakeUses{find: func(context.Context, []string, func(radius.Progress)) (map[radius.KeyID][]radius.Use, []string, error) {
				<-goOn
				return nil, nil, errors.New("the disk fails")
			}}
		})
		for _, said := range []string{"what uses it is still being looked up", "what uses it could not be looked up"} {
			s.Press("b")
			s.Expect(said)
			s.ExpectNot("nothing known uses it", "searched:")
			s.Press("esc", "X")
			s.Expect("Forget the key?", "W"+said[1:]+".")
			s.Press("esc")
			if goOn != nil {
				close(goOn)
				goOn = nil
				s.AllowError("the disk fails")
				s.Settle()
			}
		}
	})
}

func TestTheBlastRadiusIsOfTheValuesAsTheyAreNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownKey())
		var known atomic.Bool
		s := r.open(t, kit.Session{ProfileName: "acme", Ready: true}, 120, 40, func(d *keys.Deps) {
			d.Uses = fakeUses{lookUp: func() { known.Store(true) }, find: func(context.Context, []string, func(radius.Progress)) (map[radius.KeyID][]radius.Use, []string, error) {
				if !known.Load() {
					return nil, nil, nil
				}
				return map[radius.KeyID][]radius.Use{{Name: "prod"}: {{Kind: radius.Profile, Name: "twin", Ref: "env:BD"}}}, nil, nil
			}}
		})
		if known.Load() {
			t.Error("the references were resolved before anybody asked")
		}
		s.Press("b")
		s.Expect("1 use, measurable", "profile twin · env:BD")
	})
}

func TestEveryPartOfTheScreenCountsTheSameKeysAsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := demoSession()
		due := 0
		for _, k := range session.ProfileKeys {
			if k.Due(time.Now()) {
				due++
			}
		}
		s := newRig(t).start(t, session, 120, 40)
		said := fmt.Sprintf("%d due", due)
		if n := strings.Count(s.Screen(), said); due == 0 || n != 3 {
			t.Errorf("%q stands %d times on the screen: tab, list and calendar\n%s", said, n, s.Screen())
		}
		s.Expect(fmt.Sprintf("[1 Keys (%d due)]", due))
		colours := map[string]int{}
		for y, line := range strings.Split(s.Screen(), "\n") {
			for _, said := range []string{said, fmt.Sprintf("(%d due)]", due), fmt.Sprintf("14 d: %d", due)} {
				if before, _, found := strings.Cut(line, said); found {
					colours[fmt.Sprint(s.CellAt(text.Width(before), y).Style.Fg)]++
				}
			}
		}
		if len(colours) != 1 || colours["<nil>"] > 0 {
			t.Errorf("the counts of due keys have the colours %v\n%s", colours, s.Screen())
		}
	})
}

func TestAKeyOfTheInventoryDoesNotAgeWithTheEmulator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := model.Key{Name: "prod-etl", Level: model.LevelUser, Duty: model.DutyBatch, Expires: model.ExpiresAt(fakeDay(60).Add(time.Hour)), Rotation: model.Rotation{Last: fakeDay(-20)}}
		r := newRig(t, own)
		row := func(s *uitest.Screen, name string) string {
			for _, l := range strings.Split(s.Screen(), "\n") {
				if strings.Contains(l, " "+name+" ") && strings.Contains(l, "batch job") {
					return strings.Join(strings.Fields(l), " ")
				}
			}
			return "no row of " + name + "\n" + s.Screen()
		}
		var rows []string
		for _, ahead := range []time.Duration{0, 10 * 24 * time.Hour} {
			session := demoSession()
			session.Ahead = ahead
			s := r.open(t, session, 120, 40, func(d *keys.Deps) {
				d.Now, d.Recorded = func() time.Time { return time.Now().Add(ahead) }, time.Now
			})
			rows = append(rows, row(s, "prod-etl"), row(s, "batch-user"))
		}
		if rows[0] != rows[2] || rows[1] == rows[3] {
			t.Errorf("own key: %q, then %q\nthe emulator's: %q, then %q", rows[0], rows[2], rows[1], rows[3])
		}
	})
}
