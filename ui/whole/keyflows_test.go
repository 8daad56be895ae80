package whole

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/keystore"
	"zonedeck/ui/cli"
	"zonedeck/ui/uitest"
)

func TestActivityHasWhatHappenedToKeys(t *testing.T) {
	s := startScripted(t)
	h := newHome(t)
	s.acme(h, "brightdata")
	h.run("request", "http://shop.test/key-rejected", "--zone", "unlocker1", "--retries", "0")
	h.run("request", "http://shop.test/key-rejected", "--zone", "unlocker1", "--retries", "0")
	p := h.open(120, 40)
	acmeReady(p)
	p.Press("esc", "4")
	p.WaitFor("[4 Keys]", "etl-main")
	p.Press("e")
	p.WaitFor("Correct etl-main")
	p.Press("down", "down", "down")
	p.WaitFor("›Expires")
	p.Press("ctrl+u")
	p.Type("2027-02-01")
	p.Press("enter", "ctrl+s")
	p.WaitFor("2027-02-01", "etl-main is corrected")
	p.Press("R")
	p.WaitFor("Rotate etl-main")
	p.Press("enter")
	p.WaitFor("[~] look")
	p.Press("esc")
	p.WaitGone("Rotate etl-main by")
	p.Press("5")
	p.WaitFor("rejected by the service", "changed in the inventory: ex", "rotation began", "rotation step done, vouched for: look")
	p.Press("/")
	p.Type("kind:key rejected")
	p.Press("enter")
	p.WaitFor("1 of 1")
}

func TestAKeyThatAJobFindsRejectedStandsInActivity(t *testing.T) {
	s := startScripted(t)
	h := newHome(t)
	s.acme(h, "brightdata")
	h.write("urls.txt", "http://shop.test/1\n")
	h.run("jobs", "trigger", "gd_rejected", "--input", filepath.Join(h.dir, "urls.txt"))
	p := h.open(120, 40)
	acmeReady(p)
	p.Press("esc", "5")
	p.WaitFor("gd_rejected", "rejected by the service")
}

func TestTheReasonForAnAdminKeyStandsInActivity(t *testing.T) {
	h := newHome(t)
	h.run("--profile", "local", "request", "http://lab.test/ok", "--zone", "unlocker_demo", "--key", "old-admin")
	h.run("--profile", "local", "request", "http://lab.test/ok", "--zone", "unlocker_demo", "--key", "old-admin", "--admin-reason", "a rotation")
	p := h.open(120, 40)
	ready(p)
	p.Press("5")
	p.WaitFor("1 of 2", "used as ADMIN by a command")
	p.Press("end")
	p.WaitFor("because: a rotation")
}

func TestTheBlastRadiusHasProfilesRequestsAndJobs(t *testing.T) {
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
	p.Press("esc", "4", "R")
	screen := p.WaitFor("Blast radius", "profile acme", "profile beta", "saved request prices", "job-1 (")
	for _, not := range []string{"saved request login", "job-2"} {
		if strings.Contains(screen, not) {
			t.Errorf("%s does not use the key:\n%s", not, screen)
		}
	}
}

func TestTwoConsolesEditOneKey(t *testing.T) {
	s := startScripted(t)
	h := newHome(t)
	s.acme(h, "brightdata")
	form := func() *uitest.Whole {
		p := h.open(120, 40)
		acmeReady(p)
		p.Press("esc", "4")
		p.WaitFor("[4 Keys]", "etl-main")
		p.Press("e")
		p.WaitFor("Correct etl-main")
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
		p.Press("ctrl+s")
		p.WaitFor(shows...)
	}
	edit(one, "Expires", 3, "2027-02-01")
	submit(one, "etl-main is corrected")
	// The other console knows nothing of it; its own edit is of another field.
	edit(two, "Used by", 6, "nightly")
	submit(two, "etl-main is corrected", "2027-02-01", "nightly")

	// Now both change the same.
	two.Press("e")
	two.WaitFor("Correct etl-main")
	one.Press("e") // it has not seen the other's edit
	one.WaitFor("Correct etl-main")
	edit(two, "Used by", 6, "weekly")
	submit(two, "etl-main is corrected", "weekly")
	edit(one, "Used by", 6, "hourly")
	submit(one, "used by is weekly now", "ctrl+s again")
	submit(one, "etl-main is corrected", "hourly")
}

