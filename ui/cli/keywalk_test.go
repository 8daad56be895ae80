package cli

import (
	"fmt"
	"slices"

	"zonedeck/ui/uitest"
)

// walkHistory opens every fetch of the history, and with it the next steps of
// its failure.
func walkHistory(w *uitest.Whole) {
	w.Press("5", "/")
	w.Type("profile:all kind:fetch")
	w.Press("enter")
	w.WaitFor(fmt.Sprintf("1 of %d", len(seeds)+7)) // the three after the seeds, that of the walk, three of the comparison
	shows := []string{"image/png", "No connection to", "407 Proxy Authentication Required"}
	for _, s := range slices.Backward(seeds) {
		shows = append(shows, s.shows)
	}
	for i, text := range shows {
		w.Press("5", "home")
		for range i + 1 {
			w.Press("down")
		}
		w.Press("enter")
		w.WaitFor("[1 Sandbox]", text)
		if text == "application/json" {
			w.Press("[") // from the headers, where the walk left off
			w.WaitFor("▾ {} 2 keys")
			w.Press("]")
		}
		if text == "image/png" {
			w.Press("[", "[", "[")
			w.WaitFor("╶ Picture ╴")
			w.Press("]", "]", "]")
		}
	}
	w.Press("I") // of the last one, a refusal
	w.WaitFor("What refuses", "enter open")
	w.Press("esc")
	w.WaitGone("What refuses")
	w.Press("5", "/", "ctrl+u")
	w.Type("kind:comparison")
	w.Press("enter")
	w.WaitFor("cells compared")
	w.Press("enter")
	w.WaitFor("Comparison · http://lab.test/ok")
	w.Press("e")
	w.WaitFor("What to compare")
	w.Press("esc")
	w.WaitGone("What to compare")
	w.Press("esc", "5", "esc", "w")
	w.WaitFor("What the emulator saw", "/request")
	w.Press("enter")
	w.WaitFor("keys and passwords are masked")
	w.Press("esc", "w")
	w.WaitGone("What the emulator saw")
}
