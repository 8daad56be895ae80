package cli

import (
	"strings"
	"sync/atomic"
	"testing"

	"zonedeck/service/servicetest"
	"zonedeck/ui/uitest"
)

// TestNoScreenWritesAMarkedSecret goes through the tabs of a console whose service and proxy repeat what
// they are sent, and searches what it wrote: every byte for the terminal, both streams, and every file.
// The screens of the emulator are searched by the walk of the key reference.
func TestNoScreenWritesAMarkedSecret(t *testing.T) {
	var byKey, byPassword atomic.Int64
	var deleted atomic.Bool
	api, proxy := hostileService(t, &byKey, &deleted), hostileProxy(t, &byPassword)
	p, stdout, stderr := process(t, map[string]string{
		"ZK": markedKey, "ZP": markedPassword, "TOKEN": markedToken, "ZNEW": markedNew, profileVariable: "acme", "ZONEDECK_EMULATOR_PROXY": "127.0.0.1:0",
	})
	dir := markedHome(t, p, api, proxy)
	root, _, closeSession, err := Console(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	w := uitest.Run(t, root, 120, 40)
	w.WaitFor("[1 Sandbox]", "acme")
	w.Press("ctrl+l", "ctrl+u")
	w.Type("http://shop.test/{{token}}/ok")
	w.Press("ctrl+j")
	w.WaitFor("service 200")
	w.Press("tab", "tab", "]", "]", "]", "tab", "z", "z", "x")
	w.WaitFor("▸curl")
	w.Press("esc", "ctrl+l", "ctrl+u")
	w.Type("http://shop.test/refused")
	w.Press("ctrl+j")
	w.WaitFor("service 403")
	w.Press("2")
	w.WaitFor("[2 Jobs]")
	w.Press("3")
	w.WaitFor("[3 Proxy]", "brd-customer-")
	w.Press("t")
	w.WaitFor("Test the login?")
	w.Press("y")
	w.WaitFor("407")
	w.Press("tab", "tab", "4")
	w.WaitFor("[4 Keys", "daily")
	w.Press("l", "b")
	w.WaitFor("Blast radius", "profile acme")
	w.Press("5")
	w.WaitFor("[5 Activity", "shop.test")
	if err := closeSession(); err != nil {
		t.Error(err)
	}

	found, err := servicetest.LeaksUnder(dir, []string{"repo/.env"}, marked()...)
	if err != nil {
		t.Error(err)
	}
	for where, text := range map[string][]byte{"the terminal": w.Written(), "stdout": stdout.Bytes(), "stderr": stderr.Bytes()} {
		found = append(found, servicetest.Leaks(where, text, marked()...)...)
	}
	for _, leak := range found {
		t.Error(leak)
	}
	if byKey.Load() < 2 || byPassword.Load() == 0 || !strings.Contains(string(w.Written()), "shop.test") {
		t.Errorf("the key was sent %d times, the password %d times: nothing could be seen here", byKey.Load(), byPassword.Load())
	}
}