func TestARotationOfADemoKeyChangesItsRow(t *testing.T) {
	h := newHome(t)
	h.moveTime(10 * 24 * time.Hour) // ages are by the emulator's clock
	h.env["NEW_KEY"] = "a-value-the-emulator-never-made"
	fingerprint := keystore.NewSecret(h.env["NEW_KEY"]).Fingerprint()
	p := h.open(120, 40)
	ready(p)
	p.Press("4")
	p.WaitFor("30d", "60 d left")
	p.Press("/")
	p.Type("batch-user")
	p.Press("enter")
	p.WaitFor("✓ ok  batch-user")
	p.Press("R")
	p.WaitFor("Rotate batch-user")
	p.Press("enter")
	p.WaitFor("[~] look")
	p.Press("enter")
	p.WaitFor("[~] issue", "[›] store")
	p.Press("enter")
	p.WaitFor("Where is the new value?")
	p.Type("env:NEW_KEY")
	p.Press("ctrl+s")
	p.WaitFor("[✓] store", "[›] make one call")
	p.Press("enter")
	p.WaitFor("the call with the new value failed: key rejected", "[›] make one call")
	p.Press("v")
	p.WaitFor("[~] make", "[›] switch")
	p.Press("enter")
	p.WaitFor("[~] switch", "› profile local")
	p.Press("enter")
	p.WaitFor("you vouch for a call")
	p.Press("enter")
	p.WaitFor("[~] see")
	p.Press("enter")
	p.WaitFor("the rotation of batch-user is done", "2026-12-01 0d", "90 d left", fingerprint, "env:NEW_KEY")
	// Calls are made with the new value, which the emulator does not know.
	p.Press("1", "ctrl+j")
	p.WaitFor("key rejected")
}

// settings makes a call of the account settings to the running emulator, and gives the value
// of the key that it answers.
func (h *home) settings(method, path, body string) (value string) {
	h.t.Helper()
	raw, err := os.ReadFile(filepath.Join(h.dir, "state/zonedeck/emulator.json"))
	var running struct {
		Control string `json:"control"`
		Token   string `json:"control_token"`
	}
	if err = errors.Join(err, json.Unmarshal(raw, &running)); err != nil {
		h.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, running.Control+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+running.Token)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	var key struct{ Value string }
	if err := json.NewDecoder(resp.Body).Decode(&key); err != nil || resp.StatusCode >= 300 {
		h.t.Fatalf("%s, %v", resp.Status, err)
	}
	return key.Value
}

func TestARotationOfADemoKeyIsProvedAndOutlivesTheEmulator(t *testing.T) {
	h := newHome(t)
	t.Run("in the console", func(t *testing.T) {
		h.t = t
		p := h.open(120, 40)
		ready(p)
		p.Press("4", "/")
		p.Type("batch-user")
		p.Press("enter")
		p.WaitFor("✓ ok          batch-user")
		p.Press("R")
		p.WaitFor("Rotate batch-user by new key")
		value := h.settings(http.MethodPost, "/keys", `{"name":"batch-user-2","level":"USER","expires":"Unlimited"}`)
		p.Press("enter")
		p.WaitFor("[~] look")
		p.Press("enter")
		p.WaitFor("[~] issue", "[›] store")
		p.Press("enter")
		p.WaitFor("Where is the new value?")
		p.Type("file:batch-user-2")
		p.Press("tab")
		p.Type(value)
		p.Press("ctrl+s")
		p.WaitFor("[✓] store", "enter makes it: https://lab.test/whoami")
		p.Press("enter")
		p.WaitFor("[✓] make one call", "accepted: status 200", "[›] switch")
		p.Press("enter")
		p.WaitFor("[~] switch")
		h.settings(http.MethodDelete, "/keys/batch-user", "")
	})
	// The next emulator announces no key of that name.
	h.t = t
	if code := cli.Main(t.Context(), h.process("request", "http://lab.test/ok", "--zone", "unlocker_demo")); code != 0 {
		t.Errorf("exit code %d with the new value", code)
	}
}
