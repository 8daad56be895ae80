package cli

import "zonedeck/ui/uitest"

func walkProxy(w *uitest.Whole) {
	w.Press("3")
	w.WaitFor("[3 Proxy]", "brd-customer-")
	w.Press("j", "enter") // a text field
	w.Type("de")
	w.Press("enter", "esc", "ctrl+t") // the next text field is edited until esc
	w.WaitFor("addresses in")
	w.Press("tab", "tab", "tab", "z", "z", "p")
	w.WaitFor("Parse a login")
	w.Press("esc")
	w.WaitGone("Parse a login")
	w.Press("y")
	w.WaitFor("Copy")
	w.Press("esc", "c")
	w.WaitFor("Clients on this machine")
	w.Press("esc", "M")
	w.WaitFor("has no baseline yet")
	w.Press("t")
	w.WaitFor(" zones ok") // the run has begun, and ended
	w.WaitGone("esc stops it")
	w.Press("esc", "esc")
	// Pages whose next steps differ.
	for _, page := range []struct{ name, shows string }{
		{"forbidden", "access restricted ·"}, {"too-fast", "too fast ·"}, {"captcha", "CAPTCHA ·"}, {"error", "target error ·"},
	} {
		w.Press("esc", "j", "j", "j", "j", "j", "enter", "ctrl+u")
		w.Type("https://lab.test/" + page.name)
		w.Press("f5")
		w.WaitFor(page.shows, "do next")
	}
}
