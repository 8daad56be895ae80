package whole

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/ui/cli"
	"zonedeck/ui/uitest"
)

func TestActivityHasWhatHappenedToKeys(t *testing.T) {
	t.Parallel()
	s := startScripted(t)
	h := newHome(t)
	s.acme(h, "brightdata")
	h.run("request", "http://shop.test/key-rejected", "--zone", "unlocker1", "--retries", "0")
	h.run("request", "http://shop.test/key-rejected", "--zone", "unlocker1", "--retries", "0")
	p := h.open(160, 40)
	acmeReady(p)
	p.PressFor("esc 4", "[4 Keys", "etl-main")
	p.PressFor("e", "Correct etl-main")
	p.PressFor("down down down", "›Expires")
	p.Press("ctrl+u")
	p.Type("2027-02-01")
	p.PressFor("enter ctrl+s", "2027-02-01", "etl-main is corrected")
	p.PressFor("R", "Rotation of etl-main by new key")
	p.PressFor("enter", "0 of ")
	p.Press("esc")
	p.WaitGone("Rotation of etl-main")
	p.PressFor("5", "rejected by the service", "changed in the inventory: ex", "rotation began")
	p.Press("/")
	p.Type("kind:key rejected")
	p.PressFor("enter", "1 of 1")
}

func TestAKeyThatAJobFindsRejectedStandsInHistory(t *testing.T) {
	t.Parallel()
	s := startScripted(t)
	h := newHome(t)
	s.acme(h, "brightdata")
	h.write("urls.txt", "http://shop.test/1\n")
	h.run("jobs", "trigger", "gd_rejected", "--input", filepath.Join(h.dir, "urls.txt"))
	p := h.open(160, 40)
	acmeReady(p)
	p.PressFor("esc 5", "gd_rejected", "rejected by the service")
}

func TestTheReasonForAnAdminKeyStandsInHistory(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.run("--profile", "local", "request", "http://lab.test/ok", "--zone", "unlocker_demo", "--key", "old-admin")
	h.run("--profile", "local", "request", "http://lab.test/ok", "--zone", "unlocker_demo", "--key", "old-admin", "--admin-reason", "a rotation")
	p := h.open(160, 40)
	ready(p)
	p.PressFor("5", "1 of 2", "used as ADMIN by a command")
	p.PressFor("end", "because: a rotation")
}

func TestTheBlastRadiusHasProfilesRequestsAndJobs(t *testing.T) {
	t.Parallel()
	s := startScripted(t)
	h := newHome(t)
	s.acme(h, "brightdata")
	h.append("config/zonedeck/config.toml", fmt.Sprintf("[profiles.beta]\nbase_url = %q\nkey = \"etl-main\"\n", s.api))
	h.write("data/zonedeck/requests/prices.toml", "zone = \"unlocker1\"\nurl = \"http://shop.test/ok\"\nkey = \"etl-main\"\n")
	h.write("data/zonedeck/requests/login.toml", "zone = \"unlocker1\"\nurl = \"http://shop.test/ok\"\nvia = \"native\"\nkey = \"etl-main\"\n")
	h.write("urls.txt", "http://shop.test/1\n")
	h.run("jobs", "trigger", "gd_running", "--input", filepath.Join(h.dir, "urls.txt"))
	h.run("jobs", "trigger", "gd_refused", "--input", filepath.Join(h.dir, "urls.txt"))
	p := h.open(120, 40)
	acmeReady(p)
	p.Press("esc", "4", "b")
	screen := p.WaitFor("Blast radius", "profile acme", "profile beta", "saved request prices", "job-1 (")
	for _, not := range []string{"saved request login", "job-2"} {
		if strings.Contains(screen, not) {
			t.Errorf("%s does not use the key:\n%s", not, screen)
		}
	}
}

func TestTwoConsolesEditOneKey(t *testing.T) {
	t.Parallel()
	s := startScripted(t)
	h := newHome(t)
	s.acme(h, "brightdata")
	form := func() *uitest.Whole {
		p := h.open(120, 40)
		acmeReady(p)
		p.PressFor("esc 4", "[4 Keys", "etl-main")
		p.PressFor("e", "Correct etl-main")
		return p
	}
	one, two := form(), form()
	edit := func(p *uitest.Whole, field string, downs int, text string) {
		t.Helper()
		for range downs {
			p.Press("down")
		}
		p.WaitFor("›" + field)
		p.Press("ctrl+u")
		p.Type(text)
	}
	submit := func(p *uitest.Whole, shows ...string) {
		t.Helper()
		p.PressFor("ctrl+s", shows...)
	}
	edit(one, "Expires", 3, "2027-02-01")
	submit(one, "etl-main is corrected")
	// The other console knows nothing of it; its own edit is of another field.
	edit(two, "Used by", 6, "nightly")
	submit(two, "etl-main is corrected", "2027-02-01", "nightly")

	// Now both change the same.
	two.PressFor("e", "Correct etl-main")
	one.Press("e") // it has not seen the other's edit
	one.WaitFor("Correct etl-main")
	edit(two, "Used by", 6, "weekly")
	submit(two, "etl-main is corrected", "weekly")
	edit(one, "Used by", 6, "hourly")
	submit(one, "used by is weekly now", "ctrl+s again")
	submit(one, "etl-main is corrected", "hourly")
}

func TestARotationOfADemoKeyIsProvedAndOutlivesTheEmulator(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	t.Run("in the console", func(t *testing.T) {
		h.t = t
		h.moveTime(10 * 24 * time.Hour) // ages are by the emulator's clock
		p := h.open(160, 40)
		ready(p)
		p.PressFor("4", "30d", "60 d left")
		p.Press("/")
		p.Type("batch-user")
		p.PressFor("enter", "✓ ok  batch-user")
		p.PressFor("R", "Rotation of batch-user by new key", "profile local", "enter create")
		p.PressFor("enter", "named batch-user-2", "enter set")
		p.PressFor("enter", "takes its place", "enter test")
		p.PressFor("enter", "[✓] test profile local", "enter finish")
		p.PressFor("esc", "! rotating  batch-user", "30d", "60 d left", "Rotating  3 of 6 steps done, next: delete", "those of the old value (••••63fc)")
		h.run("keys", "rotate", "batch-user") // a command goes on with it
		p.PressFor("1 ctrl+j", "✓ ok")
		p.PressFor("5", "rotation refused, measured", "rotation test profile local", "rotation complete")
	})
	// The next emulator announces no value of that name.
	h.t = t
	if code := cli.Main(t.Context(), h.process("request", "http://lab.test/ok", "--zone", "unlocker_demo")); code != 0 {
		t.Errorf("exit code %d with the new value", code)
	}
}
